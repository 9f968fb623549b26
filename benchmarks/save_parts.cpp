// How long it takes to cut a chain of nodes into parts and to save them as one set of files, by the number of
// nodes and of parts: part_of (ir/part.h), the types of borders (shapes/boundary_types.h), and save_set
// (onnx/set_writer.h) with the whole model beside the parts, in TMPDIR or /tmp.
//
//   cmake --build --preset release --target bench_save_parts
//   build/release/benchmarks/bench_save_parts
//
// Each node reads the one before it and a weight of its own; every tenth weight is large enough for the data
// file. The time of each step should follow nodes plus parts: a row with ten times the parts and as many
// nodes may take what the additional files cost, and no more.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "infer/infer.h"
#include "ir/part.h"
#include "ir/restate.h"
#include "onnx/set_writer.h"
#include "shapes/boundary_types.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;

struct Chain {
  Chain(std::int64_t nodes, std::int64_t parts) : cut(static_cast<std::size_t>(parts)) {
    m.ir_version = 10;
    m.opset_tables[0] = {{kEmptyName, 21}};
    const OpId add = m.intern_op(OpKind::Add, "", "Add");
    ValueId last = m.add_input(m.main(), m.names.intern("x"));
    declare(m, last, m.types.tensor(DType::Int64, {}));
    for (std::int64_t i = 0; i < nodes; ++i) {
      const std::string name = "layer." + std::to_string(i);
      const std::vector<std::int64_t> elements(i % 10 == 0 ? 200 : 1, i);
      const std::vector<ValueId> in{last, m.add_initializer(m.main(), name + ".w", m.make_int64s(elements))};
      const std::vector<ValueId> out{m.add_value(m.main(), m.names.intern(name + "/out"))};
      cut[static_cast<std::size_t>(i * parts / nodes)].push_back(
          m.add_node(m.main(), add, in, out, {}, name));
      last = out[0];
    }
    m.set_graph_outputs(m.main(), std::vector<ValueId>{last});
    infer.run();
  }

  Model m;
  Inference infer{m, {}};
  std::vector<std::vector<NodeId>> cut;  // the nodes of each part
};

std::vector<ModelPart> parts_of(const Chain& chain) {
  std::vector<ModelPart> out;
  const PartMaker maker(chain.m);
  for (const std::vector<NodeId>& nodes : chain.cut) out.push_back(maker.part_of(nodes));
  return out;
}

std::vector<std::vector<TypeOverride>> types_of(Chain& chain, const std::vector<ModelPart>& parts) {
  std::vector<std::vector<TypeOverride>> out;
  BoundaryTypes types(chain.m, chain.infer);
  for (const ModelPart& part : parts) out.push_back(types.of(part));
  return out;
}

void find_parts(benchmark::State& state) {
  const Chain chain(state.range(0), state.range(1));
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(parts_of(chain));
}

void find_types(benchmark::State& state) {
  Chain chain(state.range(0), state.range(1));
  const std::vector<ModelPart> parts = parts_of(chain);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(types_of(chain, parts));
}

void save(benchmark::State& state) {
  Chain chain(state.range(0), state.range(1));
  const std::vector<ModelPart> parts = parts_of(chain);
  const std::vector<std::vector<TypeOverride>> types = types_of(chain, parts);
  const fs::path folder = fs::temp_directory_path() / ("save-parts-" + std::to_string(::getpid()));
  std::vector<SetModel> models;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    SetModel& model = models.emplace_back(SetModel{&chain.m, {}, "m.s" + std::to_string(i)});
    model.options.part = &parts[i];
    model.options.types = types[i];
  }
  SetModel out{&chain.m, {}, {}};
  out.options.path = (folder / "m.onnx").string();
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    fs::remove_all(folder);
    fs::create_directories(folder);
    state.ResumeTiming();
    SetOptions options;
    options.list = (folder / "m.json").string();
    options.out = &out;
    if (const Result<SavedSet> saved = save_set(models, options); !saved) {
      std::fprintf(stderr, "%s\n", to_string(saved.error()).c_str());
      std::exit(1);
    }
  }
  fs::remove_all(folder);
}

void sizes(benchmark::internal::Benchmark* b) {
  for (const std::int64_t parts : {10, 1000, 10'000}) b->Args({100'000, parts});
  b->Args({10'000, 1000})->Unit(benchmark::kMillisecond)->Iterations(1);
}
BENCHMARK(find_parts)->Apply(sizes);
BENCHMARK(find_types)->Apply(sizes);
BENCHMARK(save)->Apply(sizes);

}  // namespace
}  // namespace graphopt

BENCHMARK_MAIN();
