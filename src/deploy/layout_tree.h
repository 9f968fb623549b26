// How true elements lie in a padded axis, as a tree, and the text of it; extents as texts.
//
// Problem: a manifest states layouts as texts, "batch x (past ++ seq)", and who pads and cuts needs the tree.
// Method: LayoutPool (buckets/padding/layout.h) writes the text, and parse_layout() is its inverse. An
// extent stays a text of the grammar in ir/dim.h: a reader of a manifest has no pool of dims yet, and is told
// at once of a text that could not be evaluated. Both are read with stacks of their own, in linear time:
//
//   layout := part { ' x ' part } | part { ' ++ ' part }      part := extent | '(' layout ')'
//   extent := [sign] factor { ('+'|'-'|'*'|'/') [sign] factor }
//   factor := number | symbol | quoted symbol | '(' extent ')' | floor(..) | min(.., ..) | max(.., ..) |
//   mod(.., ..)
//
// No two factors of an extent stand side by side, and it has no '++'; so a text has one reading, also where a
// symbol is called x. A part between parentheses is a layout of two parts or more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "buckets/padding/layout.h"

namespace graphopt::deploy {

using Extent = std::string;                              // "past + seq"
inline constexpr std::string_view kUnknownExtent = "?";  // of one that nothing is known about

// Returns the symbols of an extent without the quotes, in the order of the text; none where it is no extent.
std::optional<std::vector<std::string>> symbols_of_extent(std::string_view text);
// The same of a comparison of two extents: "batch*seq <= 4096".
std::optional<std::vector<std::string>> symbols_of_comparison(std::string_view text);

// In each bucket the extent must be a multiple of `divisor`, at least 1: "(h + 1) mod 2 == 0".
struct Constraint {
  Extent extent;
  std::int64_t divisor = 1;

  std::string text() const;
};

// Returns none where the text is no constraint.
std::optional<Constraint> parse_constraint(std::string_view text);

struct LayoutTree {
  enum class Kind : std::uint8_t {
    Extent,    // the true elements are the first ones
    Product,   // merged axes, in row-major order
    Segments,  // joined axes, one after the other
  };
  Kind kind = Kind::Extent;
  Extent extent;                  // of Extent
  std::vector<LayoutTree> parts;  // of the others, two or more

  // Returns the text that LayoutPool gives. At most kMaxLayoutDepth layouts are inside each other.
  std::string text() const;
  // Appends the symbols of all extents. Precondition: the extents can be read.
  void add_symbols(std::vector<std::string>& to) const;

  friend bool operator==(const LayoutTree&, const LayoutTree&) = default;
};

// Returns the layout of an axis; that of none is one that nothing is known about.
LayoutTree layout_tree(const LayoutPool& layouts, const DimPool& dims, LayoutId id);

// Returns none where the text is no layout, or is deeper than kMaxLayoutDepth.
std::optional<LayoutTree> parse_layout(std::string_view text);

}  // namespace graphopt::deploy
