// What a batch prints and reports of its models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graphopt/batch.h"

namespace graphopt::tool {

enum class BatchState : std::uint8_t { NotDone, Optimized, UpToDate, Copied, Failed };

// What became of a model.
struct BatchOutcome {
  BatchState state = BatchState::NotDone;
  BatchResult result;
  std::uint64_t estimated_memory = 0, peak_memory = 0;  // bytes; 0: not known
};

// The whole, for the last line of a report and for the table.
struct BatchTotals {
  int status = 0;
  double seconds = 0;
  std::size_t jobs = 1;
  std::vector<StaleOutput> stale;  // that are there
  std::size_t deleted = 0;
  bool interrupted = false;
};

// The most serious status of two: 70, 5, 4, 3, 6, 2, then others.
int worse_status(int a, int b);

std::string_view state_text(BatchState state);  // "optimized", "up to date", ...
// A line of the terminal; `width` is that of the column of names.
std::string model_line(const BatchModel& model, const BatchOutcome& outcome, std::size_t width);
std::string plan_line(const BatchModel& model, std::size_t width);
std::string batch_table(const std::vector<BatchModel>& models, const std::vector<BatchOutcome>& outcomes,
                        const BatchTotals& totals);

// Lines of JSON, with their ends.
std::string model_json(const BatchModel& model, const BatchOutcome& outcome);
std::string plan_json(const BatchModel& model);
std::string batch_json(const std::vector<BatchOutcome>& outcomes, const BatchTotals& totals);

// What goes between a worker and the process that leads. A request names the model by its place; one with an
// error is about a model whose process ended, which is given up.
struct BatchRequest {
  std::size_t model = 0;
  std::optional<Error> error;
  std::int64_t process = 0;
};
struct BatchAnswer {
  BatchResult result;
  std::uint64_t peak_memory = 0;
};
std::string to_text(const BatchRequest& request);
BatchRequest read_request(const std::string& text);
std::string to_text(const BatchAnswer& answer);
BatchAnswer read_answer(const std::string& text);

}  // namespace graphopt::tool
