// How long a clone of a model takes (Model::clone), by its number of nodes.
//
//   cmake --build --preset release --target bench_clone
//   build/release/benchmarks/bench_clone
//
// Each node reads the one before it and a constant of its own, has a name and an attribute, and states the
// shape of its result: as much as a real graph holds for each node.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "ir/model.h"

namespace graphopt {
namespace {

Model chain(std::int64_t nodes) {
  Model m;
  m.ir_version = 8;
  const OpId op = m.intern_op(OpKind::Add, "", "Add");
  ValueId last = m.add_input(m.main(), m.names.intern("x"));
  const DimId n = m.dims.symbol("N");
  for (std::int64_t i = 0; i < nodes; ++i) {
    const std::string name = "layer." + std::to_string(i);
    const ValueId weight = m.add_initializer(m.main(), name + ".weight", m.make_int64(i));
    const std::vector<ValueId> in{last, weight}, out{m.add_value(m.main(), m.names.intern(name + "/out"))};
    const NodeId made = m.add_node(m.main(), op, in, out, {}, name);
    m.set_attr_int(made, m.names.intern("axis"), i);
    last = out[0];
  }
  m.types.tensor(DType::Float, std::vector<DimId>{n});
  m.set_graph_outputs(m.main(), std::vector<ValueId>{last});
  return m;
}

void clone(benchmark::State& state) {
  const Model m = chain(state.range(0));
  for ([[maybe_unused]] auto _ : state) {
    Model copy = m.clone();
    benchmark::DoNotOptimize(copy.node_count());
  }
}
BENCHMARK(clone)->Arg(1000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace graphopt

BENCHMARK_MAIN();
