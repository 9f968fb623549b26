// drop-unused-outputs: removes optional results without use.
//
// Problem: nodes declare results (the mask of Dropout, the indices of MaxPool, the states of an LSTM) that a
// runtime then computes and stores in vain.
// Method: an optional result without a use becomes an empty slot; empty slots at the end are removed.
// Exact: an optional result does not change the others. Lowers: bytes written at run time.
// Ends: each rewrite removes a result.
// Left alone: results of variadic operators (Split, If, Loop: their number has a meaning), required ones,
// operators that are not pure, and BatchNormalization before opset 14, where the number of results selects
// training mode.
//
//   y, mask = Dropout (x, r, t)      =>      y = Dropout (x, r, t)

#include <algorithm>

#include "ops/node_facts.h"
#include "passes/rule_pass.h"

namespace graphopt {
namespace {

constexpr std::uint8_t kVariadic = 255;

class DropUnused final : public Rule {
 public:
  static constexpr Counter kCounter{"nodes", "nodes that lost unused results"};
  std::string_view name() const override { return "unused-output"; }
  std::span<const OpKind> roots() const override { return {}; }

  bool match(const PassContext& c, NodeId n) override {
    const Model& m = c.model;
    if (m.output_count(n) < 2 || m.kind(n) == OpKind::Opaque || m.kind(n) == OpKind::FunctionCall)
      return false;
    const OpFacts& row = facts_of(m, n);
    if (row.max_outputs == kVariadic || (row.purity != Purity::Pure && row.purity != Purity::Random))
      return false;
    if (m.kind(n) == OpKind::BatchNormalization && m.opset(n) < 14) return false;
    // Slot 0 stays: some runtimes refuse a node without its first result.
    for (std::size_t i = std::max<std::size_t>(1, row.min_outputs); i < m.output_count(n); ++i)
      if (droppable(m, m.output(n, i))) return true;
    return false;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const OpFacts& row = facts_of(m, n);
    for (std::size_t i = std::max<std::size_t>(1, row.min_outputs); i < m.output_count(n); ++i)
      if (droppable(m, m.output(n, i))) m.drop_output(n, i);
    m.truncate_outputs(n);
  }

 private:
  static bool droppable(const Model& m, ValueId v) { return v && m.use_count(v) == 0 && !m.value(v).pinned; }
};

}  // namespace

extern constinit const PassInfo drop_unused_outputs = {
    .name = "drop-unused-outputs",
    .summary = "leave out optional results that nothing reads",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<DropUnused>>};

}  // namespace graphopt
