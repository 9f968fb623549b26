// Deformations: Reshape, Squeeze, Unsqueeze and Flatten keep the elements and their row-major order, and give
// them other dims. How one is written that holds for all values of all symbols.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "ir/dim.h"
#include "ir/op_kind.h"
#include "ir/types.h"

namespace graphopt {

inline constexpr OpKind kDeformations[] = {OpKind::Reshape, OpKind::Squeeze, OpKind::Unsqueeze,
                                           OpKind::Flatten};
constexpr bool is_deformation(OpKind kind) {
  return std::ranges::find(kDeformations, kind) != std::end(kDeformations);
}

// The target of a Reshape in numbers: a number where the dim is one, 0 (copy) where it equals the operand's
// dim at the same position, -1 for at most one other.
struct ReshapeTarget {
  std::vector<std::int64_t> numbers;
  std::optional<std::size_t> open;   // the position of -1
  bool copies_may_be_empty = false;  // a copied dim may be 0
  // -1 is the number of elements divided by the product of the other dims: undefined when a copied dim is 0.
  bool defined() const { return !open || !copies_may_be_empty; }
};

// `same(a, b)` returns true if two dims are proven equal. Returns nothing for a number below 1 (a 0 would
// copy), and when two dims would need the -1.
template <class Same>
std::optional<ReshapeTarget> reshape_target(const DimPool& dims, std::span<const DimId> from,
                                            std::span<const DimId> to, Same same) {
  ReshapeTarget out;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (const auto number = dims.value(to[i])) {
      if (*number < 1) return std::nullopt;
      out.numbers.push_back(*number);
    } else if (i < from.size() && same(from[i], to[i])) {
      out.numbers.push_back(0);
      out.copies_may_be_empty |= dims.range(to[i]).low < 1;
    } else {
      if (out.open) return std::nullopt;
      out.open = i;
      out.numbers.push_back(-1);
    }
  }
  return out;
}

// How the target of a new deformation is written (docs/hoisting.md, "New deformations").
struct DeformForm {
  enum class Kind : std::uint8_t {
    None,       // no form holds for all values of all symbols: the rewrite is refused
    Same,       // the shapes are equal: no deformation is needed
    Squeeze,    // numbers: axes
    Unsqueeze,  // numbers: axes
    Target,     // numbers: a Reshape's target, 0 copies, at most one -1
  };
  Kind kind = Kind::None;
  std::vector<std::int64_t> numbers;
};

// Sets `axes` to the unit dims of `longer` that have to be removed to get `shorter`, which is another shape;
// returns false if there is no such set.
template <class Same>
bool unit_axes(const DimPool& dims, std::span<const DimId> shorter, std::span<const DimId> longer, Same same,
               std::vector<std::int64_t>& axes) {
  axes.clear();
  std::size_t j = 0;
  for (std::size_t k = 0; k < longer.size(); ++k) {
    if (j < shorter.size() && same(shorter[j], longer[k])) ++j;
    else if (dims.is_constant(longer[k], 1)) axes.push_back(static_cast<std::int64_t>(k));
    else return false;
  }
  return j == shorter.size();
}

// Returns the form for a run-time value with dims `from`, all of them known. It is exact for all values of
// all symbols: a target never holds both -1 and the copy of a dim that may be 0, and never a dim of extent 0.
// Precondition: both have equally many elements in every run.
template <class Same>
DeformForm deform_form(const DimPool& dims, std::span<const DimId> from, std::span<const DimId> to,
                       Same same) {
  DeformForm form;
  if (std::ranges::equal(from, to, same)) {
    form.kind = DeformForm::Kind::Same;
    return form;
  }
  for (const DimId d : to)
    if (dims.is_constant(d, 0)) return form;  // Squeeze and Unsqueeze could, but nothing is gained
  if (unit_axes(dims, from, to, same, form.numbers)) {
    form.kind = DeformForm::Kind::Unsqueeze;
    return form;
  }
  if (unit_axes(dims, to, from, same, form.numbers)) {
    form.kind = DeformForm::Kind::Squeeze;
    return form;
  }
  auto numbers = reshape_target(dims, from, to, same);
  form.numbers.clear();
  if (!numbers || !numbers->defined()) return form;
  form.numbers = std::move(numbers->numbers);
  form.kind = DeformForm::Kind::Target;
  return form;
}

// Returns whether ONNX Runtime has Reshape, Squeeze, Unsqueeze, Transpose, Concat and Split for the element
// type in this opset. Strings are left where they are.
bool moves_type(std::int64_t opset, DType type);

}  // namespace graphopt
