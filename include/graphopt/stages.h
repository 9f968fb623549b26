// The stages of a run, in their order, with the options and the report of each. What a stage offers is in the
// header of its name (graphopt/stages/); Options and Report have a member for each.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "graphopt/stages/buckets.h"
#include "graphopt/stages/check.h"
#include "graphopt/stages/clean_up.h"
#include "graphopt/stages/infer.h"
#include "graphopt/stages/load.h"
#include "graphopt/stages/lower.h"
#include "graphopt/stages/partition.h"
#include "graphopt/stages/regions.h"
#include "graphopt/stages/save.h"
#include "graphopt/stages/specialize.h"
#include "graphopt/stages/strip.h"

namespace graphopt {

enum class Stage : std::uint8_t {
  Load,
  Infer,
  Buckets,
  CleanUp,
  Lower,
  Strip,
  Specialize,
  Regions,
  Partition,
  Check,
  Save
};

// Returns "load", "infer", "buckets", "clean-up", "lower", "strip", "specialize", "regions", "partition",
// "check", "save": the names in reports and on the terminal.
std::string_view stage_name(Stage stage);

// Returns true for a stage that writes files which outlive the run. From its begin on a run is not
// interrupted: neither by --timeout nor by Observer::stop_requested().
bool writes_files(Stage stage);

struct StageOptions {
  LoadStage::Options load;
  InferStage::Options infer;
  BucketsStage::Options buckets;
  CleanUpStage::Options clean_up;
  LowerStage::Options lower;
  StripStage::Options strip;
  RegionsStage::Options regions;
  PartitionStage::Options partition;
  CheckStage::Options check;
  SaveStage::Options save;
};

// Nothing: the stage did not run.
struct StageReports {
  LoadStage::Report load;
  std::optional<InferStage::Report> infer;
  std::optional<BucketsStage::Report> buckets;
  CleanUpStage::Report clean_up;
  std::optional<LowerStage::Report> lower;
  std::optional<SpecializeStage::Report> specialize;
  std::optional<RegionsStage::Report> regions;
  std::optional<PartitionStage::Report> partition;
  std::optional<CheckStage::Report> check;
  SaveStage::Report save;
};

}  // namespace graphopt
