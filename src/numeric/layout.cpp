#include "numeric/layout.h"

#include <algorithm>
#include <numeric>

namespace graphopt {

std::vector<std::size_t> channels_moved(std::size_t rank, bool to_last) {
  std::vector<std::size_t> layout(rank);
  std::iota(layout.begin(), layout.end(), std::size_t{0});
  std::ranges::rotate(layout.begin() + 1, to_last ? layout.begin() + 2 : layout.end() - 1, layout.end());
  return layout;
}

std::vector<std::size_t> channel_layout(std::span<const std::int64_t> from,
                                        std::span<const std::int64_t> to) {
  const std::size_t rank = from.size();
  if (rank < 3 || rank != to.size() || std::ranges::equal(from, to)) return {};
  for (const bool to_last : {true, false}) {
    std::vector<std::size_t> layout = channels_moved(rank, to_last);
    bool fits = true;
    for (std::size_t i = 0; i < rank; ++i) fits &= from[layout[i]] == to[i];
    if (fits) return layout;
  }
  return {};
}

std::vector<std::size_t> permuted_places(std::span<const std::int64_t> dims,
                                         std::span<const std::size_t> layout) {
  const std::size_t rank = dims.size();
  std::vector<std::size_t> strides(rank, 1), at(rank, 0);
  for (std::size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * static_cast<std::size_t>(dims[i]);
  std::size_t count = 1;
  for (const std::int64_t d : dims) count *= static_cast<std::size_t>(d);
  std::vector<std::size_t> out(count);
  for (std::size_t& place : out) {
    place = 0;
    for (std::size_t i = 0; i < rank; ++i) place += at[i] * strides[layout[i]];
    for (std::size_t i = rank; i-- > 0;) {
      if (++at[i] < static_cast<std::size_t>(dims[layout[i]])) break;
      at[i] = 0;
    }
  }
  return out;
}

}  // namespace graphopt
