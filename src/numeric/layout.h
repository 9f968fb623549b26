// Permutations of dims: which there may be, and what they do to elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace graphopt {

// Returns 0, 2, 3, ..., 1, which moves channels to the end, or 0, last, 1, 2, ..., which moves them back.
// Precondition: rank is 3 at least.
std::vector<std::size_t> channels_moved(std::size_t rank, bool to_last);

// Returns the permutation that turns channels first into channels last, or back, where it turns `from` into
// `to`: to[i] is from[layout[i]]. Empty where none does, and where the dims are equal. Open dims are -1.
std::vector<std::size_t> channel_layout(std::span<const std::int64_t> from, std::span<const std::int64_t> to);

// Returns for each element of the permuted tensor its place in the one with these dims. Precondition: layout
// is a permutation of as many numbers as there are dims.
std::vector<std::size_t> permuted_places(std::span<const std::int64_t> dims,
                                         std::span<const std::size_t> layout);

}  // namespace graphopt
