// The difference between two results, by the rules in runtime/check.h.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "runtime/host_value.h"

namespace graphopt {

struct Distance {
  double max_abs = 0;
  double max_rel = 0;
  bool within = true;   // the tolerance holds
  std::string problem;  // type, shape, positions of NaN and infinities, keys
};

// Returns 0 for types whose elements must be equal.
double default_tolerance(DType t);
// Returns a unit in the last place at 1; 0 for types that are no floats.
double unit_at_one(DType t);

// What floats of an output may differ by, relative to its largest magnitude.
struct Tolerance {
  std::optional<double> given;      // whatever the types are
  DType inside = DType::Undefined;  // the coarsest float type of the model's values, which rounded on the way
  bool at_one = false;              // the output rounds to a unit in the last place at 1, however small it is
  double of(DType output) const {
    return given.value_or(std::max(default_tolerance(output), default_tolerance(inside)));
  }
  // Returns the difference that counts as none, whatever the magnitude.
  double floor(DType output) const {
    return at_one && !given ? kUnitsAtOne * std::max(unit_at_one(output), unit_at_one(inside)) : 0;
  }
  static constexpr double kUnitsAtOne = 2;  // half a unit by each of two kernels, and as much before them
};

// Returns whether elements of the type are numbers that number_at() returns.
bool has_numbers(DType type);
// Returns element i as a double; integers of 64 bits are rounded. Precondition: has_numbers(t.dtype), and it
// is there.
double number_at(const HostValue& t, std::size_t i);

Distance compare_values(const HostValue& original, const HostValue& optimized, Tolerance tolerance);
// Compares only type and shape. Returns a sentence that describes the difference, or "".
std::string compare_types(const HostValue& original, const HostValue& optimized);

}  // namespace graphopt
