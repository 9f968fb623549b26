// dead-code: removes nodes whose results nothing uses, and initializers that nothing reads.
//
// Problem: exporters leave both, and other passes do when a rewrite makes a value redundant.
// Method: every node that may be erased (rewrite/dead.h) and has no used result is erased, from the last to
// the first, so that its producers are erased in the same sweep; then initializers without use.
// Exact: what is erased has no effect on any output. Lowers: nodes, bytes. Ends: only removes.
// Left alone: nodes of unknown domains, inputs, initializers that are inputs (an overridable default is part
// of the interface), values named by training info or quantization annotations (pinned), model-local
// functions.
//
//   a = Relu (x)                    y = Neg (x)
//   b = Exp (a)          =>
//   y = Neg (x)

#include <array>
#include <vector>

#include "passes/pass.h"
#include "rewrite/dead.h"
#include "rewrite/refusals.h"

namespace graphopt {
namespace {

class DeadCode final : public Pass {
 public:
  bool run(PassContext& c) override {
    Model& m = c.model;
    const std::uint64_t before = counters_[0].value + counters_[1].value;
    // Outer graphs have smaller ids than inner ones; walking backward visits users before definitions only
    // within a graph, so the sweeper handles captured values.
    DeadSweeper dead(m);
    Refusals refusals(c);
    for (std::size_t g = m.graph_count(); g-- > 0;) {
      const GraphId graph{g};
      if (!m.graph(graph).alive) continue;
      for (NodeId n = m.graph(graph).last; n;) {
        const NodeId prev = m.prev_node(n);
        if (may_erase(m, n, refusals)) {
          if (!c.journal.allow(m, n, "node")) return finish(before);
          m.erase(n);
          ++counters_[0].value;
        }
        n = prev;
      }
    }
    counters_[0].value += dead.sweep();
    for (std::size_t g = 0; g < m.graph_count(); ++g) {
      const GraphId graph{g};
      if (!m.graph(graph).alive) continue;
      for (const ValueId v : m.graph(graph).initializers) {
        const Value& value = m.value(v);
        if (!value.alive || value.use_count > 0) continue;
        if (value.is_input || value.pinned) {
          if (refusals.wanted())
            refusals.note("initializer", v, value.pinned ? kNamed : "a caller may override it");
          continue;
        }
        if (!c.journal.allow(m, v, "initializer")) return finish(before);
        m.erase_initializer(v);
        ++counters_[1].value;
      }
    }
    return finish(before);
  }
  std::span<const Counter> counters() const override { return counters_; }

 private:
  static constexpr const char* kNamed = "something outside of the graph names it";

  static bool may_erase(const Model& m, NodeId n, Refusals& refusals) {
    bool named = false;
    for (const ValueId v : m.outputs(n)) {
      if (v && m.use_count(v) > 0) return false;
      named |= v && m.value(v).pinned;
    }
    const bool may = !named && removable(m, n);
    if (!may && refusals.wanted())
      refusals.note("node", n, named ? kNamed : "nothing is known about what it does");
    return may;
  }
  bool finish(std::uint64_t before) const { return counters_[0].value + counters_[1].value > before; }

  std::array<Counter, 2> counters_{
      {{"nodes", "dead nodes removed"}, {"initializers", "unused initializers removed"}}};
};

}  // namespace

extern constinit const PassInfo dead_code = {.name = "dead-code",
                                             .summary = "remove nodes and initializers that nothing reads",
                                             .exact = Exact::Yes,
                                             .level = 1,
                                             .make = make_pass<DeadCode>,
                                             .new_operators = NewOperators::Never};

}  // namespace graphopt
