#include "placement/parts.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <utility>

namespace graphopt {
namespace {

using partition::Index;
using partition::kNone;

// Puts the ports of one part after the other in order. Its arrays are as large as the model and serve all.
class PortOrder {
 public:
  PortOrder(const Model& m, const Placement& placement)
      : m_(m),
        placement_(placement),
        place_(m.value_count(), kNone),
        met_(m.value_count()),
        inside_(m.node_count()),
        seen_(m.node_count()) {
    Index next = 0;
    for (const ValueId v : m.graph_inputs(m.main())) place_[v.index()] = next++;
    for (std::size_t i = 0; i < m.graph_output_count(m.main()); ++i) {
      const ValueId v = m.graph_output(m.main(), i);
      if (v && place_[v.index()] == kNone) place_[v.index()] = next++;
    }
  }

  void apply(ModelPart& part) {
    ++epoch_;
    next_ = 0;
    for (const NodeId n : part.nodes) inside_[n.index()] = epoch_;
    const auto of_model = [this](ValueId v) { return m_.value(v).is_input; };
    const auto returned = [this](ValueId v) { return place_[v.index()] != kNone; };
    std::ranges::sort(part.outputs, {}, [&](ValueId v) {
      return returned(v) ? std::pair(Index{0}, place_[v.index()])
                         : std::pair(1 + placement_.rank_of(m_.value(v).def), m_.value(v).def_slot);
    });
    for (const ValueId v : part.outputs) walk(v);
    for (const NodeId n : part.nodes)  // those that no output needs
      for (const ValueId v : m_.outputs(n)) walk(v);
    std::ranges::sort(part.inputs, {}, [&](ValueId v) {
      return of_model(v) ? std::pair(0u, place_[v.index()]) : std::pair(1u, met_[v.index()].place);
    });
  }

 private:
  struct Met {
    std::uint32_t epoch = 0;
    Index place = 0;
  };
  struct Frame {
    NodeId node;
    std::size_t next = 0;
  };

  void enter(ValueId v) {
    const NodeId n = v ? m_.value(v).def : NodeId{};
    if (!n || m_.node(n).graph != m_.main()) return;
    if (inside_[n.index()] != epoch_) {
      if (Met& met = met_[v.index()]; met.epoch != epoch_) met = {epoch_, next_++};
    } else if (seen_[n.index()] != epoch_) {
      seen_[n.index()] = epoch_;
      stack_.push_back({n});
    }
  }

  void walk(ValueId output) {
    if (!output || !m_.value(output).def) return;
    enter(output);
    while (!stack_.empty()) {
      Frame& at = stack_.back();
      const std::size_t i = at.next++, operands = m_.input_count(at.node);
      if (i < operands) {
        enter(m_.input(at.node, i));
        continue;
      }
      const auto captures = std::ranges::equal_range(placement_.captures, placement_.index[at.node.index()],
                                                     {}, &std::pair<Index, ValueId>::first);
      if (i - operands < captures.size()) enter(captures[static_cast<std::ptrdiff_t>(i - operands)].second);
      else stack_.pop_back();
    }
  }

  const Model& m_;
  const Placement& placement_;
  std::vector<Index> place_;                  // by value: among the inputs, then the outputs of the model
  std::vector<Met> met_;                      // by value: when the walk of this epoch met it
  std::vector<std::uint32_t> inside_, seen_;  // by node: epochs
  std::vector<Frame> stack_;
  std::uint32_t epoch_ = 0;
  Index next_ = 0;
};

}  // namespace

std::vector<ModelPart> parts_of(const Model& m, const Placement& placement,
                                const partition::Partition& partition) {
  std::vector<ModelPart> parts;
  PortOrder order(m, placement);
  const PartMaker maker(m);
  for (std::size_t s = 0; s < partition.size(); ++s) {
    std::vector<NodeId> nodes;
    for (const Index i : partition.nodes[s]) nodes.push_back(placement.nodes[i]);
    ModelPart& part = parts.emplace_back(maker.part_of(nodes));
    part.nodes = std::move(nodes);
    order.apply(part);
  }
  if (parts.size() == 1) {
    const auto inputs = m.graph_inputs(m.main());
    parts[0].inputs.assign(inputs.begin(), inputs.end());
    const std::vector<ValueId> read = parts[0].initializers;
    const std::set<ValueId> known(read.begin(), read.end());
    for (const ValueId v : inputs)  // an overridable one that no node reads
      if (m.value(v).is_initializer && !known.contains(v)) parts[0].initializers.push_back(v);
  }
  return parts;
}

}  // namespace graphopt
