// "Did you mean ...?": the names that are nearest to one that does not exist.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace graphopt {

// Returns the number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`,
// ignoring ASCII case, in bytes. Stops counting above `limit` and returns limit + 1.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

// Returns the names that a user who typed `word` may have meant, nearest first, ties in the given order; at
// most `count`. Distant names are left out: the result may be empty.
std::vector<std::string> nearest(std::string_view word, std::span<const std::string_view> names,
                                 std::size_t count = 3);
std::vector<std::string> nearest(std::string_view word, std::span<const std::string> names,
                                 std::size_t count = 3);

// Returns "did you mean 'a', 'b' or 'c'?"; "" without names.
std::string did_you_mean(std::span<const std::string> names);

// Returns the remedy for an unknown name: "did you mean 'a' or 'b'?"; when none is near: "KIND: a, b, c" (or
// "there are no KIND"), cut after one line of names. `kind` is a plural: "passes", "inputs of the model".
std::string suggest(std::string_view word, std::span<const std::string_view> names, std::string_view kind);
std::string suggest(std::string_view word, std::span<const std::string> names, std::string_view kind);

}  // namespace graphopt
