// How long it takes to cut a graph of plain numbers for devices (src/partition), by its number of nodes.
//
//   cmake --build --preset release --target bench_partition
//   build/release/benchmarks/bench_partition
//
// `random`: each node reads one or two of the nodes before it, mostly near ones; 3 % of them run on the host
// alone; where there are several accelerators, 3 % of the nodes start a run on one. The others are inputs
// that a search could choke on. The counter is nanoseconds for each node and edge.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "partition/partition.h"

namespace graphopt::partition {
namespace {

// Returns the order of first visit of a depth-first walk from the last nodes, as the caller of partition()
// has it.
std::vector<Index> ranks(const Rows& producers) {
  std::vector<Index> rank(producers.size(), kNone), stack;
  std::vector<std::uint8_t> read(producers.size());
  for (Index i = 0; i < producers.size(); ++i)
    for (const Index p : producers[i]) read[p] = 1;
  Index next = 0;
  for (Index root = 0; root < producers.size(); ++root) {
    if (read[root] != 0) continue;
    stack.push_back(root);
    while (!stack.empty()) {
      const Index i = stack.back();
      stack.pop_back();
      if (rank[i] != kNone) continue;
      rank[i] = next++;
      for (const Index p : producers[i]) stack.push_back(p);
    }
  }
  return rank;
}

// `first_device`: of each node; `devices - 1` is the host.
Problem problem(Rows producers, std::vector<Index> first_device, Index devices) {
  Problem out;
  out.devices.resize(devices);
  for (Index d = 0; d < devices; ++d) out.supports.add_row(std::vector{d});
  out.support_of = std::move(first_device);
  out.producers = std::move(producers);
  out.rank = ranks(out.producers);
  return out;
}

Problem random_graph(std::size_t nodes, Index devices) {
  std::mt19937_64 rng(1);
  std::exponential_distribution<double> distance(1.0 / 8);
  Rows producers;
  std::vector<Index> device, accelerator;
  for (Index i = 0; i < nodes; ++i) {
    const Index count = std::min(i, rng() % 5 < 3 ? Index{1} : Index{2});
    Index last = kNone;
    for (Index k = 0; k < count; ++k) {
      const Index p = i - 1 - std::min(i - 1, static_cast<Index>(distance(rng)));
      if (p != last) producers.add(p);
      last = p;
    }
    producers.end_row();
    // Most nodes go to the accelerator of the node before them.
    Index& mine = accelerator.emplace_back(i > 0 ? accelerator[i - 1] : 0);
    if (rng() % 100 < 3) mine = static_cast<Index>(rng() % (devices - 1));
    device.push_back(rng() % 100 < 3 ? devices - 1 : mine);
  }
  return problem(std::move(producers), std::move(device), devices);
}

// A chain whose nodes alternate between the two devices, each of them read by a side node of the other one.
Problem comb(std::size_t nodes) {
  Rows producers;
  std::vector<Index> device;
  for (Index i = 0; i < nodes; ++i) {
    if (i > 0) producers.add(i % 2 == 1 ? i - 1 : i - 2);
    producers.end_row();
    device.push_back(i % 2 == 1 ? 1 - i / 2 % 2 : i / 2 % 2);
  }
  return problem(std::move(producers), std::move(device), 2);
}

// One node that all others but one read, which reads them.
Problem fan(std::size_t nodes) {
  Rows producers;
  std::vector<Index> device;
  producers.end_row();
  for (Index i = 1; i + 1 < nodes; ++i) producers.add_row(std::vector<Index>{0});
  for (Index i = 1; i + 1 < nodes; ++i) producers.add(i);
  producers.end_row();
  for (Index i = 0; i < nodes; ++i) device.push_back(i % 3 == 1 ? 1 : 0);
  return problem(std::move(producers), std::move(device), 2);
}

// Layers of 100 nodes, each of which reads the whole layer before.
Problem layers(std::size_t nodes) {
  Rows producers;
  std::vector<Index> device;
  for (Index i = 0; i < nodes; ++i) {
    for (Index p = i / 100 * 100; p > 0 && p + 100 > i / 100 * 100; --p) producers.add(p - 1);
    producers.end_row();
    device.push_back(i % 3 == 1 ? 1 : 0);
  }
  return problem(std::move(producers), std::move(device), 2);
}

void run(benchmark::State& state, const Problem& problem, const Options& options) {
  Partition found;
  for ([[maybe_unused]] auto _ : state) {
    Result<Partition> result = partition(problem, options);
    if (!result) return state.SkipWithError("no partition");
    found = *std::move(result);
  }
  const auto size = static_cast<double>(problem.node_count() + problem.producers.item_count());
  state.counters["ns"] = benchmark::Counter(
      size * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["subgraphs"] = static_cast<double>(found.size());
  state.counters["accelerator"] = found.accelerator_count;
}

constexpr Options kGrow{}, kConnected{Algorithm::Grow, true}, kFewest{Algorithm::Fewest, false},
    kDepth{Algorithm::Depth, false};

void sizes(benchmark::internal::Benchmark* b) {
  b->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
}
void smaller(benchmark::internal::Benchmark* b) {
  b->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);
}

void random(benchmark::State& state, Options options, Index devices) {
  run(state, random_graph(static_cast<std::size_t>(state.range(0)), devices), options);
}
BENCHMARK_CAPTURE(random, grow, kGrow, 2)->Apply(sizes);
BENCHMARK_CAPTURE(random, grow_4_devices, kGrow, 4)->Apply(sizes);
BENCHMARK_CAPTURE(random, connected, kConnected, 2)->Apply(sizes);
BENCHMARK_CAPTURE(random, connected_4_devices, kConnected, 4)->Apply(sizes);
BENCHMARK_CAPTURE(random, fewest_4_devices, kFewest, 4)->Apply(sizes);
BENCHMARK_CAPTURE(random, depth, kDepth, 2)->Apply(smaller);

void pathological(benchmark::State& state, Problem (*make)(std::size_t), Options options) {
  run(state, make(static_cast<std::size_t>(state.range(0))), options);
}
BENCHMARK_CAPTURE(pathological, comb, comb, kGrow)->Apply(smaller);
BENCHMARK_CAPTURE(pathological, comb_connected, comb, kConnected)->Apply(smaller);
BENCHMARK_CAPTURE(pathological, comb_depth, comb, kDepth)->Apply(smaller);
BENCHMARK_CAPTURE(pathological, fan, fan, kGrow)->Apply(smaller);
BENCHMARK_CAPTURE(pathological, fan_connected, fan, kConnected)->Apply(smaller);
BENCHMARK_CAPTURE(pathological, fan_depth, fan, kDepth)->Apply(smaller);
BENCHMARK_CAPTURE(pathological, layers, layers, kGrow)->Apply(smaller);
BENCHMARK_CAPTURE(pathological, layers_connected, layers, kConnected)->Apply(smaller);
BENCHMARK_CAPTURE(pathological, layers_depth, layers, kDepth)->Apply(smaller);

}  // namespace
}  // namespace graphopt::partition

BENCHMARK_MAIN();
