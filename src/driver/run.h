// One run of optimize(): what its stages share. The list of stages is in stages/list.cpp.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "devices/profile.h"
#include "graphopt/optimize.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "lower/lower.h"
#include "lower/narrow.h"
#include "passes/pipeline.h"
#include "placement/assignment.h"
#include "regions/region_list.h"

namespace graphopt {

struct OriginalModel;
struct Partitioned;
struct Specialized;

// A model and its inference, which listens to the model: they move and are destroyed together.
struct Work {
  std::int64_t file_ir_version = 0;
  Model model;
  std::optional<Inference> inference;
  std::size_t file_names = 0;   // of the file: StringPool::size() when it had been read
  std::size_t file_values = 0;  // of the file; values with later ids were made by passes
  std::size_t file_nodes = 0;   // the same for nodes, including those of region functions that were inlined
  Assignments assigned;         // of nodes whose device the model names; empty when nobody asks
  std::span<const Profile> devices;  // of the run, which keeps them; empty when there are none
  std::uint64_t rewrite_budget = Journal::kNoLimit;  // less for a model of --bisect
  PipelineReport pipeline;                           // of clean-up, when it has run
  std::vector<LoweredNode> lowered;                  // with --explain
  std::vector<NarrowedSet> narrowed;                 // the same
  bool left_alone = false;    // no pass runs and --infer writes nothing: they would make known what must stay
                              // unknown (load_check.h)
  bool loads_folded = false;  // a runtime loads the file when it has computed what is constant, too
  bool states_less = false;   // --infer writes nothing, and bound numbers are written on inputs only, for the
                              // same reason
};

class Run {
  using Clock = std::chrono::steady_clock;

 public:
  Run(const Options& options, Observer& observer);
  ~Run();
  Status all();  // fills the report in as far as it comes

  const Options& options;
  Observer& observer;
  Report report;
  std::unique_ptr<Work> work;                // from load on
  std::unique_ptr<OriginalModel> original;   // from load on, when there is a check
  std::unique_ptr<Partitioned> partitioned;  // when there are devices or buckets
  std::unique_ptr<Specialized> specialized;  // when there are buckets

  void warn(std::string text);
  void add_limit(SearchLimit limit, std::uint64_t times);
  bool out_of_time() const;
  Error stopped() const;  // the error of a run that is out of time

 private:
  const Clock::time_point start_;
  std::optional<Clock::time_point> deadline_;
};

}  // namespace graphopt
