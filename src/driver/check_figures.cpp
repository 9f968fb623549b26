// See check_figures.h.
#include "driver/check_figures.h"

#include <algorithm>

namespace graphopt {

CheckOptions check_options(const CheckStage::Options& options, const GivenInputs& given) {
  return {.seeds = std::max(1, options.seeds),
          .tolerance = options.tolerance,
          .ort = options.ort,
          .given = given};
}

CheckStage::Report check_figures(const CheckReport& check) {
  CheckStage::Report out;
  out.verdict = check.verdict;
  out.why = check.why;
  out.runtime = check.runtime;
  for (const CheckRun& run : check.runs) ++(run.skipped.empty() ? out.runs : out.skipped);
  for (const OutputDifference& d : check.worst)
    out.outputs.push_back({d.output, d.max_abs, d.max_rel, d.noise, d.unsteady, d.random, d.ok, d.problem});
  return out;
}

}  // namespace graphopt
