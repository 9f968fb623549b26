// Many models in one go: which there are, which of them are up to date, and the run of one (docs/batch.md).
//
// A front end calls, in this order: plan_batch; BatchFolder::open; compare_with_records, since another
// process may have done some of the models while open() waited; delete_stale where that is wanted;
// run_in_batch for each model that is not up to date, in any order, and in processes of its own if it likes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/optimize.h"
#include "graphopt/options.h"
#include "graphopt/report.h"

namespace graphopt {

// What becomes of the output when a run fails.
enum class OnError : std::uint8_t {
  Skip,  // nothing: what is there stays
  Copy,  // the input, as it is
  Stop,  // as Skip, and no other model is begun
};

// The models of which the hash of the name falls into one of several equal ranges.
struct Shard {
  std::uint32_t index = 1, count = 1;  // 1 <= index <= count
};

struct BatchOptions {
  std::vector<std::string> inputs;  // files, folders, "@LIST": a file with a path in each line; "@-": stdin
  std::string output;               // a folder
  // Patterns (batch/glob.h) of paths below the inputs. Of folders the files that `include` matches are taken
  // (empty: "*.onnx"); what `exclude` matches is left out, folders with all below them.
  std::vector<std::string> include, exclude;
  std::string rules;  // a JSON file: options for the models that a pattern matches
  Shard shard;
  bool by_content = false;  // the content of files decides what is up to date, never their times
  bool force_all = false;   // nothing is up to date
  bool reports = false;     // results hold the reports of the runs
  OnError on_error = OnError::Skip;
  Options options;  // of each run, but for input and output
};

struct BatchFigures {
  std::uint64_t nodes_before = 0, nodes_after = 0, bytes_before = 0, bytes_after = 0;
};

struct BatchModel {
  std::string name;  // of the output, below the folder: "bert/base/model.onnx"
  Options options;
  std::uint64_t bytes = 0;  // of the file of the model
  std::string why;          // it has to be done: "new"; empty: it is up to date
  // From the record, of a model that is up to date:
  int status = 0;              // of its run; not 0: the output is a copy of the input
  std::string error;           // of that run
  bool has_new_times = false;  // some file has another time or place, and the content of before
  BatchFigures figures;
};

// An output whose input is not there any more.
struct StaleOutput {
  std::string name, input;         // input: where it was
  std::vector<std::string> files;  // paths of all that the run wrote
};

struct BatchPlan {
  std::vector<BatchModel> models;  // of the shard, by name
  std::vector<StaleOutput> stale;  // likewise
  std::vector<std::string> warnings;
};

// Finds the models and puts their options together. Writes nothing. ErrorKind::Usage: what was asked for does
// not fit together (two inputs for one output, wrong options); ErrorKind::Input: a folder or list that cannot
// be read.
Result<BatchPlan> plan_batch(const BatchOptions& options);

// Says why each model has to be done, or takes what its record says; finds stale outputs.
void compare_with_records(const BatchOptions& options, BatchPlan& plan);

// The folder of the outputs, in which no other process works on models of the shard while this object, or a
// fork of this process, is there.
class BatchFolder {
 public:
  // Makes the folder if need be. Calls `waits` once if another process has it, and waits for its end; removes
  // what an interrupted one left. ErrorKind::Output.
  static Result<BatchFolder> open(const BatchOptions& options, const std::function<void()>& waits);
  BatchFolder(BatchFolder&& other) noexcept;
  BatchFolder& operator=(BatchFolder&&) = delete;
  ~BatchFolder();

  // Work begins, and is done: between them an interrupted process leaves something behind.
  Status begin_work();
  void end_work();

 private:
  BatchFolder() = default;
  int lock_ = -1;
  std::string folder_, mark_;
};

// Removes the files of a stale output, then its record. ErrorKind::Output.
Status delete_stale(const BatchOptions& options, const StaleOutput& stale);

struct BatchResult {
  int status = 0;       // of the run
  bool copied = false;  // after an error
  Errors errors;
  std::vector<std::string> warnings;
  BatchFigures figures;
  std::string report;  // JSON; empty without `reports`
  double seconds = 0;
};

// Optimizes one model, copies it if that is wanted after an error, and writes its record. `progress` follows
// the run.
BatchResult run_in_batch(const BatchOptions& options, const BatchModel& model, Observer& progress);
// For a model that is up to date and has_new_times: its record gets the new ones.
Status renew_record(const BatchOptions& options, const BatchModel& model);
// For a model whose process ended without an answer: removes what it left, and copies the input if that is
// wanted. `process`: its id.
BatchResult give_up_in_batch(const BatchOptions& options, const BatchModel& model, const Error& error,
                             std::int64_t process);

// Returns the result of a model with errors; `report`: of its run, as far as there was one.
BatchResult failed_in_batch(const BatchOptions& options, const BatchModel& model, Errors errors,
                            Report report = {});

// Returns an estimate, in bytes, of the memory that the run of a model needs at most. Opens the model where
// the folder of its file has other files, which may be its weights.
std::uint64_t estimated_memory(const BatchModel& model);

}  // namespace graphopt
