// What operators read and who reads them, when nodes that change nothing are looked through.
//
// Problem: an optimizer removes an Identity or a Reshape that another tool keeps, and folds an activation
// into the product before it; neighbours of such nodes are neighbours in one graph only. Method: transparent
// operators (Side) are looked through always, porous ones while they have no counterpart. Porous are those
// that keep the elements, and those with one computed operand whose family has vanished, or nearly, on one
// side. A value has at most kMostUses effective uses: of a wider one the first ones in canonical order count;
// and at most kMostSteps operators in a row are looked through, but for the source of a value behind
// transparent ones.
#pragma once

#include <array>
#include <vector>

#include "mapping/matching.h"

namespace graphopt::mapping {

inline constexpr std::size_t kMostUses = 64, kMostSteps = 6;

class View {
 public:
  // The matching outlives it, and says which operators have a counterpart.
  explicit View(const Matching& matching);

  bool is_porous(std::size_t s, Index op) const { return porous_[s][op]; }
  // The value that is read, through transparent operators; with `soft` through porous ones, too.
  Index source(std::size_t s, Index value, bool soft) const;
  // The operators that a value passes on its way from the first one that is not looked through, which is the
  // last of them; unmatched ones alone, and kMostSteps of them.
  std::vector<Index> producers(std::size_t s, Index value) const;
  // Uses of a value, also of those behind operators that are looked through.
  std::vector<Use> uses(std::size_t s, Index value) const;

 private:
  bool passes(std::size_t s, Index op, bool soft) const;
  Index data_input(std::size_t s, Index op) const;

  const Matching& m_;
  std::array<std::vector<bool>, 2> porous_;
  std::array<std::vector<Index>, 2> sources_;  // by side and value: what transparent operators hand on
};

}  // namespace graphopt::mapping
