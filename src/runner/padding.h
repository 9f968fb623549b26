// Pads a tensor, and cuts one, by the pieces of true elements in its axes.
//
// Problem: the true elements of an axis need not be its first ones: merged and joined axes have padding in
// their middle. Method: each axis is a list of pieces (runner/extents.h). Axes behind the last one that is
// padded are copied as blocks; those before it are counted through. Elements of fewer than 8 bits get a byte
// each meanwhile. A tensor of which no axis is padded stays as it is: nothing is copied.
//
//   [2, 3] a b c / d e f in [3, 4], padded with 0   =>   a b c 0 / d e f 0 / 0 0 0 0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graphopt/error.h"
#include "ir/types.h"
#include "runner/extents.h"
#include "runtime/host_value.h"

namespace graphopt::runner {

struct PaddedAxis {
  std::int64_t extent = 0;    // true
  std::int64_t padded = 0;    // not less
  std::vector<Piece> pieces;  // with `extent` elements together
};

// Returns the number of elements; none where the value is no tensor, or its elements are not as many as its
// dims say.
std::optional<std::uint64_t> elements_of(const HostValue& value);

// Returns one element of that type, as in raw form; of a type below 8 bits a byte, in whose low bits it is.
// Floats are rounded to the nearest, ties to even. None where the type does not hold the number: fractions
// and great numbers of integers, infinities of types without them, what is no 0 of strings and complex
// numbers.
std::optional<std::string> element_of(DType type, double number);

// Returns the tensor with its axes padded. `element`: of element_of(). Errors, without a place: Usage where
// the value is not of the true extents, Limit where there is no memory for the result.
Result<HostValue> pad_tensor(HostValue value, const std::vector<PaddedAxis>& axes,
                             const std::string& element);

// Returns the true elements. Errors as above, for the padded extents.
Result<HostValue> cut_tensor(HostValue value, const std::vector<PaddedAxis>& axes);

}  // namespace graphopt::runner
