#include "buckets/single/bucket_cells.h"

#include <optional>

#include "buckets/marks/coverage.h"

namespace graphopt {

BucketCells cells_of(const BucketSet& set) {
  BucketCells out;
  std::size_t count = 1;
  for (const BucketSymbol& s : set.symbols) count *= s.values.size();
  std::size_t stride = count;
  for (std::size_t i = 0; i < set.symbols.size(); ++i) {
    const std::vector<std::int64_t>& values = set.symbols[i].values;
    stride /= values.size();
    out.sizes.insert(out.sizes.end(), values.begin(), values.end());
    out.symbols.insert(out.symbols.end(), values.size(), static_cast<std::int64_t>(i));
    out.strides.insert(out.strides.end(), values.size(), static_cast<std::int64_t>(stride));
  }
  // Buckets are in the order of the grid, so that if none was left out they are the cells. Each is the first
  // one with the least product of those that hold it: it is no greater in any symbol.
  out.is_plain = count == set.size();
  out.buckets.reserve(count);
  BucketGrid grid(set.symbols);
  std::vector<std::int64_t> sizes;
  for (std::size_t cell = 0; cell < count; ++cell, grid.next()) {
    grid.sizes(sizes);
    const auto chosen = out.is_plain ? std::optional(cell) : choose_bucket(set, sizes);
    out.buckets.push_back(chosen ? static_cast<std::int64_t>(*chosen) : -1);
  }
  return out;
}

std::int64_t BucketCells::bucket_of(std::span<const std::int64_t> shape) const {
  std::int64_t cell = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] < shape[static_cast<std::size_t>(symbols[i])]) cell += strides[i];
  return buckets[static_cast<std::size_t>(cell)];
}

}  // namespace graphopt
