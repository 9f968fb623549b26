// zero-states: leaves out initial states of recurrences that are zeros.
//
// Problem: exporters compute the zeros from which an LSTM, GRU or RNN starts (Shape, Gather, Concat,
// ConstantOfShape or Expand, and a Split or Slice for each layer), though absent states mean zeros.
// Method: an initial state whose elements are all +0 becomes absent. A walk upstream past operators that only
// move elements ends at a constant of zeros or a ConstantOfShape of 0.
// Exact: an absent state is zeros of the right dims. One of other dims is an error of every run, so nothing
// is lost where a run is accepted. -0 is no +0: it may give a -0. Lowers: nodes, once the chain that made the
// zeros is dead. Ends: each rewrite removes an operand. Left alone: states that are computed, peephole
// weights, longer chains than kLongestChain.
//
//   z = ConstantOfShape (s)                       y = LSTM (x, w, r)
//   y = LSTM (x, w, r, , , z, z)          =>

#include <algorithm>
#include <vector>

#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/node_facts.h"
#include "passes/rule_pass.h"

namespace graphopt {
namespace {

constexpr int kLongestChain = 16;

class DropZeroStates final : public Rule {
 public:
  static constexpr Counter kCounter{"states", "initial states that were zeros"};
  std::string_view name() const override { return "state"; }
  std::span<const OpKind> roots() const override {
    return kRootKinds<OpKind::LSTM, OpKind::GRU, OpKind::RNN>;
  }

  bool match(const MatchContext& c, NodeId n) override {
    // Not by a pattern: the first result may be absent, where only the last state is read.
    if (!attributes_known(c.model, n)) return c.no(n, "its attributes are not known");
    for (std::size_t slot = kFirstState; slot < last(c.model, n); ++slot)
      if (is_zero(c.model, c.model.input(n, slot))) return true;
    return c.no(n, "no initial state is zeros");
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < m.input_count(n); ++i) operands.push_back(m.input(n, i));
    for (std::size_t slot = kFirstState; slot < last(m, n); ++slot)
      if (is_zero(m, operands[slot])) operands[slot] = {};
    while (!operands.back()) operands.pop_back();
    m.set_operands(n, operands);
  }

 private:
  static constexpr std::size_t kFirstState = 5;  // then the cell state of an LSTM

  static std::size_t last(const Model& m, NodeId n) {
    return std::min<std::size_t>(m.input_count(n), m.kind(n) == OpKind::LSTM ? 7 : 6);
  }

  static bool is_zero(const Model& m, ValueId v) {
    for (int steps = 0; v && steps < kLongestChain; ++steps) {
      if (m.constant_of(v)) return holds(m, m.constant_of(v), 0.0, kMostElements);
      const NodeId n = m.value(v).def;
      if (!n || m.is_fixed(v) || !attributes_known(m, n)) return false;
      if (m.kind(n) == OpKind::ConstantOfShape)
        return !has_attr(m, n, names::value) || holds(m, tensor_attr(m, n, names::value), 0.0);
      const OpClass cls = facts_of(m, n).cls;
      const bool moves = cls == OpClass::Deformation || cls == OpClass::Order || cls == OpClass::Split ||
                         m.kind(n) == OpKind::Expand || m.kind(n) == OpKind::Slice ||
                         m.kind(n) == OpKind::Tile || m.kind(n) == OpKind::Gather ||
                         m.kind(n) == OpKind::Identity;
      if (!moves) return false;
      v = m.input(n, 0);
    }
    return false;
  }
};

}  // namespace

extern constinit const PassInfo zero_states = {
    .name = "zero-states",
    .summary = "leave out initial states of LSTM, GRU, RNN that are zeros",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<DropZeroStates>>};

}  // namespace graphopt
