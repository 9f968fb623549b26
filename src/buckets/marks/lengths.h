// Files of observed lengths, from which lists of buckets are made (method hist).
//
// Forms: a text with one length a line, or a length and how often it occurred; empty lines and what follows
// '#' do not count. Or JSON: [12, 7, 7], or {"12": 1, "7": 2}. A length that stands twice is added up.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "buckets/marks/marks.h"

namespace graphopt {

inline constexpr std::size_t kMaxLengthsBytes = std::size_t{64} << 20;
// The sum of all counts: products with a work of 62 bits then fit into 128.
inline constexpr std::int64_t kMaxLengthCount = std::int64_t{1} << 53;

// Returns the lengths, ascending, each once, without those that never occurred. Errors are of
// ErrorKind::Usage, with the line or the JSON path: no whole number, negative counts, lengths outside
// `range`, no length at all.
Result<std::vector<LengthCount>> read_lengths(std::string_view text, const std::string& file, IntRange range);
// The same of the file `path`; `from` says in messages who named it.
Result<std::vector<LengthCount>> load_lengths(const std::string& path, IntRange range,
                                              const std::string& from);

}  // namespace graphopt
