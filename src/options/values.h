// Parsers for the values of options. They return nothing for invalid text; the caller reports what was
// expected.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graphopt/options.h"

namespace graphopt {

// "-12"; no other characters before or after
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<std::uint64_t> parse_bytes(
    std::string_view text);                                    // "4096", "64K", "2M", "1.5G" (powers of 1024)
std::optional<double> parse_seconds(std::string_view text);    // "10", "0.5", "10s", "5m", "1h"; above 0
std::optional<double> parse_tolerance(std::string_view text);  // "1e-4"; finite, not negative

// "npu(=s0,enc); cpu(=s1)": a pattern behind '=' is a whole text, another one the beginning of texts. Blanks
// around names and patterns do not count, nor do single quotes around all. `wrong`: what is, and where.
struct ParsedLayers {
  std::vector<PartitionStage::LayerRule> rules;
  std::string wrong;
};
ParsedLayers parse_layers(std::string_view text);
// "NAME=1,3,224,224"; -1 keeps a dim; "NAME=" is a scalar. The name may hold '='.
std::optional<ShapeOption> parse_shape(std::string_view text);
// "SYMBOL=4" or "SYMBOL=1..64", 0 <= LOW <= HIGH.
std::optional<DimOption> parse_dim(std::string_view text);
// Returns the numbers of "SYMBOL=LOW..HIGH" where LOW is above HIGH, and empty texts for anything else.
std::pair<std::string, std::string> reversed_range(std::string_view text);

}  // namespace graphopt
