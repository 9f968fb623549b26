// The results of a run. Plain data; to_json gives the text that --report writes (docs/report.md lists its
// fields).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/search_limit.h"
#include "graphopt/stages.h"

namespace graphopt {

// One counting rule for all figures: the nodes of the main graph and of every subgraph; a call of a
// model-local function counts as the nodes of its body, once per call, and the call itself does not count.
// Constant nodes hold data and are counted separately.
struct ModelFigures {
  std::uint64_t nodes = 0;
  std::uint64_t constants = 0;
  std::uint64_t initializers = 0;                  // of the main graph
  std::uint64_t subgraphs = 0;                     // each function that is called counts once
  std::uint64_t calls = 0;                         // of functions, each function's body counted once
  std::uint64_t bytes = 0;                         // the file plus external data; 0 when nothing was written
  std::map<std::string, std::uint64_t> operators;  // "Conv", "com.microsoft::Attention"; without Constant
};

// What each stage found is in a member of its name: `report.check->verdict`.
struct Report : StageReports {
  std::string version;        // of graphopt
  std::string input, output;  // as given by the user; no output: a dry run
  ModelFigures before, after;

  struct StageTime {
    Stage stage = Stage::Load;
    double seconds = 0;
  };
  std::vector<StageTime> stages;  // those that ran, in their order
  double seconds = 0;             // from the call to the return

  // Limits of the search, and of the list of regions, that refused something or cut it short; those that were
  // never met are not among them.
  struct Limit {
    SearchLimit limit{};
    std::uint64_t times = 0;
  };
  std::vector<Limit> limits;

  std::vector<std::string> warnings;
  Errors errors;  // empty but in the report of a run that failed (Observer::failed)
};

std::string to_json(const Report& report);

}  // namespace graphopt
