// regions: the regions of the main graph as the passes left it (docs/regions.md), written into the model as
// requested.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graphopt/words.h"

namespace graphopt {

// The form in which regions are written into the model.
enum class RegionForm : std::uint8_t {
  None,
  Metadata,   // an entry of each node's metadata_props
  Functions,  // model-local functions
};
template <> struct Words<RegionForm> {
  static constexpr std::string_view plural = "forms";
  static constexpr std::array<std::string_view, 3> all = {"none", "metadata", "functions"};
};

struct RegionsStage {
  struct Options {
    RegionForm form = RegionForm::None;
    bool draw = false;  // draw the optimized main graph into the report
  };

  struct Region {
    std::string id;
    std::vector<std::string> members;  // the names of all results of its nodes, in topological order
    std::string anchor, kind;          // its first result and its operator; empty: elementwise nodes alone
    std::string function;              // the model-local function that it became; empty when it did not
  };
  struct Report {
    RegionForm form = RegionForm::None;  // that the model got
    std::vector<Region> regions;
    std::uint64_t launches = 0;  // regions, plus nodes outside regions that compute data
    std::string drawing;         // Graphviz text; empty when not requested
  };
};

}  // namespace graphopt
