// drop-unused-outputs: leaves out optional results that nothing reads.
//
// Problem: nodes declare results (the mask of Dropout, the indices of MaxPool, the states of an LSTM) that a
// runtime then computes and stores although nothing reads them.
// Method: an optional result without a use becomes an empty slot; empty slots at the end are removed.
// Exact: the fact table says which results a node may do without (LeaveOut: the others keep their bits, and
// ONNX Runtime runs the node). Lowers: bytes written at run time.
// Ends: each rewrite removes a result.
// Left alone: results that the table does not list, such as those of variadic operators (Split, If, Loop:
// their number has a meaning), and those of operators that are not pure; results that go together only while
// something reads one of them.
//
//   y, mask = Dropout (x, r, t)      =>      y = Dropout (x, r, t)

#include <algorithm>

#include "ops/node_facts.h"
#include "passes/rule_pass.h"

namespace graphopt {
namespace {

class DropUnused final : public Rule {
 public:
  static constexpr Counter kCounter{"nodes", "nodes that lost unused results"};
  std::string_view name() const override { return "unused-output"; }
  std::span<const OpKind> roots() const override { return {}; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    for (std::size_t i = 1; i < m.output_count(n); ++i) {
      if (droppable(m, n, i)) return true;
      if (unused(m, n, i)) c.no(n, "the operator needs the result that nothing reads");
    }
    return false;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    for (std::size_t i = 1; i < m.output_count(n); ++i)
      if (droppable(m, n, i)) m.drop_output(n, i);
    m.truncate_outputs(n);
  }

 private:
  static bool unused(const Model& m, NodeId n, std::size_t i) {
    const ValueId v = m.output(n, i);
    return v && m.use_count(v) == 0 && !m.value(v).pinned;
  }

  // The table never lists result 0.
  static bool droppable(const Model& m, NodeId n, std::size_t i) {
    const LeaveOut& may = facts_of(m, n).leave_out;
    const auto listed = [&](std::size_t k) { return k < 8 && (may.results >> k & 1) != 0; };
    if (!unused(m, n, i) || !listed(i)) return false;
    for (std::size_t k = 0; k < std::min<std::size_t>(m.input_count(n), 32); ++k)
      if (m.input(n, k) && (may.unless_operands >> k & 1) != 0) return false;
    for (std::size_t k = 1; may.all_or_none && k < m.output_count(n); ++k)
      if (listed(k) && m.output(n, k) && !unused(m, n, k)) return false;
    return true;
  }
};

}  // namespace

extern constinit const PassInfo drop_unused_outputs = {
    .name = "drop-unused-outputs",
    .summary = "leave out optional results that nothing reads",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<DropUnused>>,
    .new_operators = NewOperators::Never};

}  // namespace graphopt
