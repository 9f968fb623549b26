// Which bucket a shape takes, as a table.
//
// Problem: choose_bucket() looks at each bucket; a graph has no loop for that, and a chain of comparisons is
// as long. Method: shapes between neighbouring sizes of each list form a cell and all take the same bucket,
// so a shape needs its cell and a table needs the bucket of each. The position in a list is the number of
// sizes that are less, counted by one comparison with the lists of all symbols, one after the other.
//
//   batch=1,4 seq=16,32    3, 20: one size of batch is less, one of seq: cell 1*2 + 1*1, bucket 3
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "buckets/marks/buckets.h"

namespace graphopt {

struct BucketCells {
  // The sizes of all lists, with the symbol of each and how many cells a step over it is.
  std::vector<std::int64_t> sizes, symbols, strides;
  std::vector<std::int64_t> buckets;  // by cell; -1: no bucket holds its shapes
  bool is_plain = false;              // each cell is the bucket of its number

  // The shape must not exceed the last size of any list, and have one of the list for fixed symbols.
  std::int64_t bucket_of(std::span<const std::int64_t> shape) const;
};

// Linear in cells times buckets, or in the cells where nothing was left out.
BucketCells cells_of(const BucketSet& set);

}  // namespace graphopt
