// How far apart are two results? The rules stand in runtime/check.h.
#pragma once

#include <optional>
#include <string>

#include "runtime/host_value.h"

namespace graphopt {

struct Distance {
  double max_abs = 0;
  double max_rel = 0;
  bool within = true;   // by the tolerance
  std::string problem;  // type, shape, places of NaN and infinities, keys
};

// 0 for types whose elements must be equal.
double default_tolerance(DType t);

Distance compare_values(const HostValue& original, const HostValue& optimized,
                        std::optional<double> tolerance);
// Do type and shape agree, whatever the elements are? The sentence that says why not, or "".
std::string compare_types(const HostValue& original, const HostValue& optimized);

}  // namespace graphopt
