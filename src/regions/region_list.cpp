#include "regions/region_list.h"

#include <algorithm>
#include <utility>

#include "draft/draft_build.h"
#include "ir/quotient_order.h"
#include "regions/regions.h"

namespace graphopt {
namespace {

// Returns whether n is elementwise and computes data.
bool is_free(const Draft& d, DNode n) {
  return d[n].node_class == NodeClass::Elementwise && !d[n].shape_only;
}

// The draft, as QuotientOrder reads it. Of two possible orders, what comes first in the model comes first.
class DraftView {
 public:
  using Node = DNode;
  explicit DraftView(const Draft& d) : d_(d) {}

  std::size_t node_count() const { return d_.node_count(); }
  template <class F> void each_node(F f) const {
    for (DNode n = d_.first(); n; n = d_[n].next) f(n);
  }
  template <class F> bool each_consumer(DNode n, F see) const {
    for (const DValue v : d_.outs(n))
      for (DUse u = v ? d_.first_use(v) : DUse{}; u; u = d_.next_use(u))
        if (!see(d_.user(u))) return false;
    return true;
  }
  template <class F> bool each_producer(DNode n, F see) const {
    for (std::size_t i = 0; i < d_[n].in_count; ++i) {
      const DValue v = d_.in(n, i);
      if (v && d_.def(v) && !see(d_.def(v))) return false;
    }
    return true;
  }
  std::uint64_t key(DNode n) const { return d_.model().node(d_[n].origin).order; }
  void edges_exceeded() const { d_.hit_limit(SearchLimit::ClusterEdges); }

 private:
  const Draft& d_;
};

// A long check of Regions::acyclic may have missed a cycle: order() dissolves such regions.
using Groups = QuotientOrder<DraftView>;

// Joins each free elementwise node with the groups of the free producers of its shape.
void join_free_nodes(const Draft& d, Groups& groups) {
  const auto free = [&](DNode n) { return is_free(d, n) && !d[groups.of(n)].anchor; };
  for (DNode n = d.first(); n; n = d[n].next) {
    if (!free(n) || !d.shape(d.out(n))) continue;
    for (std::size_t i = 0; i < d[n].real_in; ++i) {
      const DValue v = d.in(n, i);
      const DNode p = v ? d.def(v) : DNode{};
      if (!p || d.shape(v) != d.shape(d.out(n)) || !free(p)) continue;
      const DNode a = groups.of(p), b = groups.of(n);
      if (a != b) groups.join(a, b);
    }
  }
}

class Lister {
 public:
  Lister(const Model& m, const Draft& d, Groups& groups)
      : m_(m), d_(d), groups_(groups), region_(m.node_count()), seen_(m.value_count()) {}

  RegionList run() {
    out_.left_regions = groups_.dissolved();
    const std::vector<DNode> order = groups_.order();
    out_.left_groups = groups_.dissolved() - out_.left_regions;
    for (const DNode group : order) {
      const std::span<const DNode> members = groups_.members(group);
      for (const DNode n : members) out_.order.push_back(d_[n].origin);
      if (members.size() == 1) {
        out_.launches += launches(members[0]);
        continue;
      }
      Region r;
      for (const DNode n : members) {
        r.members.push_back(d_[n].origin);
        if (d_[n].anchor) r.anchor = d_[n].origin;
      }
      out_.regions.push_back(std::move(r));
      add_interface();
    }
    out_.launches += out_.regions.size();
    return std::move(out_);
  }

 private:
  bool launches(DNode n) const {
    return !d_[n].shape_only && d_[n].node_class != NodeClass::Deformation &&
           m_.kind(d_[n].origin) != OpKind::Constant;
  }

  // Sets inputs and outputs of the last region.
  void add_interface() {
    Region& r = out_.regions.back();
    const auto mark = static_cast<std::uint32_t>(out_.regions.size());
    const auto inside = [&](NodeId n) { return region_[n.index()] == mark; };
    for (const NodeId n : r.members) region_[n.index()] = mark;
    for (const NodeId n : r.members)
      for (std::size_t i = 0; i < m_.input_count(n); ++i) {
        const ValueId v = m_.input(n, i);
        if (!v || seen_[v.index()] == mark || (m_.value(v).def && inside(m_.value(v).def))) continue;
        seen_[v.index()] = mark;
        r.inputs.push_back(v);
      }
    for (const NodeId n : r.members)
      for (const ValueId v : m_.outputs(n)) {
        if (!v) continue;
        bool read = m_.value(v).pinned;
        for (UseId u = m_.first_use(v); u && !read; u = m_.next_use(u)) read = !inside(m_.user(u));
        if (read) r.outputs.push_back(v);
      }
  }

  const Model& m_;
  const Draft& d_;
  Groups& groups_;
  RegionList out_;
  std::vector<std::uint32_t> region_;  // by node: 1 + the region it is in
  std::vector<std::uint32_t> seen_;    // by value: 1 + the last region that reads it
};

}  // namespace

RegionList list_regions(Model& model, Inference& inference, GraphId graph) {
  Journal journal;
  const PassOptions options;
  const PassContext context{model, inference, journal, options};
  Draft d = DraftBuilder(context).build(graph);
  Regions(d).start();
  const DraftView view(d);
  Groups groups(view, {kSearchLimits.cluster_edges, kSearchLimits.hub_edges}, [&](DNode n) {
    const DNode region = is_free(d, n) ? d[n].region : DNode{};
    return region ? region : n;
  });
  groups.order();
  join_free_nodes(d, groups);
  RegionList list = Lister(model, d, groups).run();
  list.limit_hits = d.limit_hits();
  return list;
}

}  // namespace graphopt
