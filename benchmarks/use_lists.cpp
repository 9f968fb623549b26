// Use lists of a Model: what building, replacing and erasing cost per use or node.
//
//   build/release/benchmarks/bench_use_lists
//
// The argument is the number of nodes; time per item must stay nearly the same as it grows, since each step
// is O(1) per use. Items are nodes built, uses replaced, nodes erased.

#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/model.h"

namespace graphopt {
namespace {

// An input and nodes that all read it (a fan) or each the one before (a chain).
struct Graph {
  Model m;
  OpId relu;
  ValueId x;
  std::vector<NodeId> nodes;

  Graph() {
    m.ir_version = 8;
    relu = m.intern_op(OpKind::Relu, "", "Relu");
    x = m.add_input(m.main(), m.names.intern("x"));
  }
  // `before`: the node to insert before; none: at the end.
  ValueId add(ValueId operand, NodeId before = {}) {
    const std::array<ValueId, 1> in{operand}, out{m.add_value(m.main(), kEmptyName)};
    nodes.push_back(m.add_node(m.main(), relu, in, out, before));
    return out[0];
  }
  void fan(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) add(x);
  }
  void chain(std::int64_t count) {
    ValueId v = x;
    for (std::int64_t i = 0; i < count; ++i) v = add(v);
  }
};

void build_chain(benchmark::State& state) {
  for (auto _ : state) {
    Graph g;
    g.chain(state.range(0));
    benchmark::DoNotOptimize(g.m.live_node_count());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// Always before the same node: order keys run out there again and again and are spread anew.
void insert_at_one_place(benchmark::State& state) {
  for (auto _ : state) {
    Graph g;
    g.add(g.x);
    const NodeId last = g.nodes.front();
    for (std::int64_t i = 1; i < state.range(0); ++i) g.add(g.x, last);
    benchmark::DoNotOptimize(g.m.before(g.nodes.back(), last));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// All readers of the input read another one, and the input again.
void replace_all_uses(benchmark::State& state) {
  Graph g;
  g.fan(state.range(0));
  const ValueId other = g.m.add_input(g.m.main(), g.m.names.intern("z"));
  for (auto _ : state) {
    g.m.replace_all_uses(g.x, other);
    g.m.replace_all_uses(other, g.x);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * 2);
}

void walk_uses(benchmark::State& state) {
  Graph g;
  g.fan(state.range(0));
  for (auto _ : state) {
    std::uint64_t sum = 0;
    for (UseId u = g.m.first_use(g.x); u; u = g.m.next_use(u)) sum += g.m.user(u).index();
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// From the last node to the first, as a sweep of dead nodes does.
void erase_chain(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    std::optional<Graph> g(std::in_place);
    g->chain(state.range(0));
    state.ResumeTiming();
    while (!g->nodes.empty()) {
      g->m.erase(g->nodes.back());
      g->nodes.pop_back();
    }
    benchmark::DoNotOptimize(g->m.live_node_count());
    state.PauseTiming();
    g.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(build_chain)->Arg(1000)->Arg(100000);
BENCHMARK(insert_at_one_place)->Arg(1000)->Arg(100000);
BENCHMARK(replace_all_uses)->Arg(1000)->Arg(100000);
BENCHMARK(walk_uses)->Arg(1000)->Arg(100000);
BENCHMARK(erase_chain)->Arg(1000)->Arg(100000);

}  // namespace
}  // namespace graphopt

BENCHMARK_MAIN();
