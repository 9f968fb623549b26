// How long an entry of metadata_props takes to set and to clear at all nodes of a model
// (onnx/node_metadata.h).
//
//   cmake --build --preset release --target bench_node_metadata
//   build/release/benchmarks/bench_node_metadata
//
// The nodes come from a file in memory, each with a name and an attribute, so that their bytes are those of a
// real model. "one_by_one" makes a call for each node, "in_one_go" one for all; "clear" removes entries that
// every node has, "clear_none" ones that none has.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "onnx/fields.h"
#include "onnx/node_metadata.h"
#include "onnx/reader.h"
#include "onnx/wire.h"

namespace graphopt {
namespace {

constexpr std::string_view kKey = "graphopt.region";

// A chain of nodes as the bytes of a ModelProto; with `entries` each of them has one of kKey.
std::string chain(std::int64_t nodes, bool entries) {
  namespace nf = field::node;
  wire::BackwardWriter w({});
  const auto text = [&w](std::uint32_t number, const std::string& content) { w.field_copy(number, content); };
  const std::uint64_t opset = w.size();
  w.field_int(field::opset::kVersion, 21);
  w.close(field::model::kOpsetImport, opset);
  const std::uint64_t graph = w.size();
  const auto value = [&](std::uint32_t number, const std::string& name) {
    const std::uint64_t end = w.size();
    text(field::value_info::kName, name);
    w.close(number, end);
  };
  value(field::graph::kOutput, "v" + std::to_string(nodes));
  value(field::graph::kInput, "v0");
  text(field::graph::kName, "g");
  for (std::int64_t i = nodes; i > 0; --i) {
    const std::uint64_t end = w.size();
    if (entries) {
      const std::uint64_t entry = w.size();
      text(field::entry::kValue, std::to_string(i % 1000));
      text(field::entry::kKey, std::string(kKey));
      w.close(nf::kMetadata, entry);
    }
    const std::uint64_t attribute = w.size();
    w.field_int(field::attribute::kType, 1);
    w.field_float(field::attribute::kFloat, 0.5F);
    text(field::attribute::kName, "alpha");
    w.close(nf::kAttribute, attribute);
    text(nf::kOpType, "LeakyRelu");
    text(nf::kName, "/encoder/layer." + std::to_string(i) + "/act");
    text(nf::kOutput, "v" + std::to_string(i));
    text(nf::kInput, "v" + std::to_string(i - 1));
    w.close(field::graph::kNode, end);
  }
  w.close(field::model::kGraph, graph);
  w.field_int(field::model::kIrVersion, 10);
  std::string out;
  out.reserve(w.size());
  for (const wire::ByteRange& r : w.take()) out.append(r.data, r.size);
  return out;
}

void run(benchmark::State& state, bool had, bool in_one_go, bool set) {
  const std::string bytes = chain(state.range(0), had);
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    std::vector<Warning> warnings;
    Result<Model> loaded = load_model_from_memory(bytes, "m.onnx", ".", warnings);
    if (!loaded) {
      std::fprintf(stderr, "%s\n", to_string(loaded.error()).c_str());
      std::exit(1);
    }
    Model& m = *loaded;
    std::vector<std::string> texts;
    for (int i = 0; i < 1000; ++i) texts.push_back(std::to_string(1000 + i));
    state.ResumeTiming();
    std::vector<NodeText> all;
    std::size_t i = 0;
    for (NodeId n = m.first_node(m.main()); n; n = m.next_node(n)) {
      const NodeText entry{n, set ? std::optional<std::string_view>(texts[i++ % 1000]) : std::nullopt};
      if (in_one_go) all.push_back(entry);
      else set_node_metadata(m, n, kKey, entry.text);
    }
    if (in_one_go) benchmark::DoNotOptimize(set_node_metadata(m, kKey, all));
    state.PauseTiming();
    {
      const Model gone = std::move(m);
    }
    state.ResumeTiming();
  }
}

void sizes(benchmark::internal::Benchmark* b) {
  b->Arg(1'000'000)->Iterations(5)->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(run, set_one_by_one, false, false, true)->Apply(sizes);
BENCHMARK_CAPTURE(run, set_in_one_go, false, true, true)->Apply(sizes);
BENCHMARK_CAPTURE(run, clear_one_by_one, true, false, false)->Apply(sizes);
BENCHMARK_CAPTURE(run, clear_in_one_go, true, true, false)->Apply(sizes);
BENCHMARK_CAPTURE(run, clear_none_one_by_one, false, false, false)->Apply(sizes);
BENCHMARK_CAPTURE(run, clear_none_in_one_go, false, true, false)->Apply(sizes);

}  // namespace
}  // namespace graphopt

BENCHMARK_MAIN();
