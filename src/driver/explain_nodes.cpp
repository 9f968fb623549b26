#include "driver/explain_nodes.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "deploy/make_manifest.h"
#include "deploy/partition_report.h"
#include "devices/support.h"
#include "driver/partitioned.h"
#include "lower/narrow.h"
#include "passes/explained.h"

namespace graphopt {
namespace {

class Explainer {
 public:
  Explainer(const Run& run, Work& work) : work_(work), m_(work.model), p_(*run.partitioned) {}

  std::vector<PartitionStage::Explained> run(const std::vector<std::string>& names) {
    for (const std::string& name : names) explain(name);
    return std::move(out_);
  }

 private:
  // A node of a body may be named with the body's path before it, as tables write it.
  bool is_called(std::string_view asked, GraphId g, std::string_view name) const {
    if (name.empty() || !asked.ends_with(name)) return false;
    const std::string path = graph_path(m_, g);
    return asked.size() == name.size() || (!path.empty() && asked == path + '/' + std::string(name));
  }

  void explain(const std::string& asked) {
    std::vector<NodeId> there, gone;
    for (std::size_t i = 0; i < m_.node_count(); ++i) {
      const NodeId n{i};
      if (m_.is_return(n)) continue;
      bool called = is_called(asked, m_.node(n).graph, m_.text(m_.node(n).name));
      for (const ValueId v : m_.outputs(n))
        called = called || (v && is_called(asked, m_.value(v).graph, m_.text(m_.value(v).name)));
      if (!called) continue;
      if (!m_.alive(n)) gone.push_back(n);
      else if (const NodeId holder = m_.ancestor_in(m_.main(), n))
        if (std::ranges::find(there, holder) == there.end()) there.push_back(holder);
    }
    if (there.empty()) there = narrowed_from(asked);
    for (const NodeId n : there) describe(n);
    if (!there.empty()) return;
    // Copies that were tried and undone have no name of the file.
    for (const NodeId n : gone)
      if (n.index() < work_.file_nodes || lowering_of(n) != nullptr) return describe_gone(asked, n);
  }

  // A result that became int32 has another name, and a Cast of it may have none.
  std::vector<NodeId> narrowed_from(std::string_view asked) const {
    std::vector<NodeId> out;
    for (const NarrowedSet& s : work_.narrowed)
      for (const auto& [n, name] : s.results)
        if (m_.alive(n) && m_.text(name) == asked && std::ranges::find(out, n) == out.end()) out.push_back(n);
    return out;
  }

  const LoweredNode* lowering_of(NodeId n) const {
    const auto at = std::ranges::find(work_.lowered, n, &LoweredNode::node);
    return at == work_.lowered.end() ? nullptr : &*at;
  }

  void describe(NodeId n) {
    const Place place = place_of(m_, n);
    PartitionStage::Explained& e = out_.emplace_back();
    e.node = place.node;
    e.op = place.op;
    const partition::Index subgraph = p_.partition.subgraph_of[p_.placement.index[n.index()]];
    const std::size_t device = p_.partition.devices[subgraph];
    e.device = p_.devices[device].id;
    e.subgraph = deploy::subgraph_name(subgraph);
    for (std::size_t d = 0; d < device; ++d) e.refused.push_back({p_.devices[d].id, why_not(d, n)});
    for (const LoweredNode& l : work_.lowered)
      if (std::ranges::find(l.made, n) != l.made.end()) {
        e.lowered_for = p_.devices[l.device].id;
        e.expansion = l.first;
      }
    for (const NarrowedSet& s : work_.narrowed)
      if (e.expansion.empty() && std::ranges::find(s.nodes, n) != s.nodes.end()) {
        e.lowered_for = p_.devices[s.device].id;
        e.expansion = kNarrowRule;
      }
  }

  std::string why_not(std::size_t device, NodeId n) {
    if (n.index() < work_.assigned.size() && work_.assigned[n.index()] != kNotAssigned &&
        work_.assigned[n.index()] != device)
      return "the model names " + p_.devices[work_.assigned[n.index()]].id;
    Checked& checked = checked_of(device);
    const Verdict& verdict = checked.verdicts[n.index()];
    return verdict.supported() ? why_moved(p_, n, device) : checked.support->explain(n, verdict);
  }

  void describe_gone(const std::string& asked, NodeId n) {
    PartitionStage::Explained& e = out_.emplace_back();
    e.node = asked;
    e.op = place_of(m_, n).op;
    std::vector<NodeId> now;
    if (const LoweredNode* l = lowering_of(n)) {
      e.lowered_for = p_.devices[l->device].id;
      e.expansion = l->first;
      now = l->made;
    } else {
      for (const ValueId v : m_.outputs(n))
        if (v && m_.alive(v) && m_.value(v).def) now.push_back(m_.value(v).def);
    }
    for (const NodeId by : now)
      if (m_.alive(by)) e.replaced_by.push_back(place_of(m_, by).node);
  }

  struct Checked {
    std::unique_ptr<Support> support;
    std::vector<Verdict> verdicts;
  };
  Checked& checked_of(std::size_t device) {
    if (checked_.empty()) checked_.resize(p_.devices.size());
    Checked& checked = checked_[device];
    if (!checked.support) {
      checked.support = std::make_unique<Support>(p_.devices[device], m_, *work_.inference);
      checked.verdicts = checked.support->check_all();
    }
    return checked;
  }

  Work& work_;
  Model& m_;
  const Partitioned& p_;
  std::vector<Checked> checked_;  // by device, where it was asked
  std::vector<PartitionStage::Explained> out_;
};

}  // namespace

std::vector<PartitionStage::Explained> explain_nodes(const Run& run, Work& work) {
  const std::vector<std::string> names = ExplainWishes(run.options.clean_up, work.model).nodes();
  if (names.empty()) return {};
  return Explainer(run, work).run(names);
}

}  // namespace graphopt
