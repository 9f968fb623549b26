// A comparison over sizes: "batch*seq <= 4096".
//
// Problem: a filter says which sizes occur together. It is asked of single buckets, and of boxes of shapes:
// does it hold somewhere in this box? Method: both sides are expressions of ir/dim.h in a pool of the
// filter's own, so that asking about a box, which narrows the ranges of symbols, changes nothing elsewhere. A
// box is decided by intervals.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buckets/marks/bucket_lists.h"
#include "buckets/marks/marks.h"
#include "graphopt/error.h"
#include "ir/dim.h"

namespace graphopt {

// Returns the expression that `text` is over the input symbols of `pool` called `names`. An error, of kind
// Usage, names the first name in it that is not one of them, or says that the text is no expression; `from`
// says where it stands ("where"), `kind` what the names are: "symbols with buckets".
Result<DimId> parse_extent(DimPool& pool, std::string_view text, std::span<const std::string> names,
                           std::string_view kind, std::string_view from);

class ShapeFilter {
 public:
  // `symbols` are those that have buckets, in the order in which sizes are given below; symbols of `dims` are
  // replaced by their expressions, which are over symbols that have buckets.
  static Result<ShapeFilter> parse(std::string_view text, std::span<const BucketSymbol> symbols,
                                   std::span<const DimRelation> dims);

  const std::string& text() const { return text_; }  // as the user wrote it
  // The same in the grammar of src/ir/dim.h, over symbols that have buckets alone.
  std::string canonical() const;
  // Returns whether the comparison holds; none where a number leaves 64 bits or something is divided by 0.
  std::optional<bool> holds(std::span<const std::int64_t> sizes) const;
  // The two sides, over the symbols of a pool of the filter's own, in the order in which sizes are given.
  enum class Relation : std::uint8_t { Less, LessEqual, Greater, GreaterEqual, Equal };
  const DimPool& pool() const { return pool_; }
  std::span<const DimId> symbols() const { return symbols_; }
  DimId left() const { return left_; }
  DimId right() const { return right_; }
  Relation relation() const { return relation_; }
  // Yes where it holds for all sizes in the box, No where it holds for none.
  Tri holds_in(std::span<const IntRange> box);

 private:
  ShapeFilter() = default;

  std::string text_;
  DimPool pool_;
  std::vector<DimId> symbols_;
  DimId left_, right_;
  Relation relation_ = Relation::LessEqual;
};

}  // namespace graphopt
