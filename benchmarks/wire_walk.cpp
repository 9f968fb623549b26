// The walk over protobuf's wire format, which the reader and the writer stand on.
//
//   build/release/benchmarks/bench_wire_walk
//
// A synthetic ModelProto of N nodes, each with two operands, a result, a name, an operator and an attribute
// of four integers, is walked down to every field, and written. Bytes are those of the model. A large tensor
// must cost the walk nothing: walk_past_weights has one of so many bytes, and its time must not grow.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>

#include "onnx/wire.h"

namespace graphopt::wire {
namespace {

// Field numbers of onnx.proto.
constexpr std::uint32_t kModelGraph = 7, kGraphNode = 1, kGraphInitializer = 5, kTensorRaw = 9;
constexpr std::uint32_t kNodeInput = 1, kNodeOutput = 2, kNodeName = 3, kNodeOpType = 4, kNodeAttribute = 5;
constexpr std::uint32_t kAttributeName = 1, kAttributeInts = 8, kAttributeType = 20;

void write_node(BackwardWriter& w, std::int64_t i) {
  const std::uint64_t node = w.size(), attribute = w.size();
  w.field_varint(kAttributeType, 7);  // INTS
  for (int k = 0; k < 4; ++k) w.field_int(kAttributeInts, 3 - k);
  w.field_bytes(kAttributeName, "perm");
  w.close(kNodeAttribute, attribute);
  w.field_bytes(kNodeOpType, "Transpose");
  w.field_copy(kNodeName, "/encoder/layer." + std::to_string(i) + "/Transpose");
  w.field_copy(kNodeOutput, "value_" + std::to_string(i + 1));
  w.field_bytes(kNodeInput, "weight");
  w.field_copy(kNodeInput, "value_" + std::to_string(i));
  w.close(kGraphNode, node);
}

// `weights`: as many zeros as the one initializer holds.
std::vector<ByteRange> write_model(BackwardWriter& w, std::int64_t nodes, const std::string& weights) {
  const std::uint64_t graph = w.size();
  const std::uint64_t tensor = w.size();
  w.field_bytes(kTensorRaw, weights);
  w.close(kGraphInitializer, tensor);
  for (std::int64_t i = nodes; i-- > 0;) write_node(w, i);
  w.close(kModelGraph, graph);
  return w.take();
}

std::string make_model(std::int64_t nodes, std::size_t weights = 0) {
  const std::string zeros(weights, '\0');
  BackwardWriter w({});
  std::string out;
  for (const ByteRange& p : write_model(w, nodes, zeros)) out.append(p.data, p.size);
  return out;
}

// Fields in the model, its graph, its nodes and their attributes.
std::size_t count_fields(Bytes model) {
  std::size_t count = 0;
  Field in_model, in_graph, in_node, in_attribute;
  for (Fields m(model); m.next(in_model); ++count) {
    if (in_model.number != kModelGraph) continue;
    for (Fields g(in_model.bytes); g.next(in_graph); ++count) {
      if (in_graph.number != kGraphNode) continue;
      for (Fields n(in_graph.bytes); n.next(in_node); ++count) {
        if (in_node.number != kNodeAttribute) continue;
        for (Fields a(in_node.bytes); a.next(in_attribute); ++count) {
        }
      }
    }
  }
  return count;
}

void walk(benchmark::State& state) {
  const std::string model = make_model(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(count_fields(model));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(model.size()));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void walk_past_weights(benchmark::State& state) {
  const std::string model = make_model(100, static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(count_fields(model));
}

void write(benchmark::State& state) {
  const std::string no_weights;
  for (auto _ : state) {
    BackwardWriter w({});
    benchmark::DoNotOptimize(write_model(w, state.range(0), no_weights).size());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK(walk)->Arg(1000)->Arg(100000);
BENCHMARK(walk_past_weights)->Arg(0)->Arg(1 << 28);
BENCHMARK(write)->Arg(1000)->Arg(100000);

}  // namespace
}  // namespace graphopt::wire

BENCHMARK_MAIN();
