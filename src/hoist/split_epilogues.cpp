#include "hoist/split_epilogues.h"

#include "draft/search_limits.h"
#include "hoist/moves/conditions.h"
#include "ops/constants.h"
#include "ops/same_attributes.h"
#include "rewrite/cost.h"

namespace graphopt {
namespace {

constexpr std::size_t kMostSteps = 16;  // nodes of an epilogue that are compared

// Returns whether merge_split() would merge these nodes, one of each value. Constants that differ are joined,
// so there must not be too many elements.
bool merges(const Model& m, std::span<const NodeId> nodes, std::span<const ValueId> values,
            std::int64_t extent) {
  const NodeId first = nodes[0];
  for (const NodeId n : nodes)
    if (!n || m.kind(n) != m.kind(first) || m.input_count(n) != m.input_count(first) ||
        !same_attributes(m, n, first))
      return false;
  for (std::size_t k = 0; k < m.input_count(first); ++k) {
    bool equal = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const ValueId v = m.input(nodes[i], k), like = m.input(first, k);
      if (v.valid() != like.valid() || (v == values[i]) != (like == values[0])) return false;
      if (!v || v == values[i]) continue;
      const TensorId t = m.constant_of(v), other = m.constant_of(like);
      if (m.tensor(t).dtype != m.tensor(other).dtype) return false;
      equal &= v == like || (m.tensor(t).elements == 1 && equal_constants(m, t, other));
    }
    if (!equal && (extent > kSearchLimits.constant_elements || operand_kind(m, first, k) == Operand::Fixed))
      return false;
  }
  return true;
}

}  // namespace

std::size_t left_behind_split(const Model& m, const Inference& infer, std::vector<ValueId> values,
                              std::int64_t extent) {
  std::vector<NodeId> next(values.size());
  for (std::size_t step = 0; step < kMostSteps; ++step) {
    for (std::size_t i = 0; i < values.size(); ++i) next[i] = epilogue_of(m, infer, values[i]);
    if (!merges(m, next, values, extent)) break;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = m.output(next[i], 0);
  }
  std::size_t left = 0;
  for (ValueId v : values)
    for (NodeId e; (e = epilogue_of(m, infer, v)); v = m.output(e, 0)) ++left;
  return left;
}

}  // namespace graphopt
