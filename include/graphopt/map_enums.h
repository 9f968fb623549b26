// How graphs are mapped, and what the groups of their operators are (docs/mapping.md).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "graphopt/words.h"

namespace graphopt {

enum class MapMethod : std::uint8_t {
  Sparse,   // near-linear: evidence of all kinds, and groups
  Literal,  // pairs by footprint matrices (src/mapping/literal.h), for comparison
};
template <> struct Words<MapMethod> {
  static constexpr std::string_view plural = "methods";
  static constexpr std::array<std::string_view, 2> all = {"sparse", "literal"};
};

enum class MapGroupKind : std::uint8_t {
  Fused,       // several operators of A are one of B
  Decomposed,  // one operator of A is several of B
  Rewritten,   // several are several, or one is one of another kind
  OnlyInA,
  OnlyInB,
};
template <> struct Words<MapGroupKind> {
  static constexpr std::string_view plural = "kinds of groups";
  static constexpr std::array<std::string_view, 5> all = {"fused", "decomposed", "rewritten", "only_in_a",
                                                          "only_in_b"};
};

}  // namespace graphopt
