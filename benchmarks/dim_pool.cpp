// Symbolic dims: what inference pays for an expression that is new, and for one that exists already.
//
//   build/release/benchmarks/bench_dim_pool
//
// The argument is the number of terms of each polynomial; a product of two has about the square of it. "New"
// makes a pool of its own for each round, so interning has to store every expression; "again" asks for
// expressions that the pool holds, which is what a deep model of equal blocks does. Items are operations.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "ir/dim.h"

namespace graphopt {
namespace {

constexpr std::size_t kPolynomials = 64;

// Polynomial k: the sum of (k + i + 1) * s_i over the first `terms` symbols.
std::vector<DimId> polynomials(DimPool& pool, std::size_t terms) {
  std::vector<DimId> made;
  for (std::size_t k = 0; k < kPolynomials; ++k) {
    DimId sum = pool.constant(static_cast<std::int64_t>(k));
    for (std::size_t i = 0; i < terms; ++i) {
      const DimId s = pool.symbol("s" + std::to_string(i), {.low = 1, .high = 1 << 20});
      sum = pool.add(sum, pool.mul(pool.constant(static_cast<std::int64_t>(k + i + 1)), s));
    }
    made.push_back(sum);
  }
  return made;
}

// Runs f(pool, a, b) for pairs of polynomials.
template <class F> void for_pairs(DimPool& pool, const std::vector<DimId>& all, F f) {
  for (std::size_t k = 0; k < all.size(); ++k)
    benchmark::DoNotOptimize(f(pool, all[k], all[(k * 7 + 1) % all.size()]));
}

template <class F> void measure(benchmark::State& state, bool fresh_pool, F f) {
  const auto terms = static_cast<std::size_t>(state.range(0));
  DimPool kept;
  const std::vector<DimId> all = polynomials(kept, terms);
  for_pairs(kept, all, f);
  for (auto _ : state) {
    if (!fresh_pool) {
      for_pairs(kept, all, f);
      continue;
    }
    state.PauseTiming();
    DimPool pool;
    const std::vector<DimId> own = polynomials(pool, terms);
    state.ResumeTiming();
    for_pairs(pool, own, f);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(all.size()));
}

constexpr auto kAdd = [](DimPool& p, DimId a, DimId b) { return p.add(a, b); };
constexpr auto kMul = [](DimPool& p, DimId a, DimId b) { return p.mul(a, b); };
constexpr auto kEqual = [](DimPool& p, DimId a, DimId b) { return p.equal(a, b); };
// (a * b) / b, which divides without a rest: the case of a -1 in a Reshape's target.
constexpr auto kDivide = [](DimPool& p, DimId a, DimId b) { return p.exact_div(p.mul(a, b), b, true); };
constexpr auto kFloorDivide = [](DimPool& p, DimId a, DimId b) { return p.floor_div(a, b); };

void add_new(benchmark::State& s) { measure(s, true, kAdd); }
void add_again(benchmark::State& s) { measure(s, false, kAdd); }
void mul_new(benchmark::State& s) { measure(s, true, kMul); }
void mul_again(benchmark::State& s) { measure(s, false, kMul); }
void exact_div_again(benchmark::State& s) { measure(s, false, kDivide); }
void floor_div_again(benchmark::State& s) { measure(s, false, kFloorDivide); }
void equal(benchmark::State& s) { measure(s, false, kEqual); }

BENCHMARK(add_new)->Arg(1)->Arg(4)->Arg(16);
BENCHMARK(add_again)->Arg(1)->Arg(4)->Arg(16);
BENCHMARK(mul_new)->Arg(1)->Arg(4)->Arg(8);
BENCHMARK(mul_again)->Arg(1)->Arg(4)->Arg(8);
BENCHMARK(exact_div_again)->Arg(1)->Arg(4);
BENCHMARK(floor_div_again)->Arg(1)->Arg(4)->Arg(16);
BENCHMARK(equal)->Arg(1)->Arg(4)->Arg(16);

}  // namespace
}  // namespace graphopt

BENCHMARK_MAIN();
