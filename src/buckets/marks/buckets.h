// Buckets: which combinations of sizes are built, and which of them a shape takes.
//
// Problem: symbols vary independently, so the buckets are a product of lists. It may be far too many; a
// filter of the user's ("batch*seq <= 4096") and constraints of the analysis ("h is even") remove some; and
// each shape that was promised a bucket must still find one. Method: the product is walked once. Shapes
// between neighbouring sizes of each list form a cell; they all find the same buckets, those that are no less
// in each symbol than the cell's greatest shape. A cell without any is a *hole* if one of its shapes is
// admitted: a shape in the ranges for which the filter holds (constraints admit all: a shape that the model
// refuses anyway belongs outside the range). Holes are searched by halving a cell until intervals decide. A
// shape takes the bucket with the least work that holds it. Fixed symbols match exactly: their cells are
// single sizes. Termination: at most kMaxProduct combinations and kMaxBoxes boxes are looked at.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "buckets/marks/bucket_lists.h"
#include "buckets/marks/marks.h"
#include "graphopt/error.h"
#include "ir/dim.h"

namespace graphopt {

inline constexpr std::size_t kMaxProduct = std::size_t{1} << 18;
inline constexpr std::size_t kMaxBoxes = std::size_t{1} << 17;

// An extent, in a pool whose input symbols have the names of the marks, must be a multiple of `divisor` (at
// least 1) in each bucket. One without any symbol of the marks does not concern buckets.
struct Divisibility {
  DimId extent;
  std::int64_t divisor = 1;
};

struct BucketSet {
  std::vector<BucketSymbol> symbols;  // with the sizes that some bucket has: the last may be below range.high
  std::vector<std::int64_t> sizes;    // of bucket 0 in the order of the symbols, of bucket 1, ...

  std::size_t size() const { return symbols.empty() ? 0 : sizes.size() / symbols.size(); }
  std::span<const std::int64_t> at(std::size_t bucket) const {
    return std::span(sizes).subspan(bucket * symbols.size(), symbols.size());
  }
};

// Returns the buckets in lexicographic order of their sizes. `symbols` come from bucket_symbols().
// ErrorKind::Usage: more buckets than the limit, none at all, a hole, a filter that cannot be read or
// decided.
Result<BucketSet> make_buckets(const BucketMarks& marks, std::vector<BucketSymbol> symbols,
                               const DimPool& dims, std::span<const Divisibility> constraints);

// The work of a bucket; the product of its sizes where none is given, cut at 2^63 - 1.
using BucketWork = std::function<std::int64_t(std::span<const std::int64_t> sizes)>;

// Returns the bucket for a shape: of those that hold it (equal in fixed symbols) the one with the least work,
// the first one of equals. None when none holds it. O(buckets).
std::optional<std::size_t> choose_bucket(const BucketSet& buckets, std::span<const std::int64_t> shape,
                                         const BucketWork& work = {});

// "batch=2, seq=16".
std::string shape_text(std::span<const BucketSymbol> symbols, std::span<const std::int64_t> sizes);

}  // namespace graphopt
