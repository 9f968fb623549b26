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

// What floats of an output may differ by, relative to its largest magnitude.
struct Tolerance {
  std::optional<double> given;      // whatever the types are
  DType inside = DType::Undefined;  // the coarsest float type of the model's values, which rounded on the way
  double of(DType output) const {
    return given.value_or(std::max(default_tolerance(output), default_tolerance(inside)));
  }
};

Distance compare_values(const HostValue& original, const HostValue& optimized, Tolerance tolerance);
// Compares only type and shape. Returns a sentence that describes the difference, or "".
std::string compare_types(const HostValue& original, const HostValue& optimized);

}  // namespace graphopt
