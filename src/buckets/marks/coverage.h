// Shapes that were promised a bucket and have none (buckets.h says what a hole is).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "buckets/marks/bucket_lists.h"
#include "buckets/marks/shape_filter.h"

namespace graphopt {

// The product of the lists, with the last symbol running fastest.
class BucketGrid {
 public:
  explicit BucketGrid(std::span<const BucketSymbol> symbols) : symbols_(symbols), index_(symbols.size(), 0) {}

  // The position of the grid, as a number of each list, and its sizes.
  std::span<const std::size_t> index() const { return index_; }
  void sizes(std::vector<std::int64_t>& out) const;
  bool next();  // false after the last one

 private:
  std::span<const BucketSymbol> symbols_;
  std::vector<std::size_t> index_;
};

struct Hole {
  std::vector<std::int64_t> shape;   // an admitted shape that no bucket holds
  std::vector<std::int64_t> bucket;  // the least combination of the lists that would hold it
  bool decided = true;               // false: the search gave up here; nothing is known of the shape
};

// `kept` says of each combination of the grid whether it is a bucket; `filter` may be null. Precondition: at
// least one symbol, no list is empty.
std::optional<Hole> find_hole(std::span<const BucketSymbol> symbols, const std::vector<bool>& kept,
                              ShapeFilter* filter, std::size_t max_boxes);

}  // namespace graphopt
