// The bucket sizes that cost the least work for lengths that were observed.
//
// Problem: lengths x_1 < ... < x_n with counts c, x_n = the greatest size that must be covered. Choose k of
// them, x_n among them; a length runs at the work w of the least chosen size that holds it. Wanted is the
// least sum. (A size between two lengths is never better than the length below it, since w never falls.)
// Method: with cumulative counts C, cost(i, j) = w(x_j) * (C_j - C_i) is the work of the lengths i+1 .. j in
// one bucket of size x_j, and D_k(j) = min over i < j of D_{k-1}(i) + cost(i, j). For a < b < c < d
//   cost(a,c) + cost(b,d) - cost(a,d) - cost(b,c) = (w_c - w_d) * (C_b - C_a) <= 0,
// the quadrangle inequality (F. F. Yao, "Efficient dynamic programming using quadrangle inequalities", STOC
// 1980; such a cost is called Monge). So the greatest and the least i that attain the minimum never fall as j
// grows: the i of the middle j splits the candidates of the rest, which takes O(n log n) for each k, O(k n
// log n) in all. The same property makes D_k(n) convex in k (A. Aggarwal, B. Schieber and T. Tokuyama,
// "Finding a minimum-weight k-link path in graphs with the concave Monge property", 1994), so the search over
// k ends at the first bucket that saves too little. Sums are integers of 128 bits: exact, the same
// everywhere. It ends since k grows up to a bound.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "buckets/marks/marks.h"

namespace graphopt {

// The work of a run of this length, in any unit. It should never fall with the length and be 0 to 2^62; other
// values are taken as the nearest work with these properties.
using LengthWork = std::function<std::int64_t(std::int64_t)>;

struct BestListOptions {
  std::int64_t align = 1;       // sizes are multiples of it, except the greatest
  std::size_t most = 1;         // greatest number of sizes
  std::optional<double> share;  // a size more must save more than this share of the work without padding;
                                // none: it must save some
};

// Bounds the memory, which is a number of 4 bytes for each different length and bucket. With a share, no more
// buckets are tried than that.
inline constexpr std::size_t kMaxBestListCells = std::size_t{1} << 24;

// Returns the sizes, ascending, the last being `high`; the fewest that attain the optimum. `lengths` are
// ascending, each once, and 0 to `high`. An empty function is the linear work. ErrorKind::Usage when there
// are too many different lengths.
Result<std::vector<std::int64_t>> best_list(std::span<const LengthCount> lengths, std::int64_t high,
                                            const BestListOptions& options, const LengthWork& work = {});

// The work of all lengths without padding and with it, under a list that covers them.
struct ExpectedWork {
  double exact = 0, padded = 0;
  double waste() const { return exact > 0 ? padded / exact - 1 : 0; }  // 0.25: a quarter is added by padding
};
ExpectedWork expected_work(std::span<const LengthCount> lengths, std::span<const std::int64_t> list,
                           const LengthWork& work = {});

}  // namespace graphopt
