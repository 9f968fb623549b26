// Shapes of a draft: lists of symbolic dims, each list once, so that proven equality is equality of ids.
//
// A shape that is not known, or in which one dim is not, is none: "unknown" refuses a move. Dims are
// canonical when they are taken in; two shapes that are equal for a reason which the dim pool learns later
// stay two.
// Source: methods/rewrites.md, part b ("Shapes") and b1.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/dim.h"

namespace graphopt {

using ShapeId = Id<struct ShapeTag>;

class ShapeTable {
 public:
  explicit ShapeTable(DimPool& dims) : pool_(dims) {}

  ShapeId intern(std::span<const DimId> dims);  // none when a dim is none
  ShapeId intern(std::span<const std::int64_t> dims);
  std::span<const DimId> dims(ShapeId s) const;
  std::size_t rank(ShapeId s) const { return shapes_[s.index()].rank; }

  DimId product(ShapeId s);  // canonical; none on overflow
  DimId product(std::span<const DimId> dims);
  bool is_one(DimId d) const { return pool_.is_constant(d, 1); }
  std::optional<std::int64_t> number(DimId d) const { return pool_.value(d); }
  bool all_ones(ShapeId s) const;
  // All dims as numbers.
  std::optional<std::vector<std::int64_t>> numbers(ShapeId s) const;
  bool same_count(ShapeId a, ShapeId b);  // proven: equal numbers of elements
  // a / b when b divides a as a polynomial; b may be 0 in a run (then a is, too).
  DimId divide(DimId a, DimId b) { return pool_.exact_div(a, b, true); }
  DimPool& pool() { return pool_; }
  const DimPool& pool() const { return pool_; }

 private:
  struct Entry {
    std::uint32_t first, rank;
    DimId product;
    bool multiplied;
  };
  DimPool& pool_;
  std::vector<DimId> dims_;
  std::vector<Entry> shapes_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> index_;
};

// How the target of a new deformation is written (methods/rewrites.md b1, forms 1 to 5).
struct DeformForm {
  enum class Kind : std::uint8_t {
    None,       // no form says it: refuse
    Same,       // the shapes are equal: nothing to write
    Squeeze,    // numbers: axes
    Unsqueeze,  // numbers: axes
    Target,     // numbers: a Reshape's target, 0 copies, at most one -1
  };
  Kind kind = Kind::None;
  std::vector<std::int64_t> numbers;
};
// From a run-time value of shape `from`. Exact for all values of all symbols: -1 stands never beside the copy
// of a dim that may be 0, a dim of extent 0 is never written.
DeformForm deform_form(ShapeTable& shapes, ShapeId from, ShapeId to);

// The finest groups of equal product that two shapes of one element count can be cut into, from the left
// (methods/rewrites.md b1, rule 4). Ranges of indices into a and b. Empty when they cannot be matched.
struct DimGroup {
  std::uint32_t a_begin, a_end, b_begin, b_end;
};
std::vector<DimGroup> dim_groups(ShapeTable& shapes, std::span<const DimId> a, std::span<const DimId> b);

}  // namespace graphopt
