// Two models side by side: what `graphopt compare` tells.
#pragma once

#include <string>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/optimize.h"
#include "graphopt/report.h"
#include "graphopt/stages/check.h"
#include "graphopt/stages/load.h"

namespace graphopt {

struct CompareOptions {
  std::string first, second;  // files; one of them may be "-", stdin
  LoadStage::Options load;    // of both
  CheckStage::Options check;  // seeds 0: figures only
};

// `figures` is a report of which `input` and `before` are the first model, `output` and `after` the second,
// and `check` how their results differ, inputs being drawn for the first one.
struct Comparison {
  Report figures;
  std::vector<std::string> interface;  // inputs and outputs that one model has alone, a line for each kind
  std::string not_run;  // why no results were compared, when no ONNX Runtime was found and none was named
};

// A difference is no error here: `figures.check->verdict` tells it. ErrorKind::NotChecked when ONNX Runtime
// does not run the first model.
Result<Comparison> compare(const CompareOptions& options, Observer& observer);
// Returns the report of both models, `interface` and `not_run` among its fields.
std::string to_json(const Comparison& comparison);

}  // namespace graphopt
