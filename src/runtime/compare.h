// The difference between two results, by the rules in runtime/check.h.
#pragma once

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

Distance compare_values(const HostValue& original, const HostValue& optimized,
                        std::optional<double> tolerance);
// Compares only type and shape. Returns a sentence that describes the difference, or "".
std::string compare_types(const HostValue& original, const HostValue& optimized);

}  // namespace graphopt
