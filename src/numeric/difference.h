// How far a value of one graph is from its counterpart in another, whatever their types and layouts.
//
// Problem: a counterpart may be float16 where the value is float32, have channels last, or other dims with
// the same elements. Method: elements are compared as doubles, in the order that fits best: as they are, or
// with channels first or last. The difference is relative to the largest magnitude, but
// magnitudes far above the others (-3e38 of a mask) are left out: each of those is compared by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/host_value.h"

namespace graphopt {

struct ValueDifference {
  bool is_comparable = true;  // both are tensors of numbers
  double max_abs = 0, max_rel = 0;
  double cosine = 1;                // of the two as vectors; 1 for zeros
  std::vector<std::size_t> layout;  // the permutation of dims that turns the first into the second; or none
  std::string problem;              // what is more than a number: other extents, NaN in other places
};

// Which layouts the second value may have.
enum class Layouts : std::uint8_t {
  None,
  OtherDims,  // channels first or last, where the dims say so
  Channels,   // the same, also where dims are equal and the elements say so
};

// Of the layouts that fit, one whose difference is within the tolerance is taken; else the one that dims say.
ValueDifference difference_of(const HostValue& a, const HostValue& b, double tolerance, Layouts layouts);

// What two tensors with the same elements in any order have in common, up to rounding.
struct Fingerprint {
  std::size_t elements = 0;
  std::vector<double> sorted;  // 33 of the sorted elements, at equal distances
};

// Returns a fingerprint without elements where it says nothing: one element, all equal, NaN or infinities.
Fingerprint fingerprint_of(const HostValue& v);
bool are_alike(const Fingerprint& a, const Fingerprint& b, double tolerance);

}  // namespace graphopt
