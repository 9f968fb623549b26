#include "mapping/view.h"

#include <algorithm>
#include <unordered_map>

namespace graphopt::mapping {
namespace {

// Returns whether all that an operator computes from is one value.
bool has_one_computed_operand(const Side& side, Index op) {
  Index only = kNone;
  for (const Index v : side.inputs(op)) {
    if (v == kNone || side.constant(v) || v == only) continue;
    if (only != kNone) return false;
    only = v;
  }
  return only != kNone;
}

}  // namespace

View::View(const Matching& matching) : m_(matching) {
  std::array<std::unordered_map<Index, std::size_t>, 2> counts;  // by family
  for (const std::size_t s : kSides)
    for (Index i = 0; i < m_.side(s).size(); ++i) ++counts[s][m_.side(s).op(i).family];
  const auto has_vanished = [&](Index family) {
    const std::size_t a = counts[0][family], b = counts[1][family];
    return 2 * std::min(a, b) < std::max(a, b);
  };
  for (const std::size_t s : kSides) {
    const Side& side = m_.side(s);
    porous_[s].resize(side.size());
    for (Index i = 0; i < side.size(); ++i)
      porous_[s][i] = side.outputs(i).size() == 1 && has_one_computed_operand(side, i) &&
                      (side.op(i).only_deforms || has_vanished(side.op(i).family));
    for (Index v = 0; v < side.value_count(); ++v) sources_[s].push_back(v);
    for (Index i = 0; i < side.size(); ++i)
      if (side.op(i).is_transparent && side.outputs(i)[0] != kNone)
        sources_[s][side.outputs(i)[0]] = sources_[s][side.inputs(i)[0]];
  }
}

// The value that a node which is looked through hands on.
Index View::data_input(std::size_t s, Index op) const {
  const Side& side = m_.side(s);
  if (side.op(op).is_transparent) return side.inputs(op)[0];
  for (const Index v : side.inputs(op))
    if (v != kNone && !side.constant(v)) return v;
  return side.inputs(op)[0];
}

bool View::passes(std::size_t s, Index op, bool soft) const {
  return m_.side(s).op(op).is_transparent || (soft && porous_[s][op] && !m_.is_matched(s, op));
}

Index View::source(std::size_t s, Index value, bool soft) const {
  const Side& side = m_.side(s);
  value = sources_[s][value];
  for (std::size_t step = 0; soft && step < kMostSteps && side.is_computed(value); ++step) {
    const Use by = side.producer(value);
    if (by.slot != 0 || !passes(s, by.op, soft)) break;
    value = sources_[s][data_input(s, by.op)];
  }
  return value;
}

std::vector<Index> View::producers(std::size_t s, Index value) const {
  const Side& side = m_.side(s);
  std::vector<Index> out;
  while (value != kNone && side.is_computed(value) && out.size() < kMostSteps) {
    const Index op = side.producer(value).op;
    const bool is_matched = m_.is_matched(s, op);
    if (!is_matched) out.push_back(op);
    if (is_matched || !(side.op(op).is_transparent || porous_[s][op])) break;
    value = data_input(s, op);
  }
  return out;
}

std::vector<Use> View::uses(std::size_t s, Index value) const {
  const Side& side = m_.side(s);
  std::vector<Use> out;
  std::vector<std::pair<Index, std::size_t>> open{{value, 0}};  // with the operators looked through
  while (!open.empty() && out.size() < kMostUses) {
    const auto [v, steps] = open.back();
    open.pop_back();
    for (const Use& use : side.uses(v)) {
      if (out.size() == kMostUses) break;
      out.push_back(use);
      const bool hands_on = side.op(use.op).is_transparent ? use.slot == 0 : passes(s, use.op, true);
      if (hands_on && steps < kMostSteps && !side.outputs(use.op).empty() && side.outputs(use.op)[0] != kNone)
        open.emplace_back(side.outputs(use.op)[0], steps + 1);
    }
  }
  return out;
}

}  // namespace graphopt::mapping
