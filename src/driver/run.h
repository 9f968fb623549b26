// One run of optimize(): its phases share this state. See run.cpp.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graphopt/optimize.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "onnx/writer.h"
#include "passes/pipeline.h"
#include "regions/region_list.h"

namespace graphopt {

class Checker;
struct OriginalModel;

// A model and its inference, which listens to the model: they move and are destroyed together.
struct Work {
  std::int64_t file_ir_version = 0;
  Model model;
  std::optional<Inference> inference;
  std::size_t file_values = 0;  // of the file; values with later ids were made by passes
  std::size_t file_nodes = 0;   // the same for nodes, including those of region functions that were inlined
};

class Run {
 public:
  Run(const Options& options, Observer& observer);
  ~Run();
  Result<Report> all();

 private:
  using Clock = std::chrono::steady_clock;

  // The phases, in their order.
  Status load();
  Status infer();
  Status clean_up();
  Status regions();  // regions.cpp, like the three functions below about regions
  Status check();
  Status save();

  Status find_culprit(Checker& checker);  // run_check.cpp, like check()

  struct Phase {
    const char* name;
    Status (Run::*run)();
    bool wanted;
  };
  Status run_phase(const Phase& phase);
  bool wants_passes() const;
  bool wants_check() const { return options_.check_seeds > 0 || options_.bisect; }
  bool wants_inference() const;
  bool wants_regions() const;
  void drop_old_regions(Work& work) const;
  // Returns the functions' names, by region.
  std::vector<std::string> write_regions(Work& work, const RegionList& list) const;

  std::vector<TypeOverride> types_of(Work& work) const;  // to be written
  Status start_inference(Work& work);
  // A run with `moves` is the main one: it reports to the observer and to the log.
  Result<PipelineReport> run_passes(Work& work, std::uint64_t rewrite_budget, MoveLog* moves);
  void warn(std::string text);
  void report_claims();
  void report_passes(const PipelineReport& pipeline);
  void report_moves(const MoveLog& log);
  void report_limit(std::string_view name, std::uint64_t times);
  bool out_of_time() const;
  Error stopped() const;

  const Options& options_;
  Observer& observer_;
  const Clock::time_point start_;
  std::optional<Clock::time_point> deadline_;
  Report report_;
  std::unique_ptr<Work> work_;
  std::unique_ptr<OriginalModel> original_;  // when there is a check
};

}  // namespace graphopt
