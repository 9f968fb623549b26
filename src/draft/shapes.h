// Shapes of a draft: lists of symbolic dims, each list once, so that proven equality is equality of ids
// (docs/hoisting.md, "Shapes").
//
// A shape that is unknown, or has an unknown dim, is none, and a move that needs it is refused. Dims are made
// canonical when a shape is interned; two shapes that the dim pool finds equal only later keep two ids.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/dim.h"
#include "ops/deformation.h"
#include "support/intern_index.h"

namespace graphopt {

using ShapeId = Id<struct ShapeTag>;

class ShapeTable {
 public:
  explicit ShapeTable(DimPool& dims) : pool_(dims) {}

  ShapeId intern(std::span<const DimId> dims);  // none if a dim is none
  ShapeId intern(std::span<const std::int64_t> dims);
  std::span<const DimId> dims(ShapeId s) const;
  std::size_t rank(ShapeId s) const { return shapes_[s.index()].rank; }

  DimId product(ShapeId s);  // canonical; none on overflow
  DimId product(std::span<const DimId> dims);
  bool is_one(DimId d) const { return pool_.is_constant(d, 1); }
  std::optional<std::int64_t> number(DimId d) const { return pool_.value(d); }
  bool all_ones(ShapeId s) const;
  // Returns all dims as numbers; nothing if one is not a number.
  std::optional<std::vector<std::int64_t>> numbers(ShapeId s) const;
  bool same_count(ShapeId a, ShapeId b);  // returns whether equal numbers of elements are proven
  // States that they are: a deformation of the graph makes one of the other, which no run accepts otherwise.
  void state_same_count(ShapeId a, ShapeId b);
  // Returns a / b if b divides a as a polynomial; b may be 0 in a run (then a is, too).
  DimId divide(DimId a, DimId b) { return pool_.exact_div(a, b, true); }
  DimPool& pool() { return pool_; }
  const DimPool& pool() const { return pool_; }

 private:
  struct Entry {
    std::uint32_t first, rank;
    DimId product;
    bool multiplied;
    std::uint32_t class_parent;  // of shapes whose counts were stated to be equal; its own index at the root
  };
  std::uint32_t class_of(ShapeId s);
  DimPool& pool_;
  std::vector<DimId> dims_;
  std::vector<Entry> shapes_;
  InternIndex index_;
};

// Returns the form for a run-time value of shape `from` (ops/deformation.h); None, too, if the shapes are not
// proven to have equally many elements.
DeformForm deform_form(ShapeTable& shapes, ShapeId from, ShapeId to);

// The finest groups of equal product that two shapes of one element count divide into, from the left
// (docs/hoisting.md, "Shapes"), as ranges of indices into a and b. Empty if the dims cannot be matched.
struct DimGroup {
  std::uint32_t a_begin, a_end, b_begin, b_end;
};
std::vector<DimGroup> dim_groups(ShapeTable& shapes, std::span<const DimId> a, std::span<const DimId> b);

// Returns groups of one dim each for the dims that both shapes, of one element count, end with, and one group
// for all dims before. Empty if one shape has none before. For products that show less than the count.
std::vector<DimGroup> common_end(const ShapeTable& shapes, std::span<const DimId> a,
                                 std::span<const DimId> b);

}  // namespace graphopt
