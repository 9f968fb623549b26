#include "mapping/calibration.h"

#include <algorithm>

namespace graphopt::mapping {
namespace {

// Up to and including `raw`, rising for each reason.
struct Step {
  std::string_view why;
  double raw, share;
};

constexpr Step kSteps[] = {
#include "mapping/calibration.inc"
};

constexpr double kMostUnsure = 0.6, kRounding = 5e-5;

}  // namespace

double calibrated(Why why, double raw) {
  if (why == Why::Given || why == Why::Values || why == Why::Literal) return raw;
  double out = raw;
  for (const Step& step : kSteps) {
    if (step.why != word(why)) continue;
    out = step.share;
    if (raw <= step.raw + kRounding) break;
  }
  return why == Why::Ambiguous ? std::min(raw, kMostUnsure) : out;
}

}  // namespace graphopt::mapping
