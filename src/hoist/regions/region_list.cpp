#include "hoist/regions/region_list.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "hoist/draft/draft_build.h"
#include "hoist/regions/regions.h"

namespace graphopt {
namespace {

// Groups of nodes, each named by one of them, and a topological order of the quotient.
class Groups {
 public:
  explicit Groups(const Draft& d)
      : d_(d), of_(d.node_count()), seen_(d.node_count()), lists_of_(d.node_count()) {
    for (DNode n = d.first(); n; n = d[n].next) {
      const DNode region = is_free(n) ? d[n].region : DNode{};
      of_[n.index()] = region ? region : n;
    }
  }

  // Returns whether n is elementwise and computes data.
  bool is_free(DNode n) const { return d_[n].node_class == NodeClass::Elementwise && !d_[n].shape_only; }
  DNode of(DNode n) {
    while (of_[n.index()] != n) n = of_[n.index()] = of_[of_[n.index()].index()];
    return n;
  }
  // Returns all groups in a topological order of the quotient; of several possible ones, the group whose
  // first node comes first in the model. Groups in a cycle, or on a path between two cycles, are dissolved
  // into nodes: a long check of Regions::acyclic may have missed a cycle.
  std::vector<DNode> order();
  // Returns the nodes of a group in the order of the draft, which is topological. Valid after order().
  std::span<const DNode> members(DNode group) const {
    return std::span(members_).subspan(first_[group.index()], size_[group.index()]);
  }
  std::size_t dissolved() const { return dissolved_; }  // nodes that order() took out of groups, so far
  // Joins a and b, of which b reads a value of a; returns false if that would close a cycle, or the check was
  // stopped by its limit. Precondition: order() was called.
  bool join(DNode a, DNode b);

 private:
  struct Lists {
    std::vector<DNode> exits, entries;  // members that may be read by another group, or read from it
    bool wide = false;                  // it has more than hub_edges edges: it joins no other group
  };
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  void collect();
  Lists& lists(DNode group);
  template <class Neighbours, class Each>
  bool visit(std::vector<DNode>& nodes, DNode group, Neighbours neighbours, Each each);
  template <class Each> bool consumers(DNode group, Each each);
  template <class Each> bool producers(DNode group, Each each);
  void reorder(DNode merged, std::uint32_t low, std::uint32_t high);

  const Draft& d_;
  std::vector<DNode> of_;
  std::vector<DNode> members_;               // group by group
  std::vector<std::uint32_t> first_, size_;  // by group, into members_
  std::vector<std::uint32_t> position_;      // by group, in the order of the quotient
  std::vector<std::uint32_t> seen_;          // by group: epochs
  std::uint32_t epoch_ = 0;
  std::size_t steps_ = 0, dissolved_ = 0;
  std::vector<std::uint32_t> lists_of_;  // by group, into lists_, from 1; 0: not made yet
  std::vector<Lists> lists_;
  std::vector<DNode> stack_, downstream_, upstream_;  // of join()
};

void Groups::collect() {
  first_.assign(d_.node_count(), 0);
  size_.assign(d_.node_count(), 0);
  std::size_t count = 0;
  for (DNode n = d_.first(); n; n = d_[n].next, ++count) ++size_[of(n).index()];
  std::uint32_t start = 0;
  for (DNode n = d_.first(); n; n = d_[n].next) {
    first_[n.index()] = start;
    start += size_[n.index()];
    size_[n.index()] = 0;
  }
  members_.resize(count);
  for (DNode n = d_.first(); n; n = d_[n].next) {
    const std::uint32_t g = of(n).index();
    members_[first_[g] + size_[g]++] = n;
  }
}

std::vector<DNode> Groups::order() {
  const Model& m = d_.model();
  for (;;) {
    collect();
    std::vector<std::uint32_t> waiting(d_.node_count());
    const auto each_reader = [&](DNode group, auto f) {
      for (const DNode n : members(group))
        for (const DValue v : d_.outs(n))
          for (DUse u = v ? d_.first_use(v) : DUse{}; u; u = d_.next_use(u))
            if (const DNode r = of(d_.user(u)); r != group) f(r);
    };
    using Entry = std::pair<std::uint64_t, std::uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    const auto push = [&](DNode group) {
      std::uint64_t key = ~std::uint64_t{0};
      for (const DNode n : members(group)) key = std::min(key, m.node(d_[n].origin).order);
      ready.emplace(key, group.index());
    };
    std::size_t groups = 0;
    for (DNode n = d_.first(); n; n = d_[n].next)
      if (of(n) == n) {
        ++groups;
        each_reader(n, [&](DNode r) { ++waiting[r.index()]; });
      }
    for (DNode n = d_.first(); n; n = d_[n].next)
      if (of(n) == n && waiting[n.index()] == 0) push(n);
    std::vector<DNode> out;
    position_.assign(d_.node_count(), kNone);
    while (!ready.empty()) {
      const DNode group{ready.top().second};
      ready.pop();
      position_[group.index()] = static_cast<std::uint32_t>(out.size());
      out.push_back(group);
      each_reader(group, [&](DNode r) {
        if (--waiting[r.index()] == 0) push(r);
      });
    }
    if (out.size() == groups) return out;
    // Groups without a position are in a cycle or downstream of one. Those that lead to no cycle get one,
    // too, from the end: groups of which all readers have positions.
    std::vector<std::uint32_t> readers(d_.node_count());
    for (DNode n = d_.first(); n; n = d_[n].next)
      if (of(n) == n && position_[n.index()] == kNone)
        each_reader(n, [&](DNode r) { readers[n.index()] += position_[r.index()] == kNone; });
    for (DNode n = d_.first(); n; n = d_[n].next)
      if (of(n) == n && position_[n.index()] == kNone && readers[n.index()] == 0) stack_.push_back(n);
    while (!stack_.empty()) {
      const DNode group = stack_.back();
      stack_.pop_back();
      position_[group.index()] = 0;
      for (const DNode n : members(group))
        for (std::uint32_t k = 0; k < d_[n].in_count; ++k) {
          const DValue v = d_.in(n, k);
          const DNode g = v && d_.def(v) ? of(d_.def(v)) : group;
          if (g != group && position_[g.index()] == kNone && --readers[g.index()] == 0) stack_.push_back(g);
        }
    }
    for (DNode n = d_.first(); n;
         n = d_[n].next)  // of() reads of_, so all nodes are collected before it changes
      if (position_[of(n).index()] == kNone && of(n) != n) stack_.push_back(n);
    for (const DNode n : stack_) of_[n.index()] = n;
    dissolved_ += stack_.size();
    stack_.clear();
  }
}

Groups::Lists& Groups::lists(DNode group) {
  std::uint32_t& at = lists_of_[group.index()];
  if (at == 0) {
    const std::span<const DNode> all = members(group);
    lists_.push_back({{all.begin(), all.end()}, {all.begin(), all.end()}});
    at = static_cast<std::uint32_t>(lists_.size());
  }
  return lists_[at - 1];
}

// Calls each(g) for the other groups next to these nodes of a group, and removes nodes that have none from
// the list. Returns false if the limit of edges is reached.
template <class Neighbours, class Each>
bool Groups::visit(std::vector<DNode>& nodes, DNode group, Neighbours neighbours, Each each) {
  bool& wide = lists(group).wide;
  if (wide) {
    d_.hit_limit(SearchLimit::ClusterEdges);
    return false;
  }
  const std::size_t before = steps_;
  for (std::size_t i = 0; i < nodes.size();) {
    bool next_to_other = false;
    const bool whole = neighbours(nodes[i], [&](DNode other) {
      if (++steps_ > kSearchLimits.cluster_edges) return false;
      if (const DNode g = of(other); g != group) {
        next_to_other = true;
        each(g);
      }
      return true;
    });
    if (!whole || ++steps_ > kSearchLimits.cluster_edges) {
      d_.hit_limit(SearchLimit::ClusterEdges);
      wide = steps_ - before > kSearchLimits.hub_edges;
      return false;
    }
    if (next_to_other) {
      ++i;
    } else {
      nodes[i] = nodes.back();
      nodes.pop_back();
    }
  }
  return true;
}

template <class Each> bool Groups::consumers(DNode group, Each each) {
  const auto neighbours = [&](DNode n, auto see) {
    for (const DValue v : d_.outs(n))
      for (DUse u = v ? d_.first_use(v) : DUse{}; u; u = d_.next_use(u))
        if (!see(d_.user(u))) return false;
    return true;
  };
  return visit(lists(group).exits, group, neighbours, each);
}

template <class Each> bool Groups::producers(DNode group, Each each) {
  const auto neighbours = [&](DNode n, auto see) {
    for (std::size_t i = 0; i < d_[n].in_count; ++i) {
      const DValue v = d_.in(n, i);
      if (v && d_.def(v) && !see(d_.def(v))) return false;
    }
    return true;
  };
  return visit(lists(group).entries, group, neighbours, each);
}

bool Groups::join(DNode a, DNode b) {
  const std::uint32_t low = position_[a.index()], high = position_[b.index()];
  const std::uint32_t mark = ++epoch_;
  steps_ = 0;
  downstream_.clear();
  upstream_.clear();
  bool cycle = false;
  // Finds the groups between the two in the order that are downstream of a, and those that are upstream of b.
  // A path from a to b through a third group would become a cycle.
  const auto walk = [&](DNode from, std::vector<DNode>& found, bool forward) {
    stack_.assign(1, from);
    while (!stack_.empty() && !cycle) {
      const DNode at = stack_.back();
      stack_.pop_back();
      const auto see = [&](DNode g) {
        if (g == a || g == b) {
          cycle = cycle || at != from;
          return;
        }
        const std::uint32_t position = position_[g.index()];
        if (position < low || position > high || seen_[g.index()] == mark) return;
        seen_[g.index()] = mark;
        found.push_back(g);
        stack_.push_back(g);
      };
      if (!(forward ? consumers(at, see) : producers(at, see))) return false;
    }
    return !cycle;
  };
  if (!walk(a, downstream_, true) || !walk(b, upstream_, false)) return false;

  Lists &la = lists(a), &lb = lists(b);  // both are made: the references hold
  const bool into_a = la.exits.size() + la.entries.size() >= lb.exits.size() + lb.entries.size();
  Lists &to = into_a ? la : lb, &from = into_a ? lb : la;
  to.exits.insert(to.exits.end(), from.exits.begin(), from.exits.end());
  to.entries.insert(to.entries.end(), from.entries.begin(), from.entries.end());
  from = {};
  const DNode merged = into_a ? a : b;
  of_[(into_a ? b : a).index()] = merged;
  reorder(merged, low, high);
  return true;
}

// Gives the positions of all groups that join() visited to them anew, in this order: upstream of b, the
// joined group, downstream of a.
void Groups::reorder(DNode merged, std::uint32_t low, std::uint32_t high) {
  std::vector<std::uint32_t> positions{low, high};
  const auto by_position = [this](DNode x, DNode y) { return position_[x.index()] < position_[y.index()]; };
  for (std::vector<DNode>* list : {&upstream_, &downstream_}) {
    std::ranges::sort(*list, by_position);
    for (const DNode g : *list) positions.push_back(position_[g.index()]);
  }
  std::ranges::sort(positions);
  std::size_t next = 0;
  for (const DNode g : upstream_) position_[g.index()] = positions[next++];
  position_[merged.index()] = positions[next];
  next += 2;  // two groups became one, so one position is left over
  for (const DNode g : downstream_) position_[g.index()] = positions[next++];
}

// Joins each free elementwise node with the groups of the free producers of its shape.
void join_free_nodes(const Draft& d, Groups& groups) {
  const auto free = [&](DNode n) { return groups.is_free(n) && !d[groups.of(n)].anchor; };
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
  Groups groups(d);
  groups.order();
  join_free_nodes(d, groups);
  RegionList list = Lister(model, d, groups).run();
  list.limit_hits = d.limit_hits();
  return list;
}

}  // namespace graphopt
