// Numbers in texts that people write: the whole text is the number, or it is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "buckets/marks/marks.h"

namespace graphopt {

// Returns the text without blanks at both ends.
std::string_view trimmed(std::string_view text);
bool is_digit(char c);
// Returns true for digits with an optional sign.
bool looks_whole(std::string_view text);

// Returns the number that `text` is, or what is wrong with it; `what` names it ("the step").
std::variant<std::int64_t, MarkProblem> read_whole(std::string_view text, std::string_view what);
// A decimal, "inf" or "-inf"; no NaN.
std::optional<MarkNumber> read_number(std::string_view text);
// Returns a ratio in units of 1 / kRatioOne, the nearest one; 0 where the number is none that fits.
std::int64_t ratio_of(double ratio);

}  // namespace graphopt
