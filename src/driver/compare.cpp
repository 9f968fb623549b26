// compare(): figures of two models, and their results in ONNX Runtime.
#include "graphopt/compare.h"

#include <chrono>
#include <memory>
#include <new>
#include <utility>

#include "driver/check_figures.h"
#include "driver/figures.h"
#include "driver/original.h"
#include "driver/reading.h"
#include "infer/infer.h"
#include "runtime/check.h"

namespace graphopt {
namespace {

struct Side {
  std::unique_ptr<OriginalModel> file;
  ModelFigures figures;
};

Result<Side> read_side(const std::string& path, const CompareOptions& options, bool plan,
                       Observer& observer) {
  std::vector<Warning> warnings;
  Options of_file;
  of_file.input = path;
  of_file.load = options.load;
  Side out;
  auto opened = OriginalModel::open(of_file, warnings);
  if (!opened) return opened.errors();
  out.file = *std::move(opened);
  Result<Model> model = out.file->load(warnings);
  if (!model) return model.errors();
  out.figures = count_model(*model);
  out.figures.bytes = model->file_bytes;
  if (plan) {
    Inference inference(*model, {});
    inference.run();
    out.file->plan = plan_inputs(*model, inference);
  }
  for (const Warning& w : warnings) observer.log(LogLevel::Warning, warning_text(w));
  return out;
}

Result<Comparison> compare_files(const CompareOptions& options, Observer& observer) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const bool run = options.check.seeds > 0;
  Result<Side> first = read_side(options.first, options, run, observer);
  if (!first) return first.errors();
  Result<Side> second = read_side(options.second, options, false, observer);
  if (!second) return second.errors();
  Comparison out;
  out.figures.input = options.first;
  out.figures.output = options.second;
  out.figures.before = first->figures;
  out.figures.after = second->figures;
  if (run) {
    const CheckReport report = check_models(
        first->file->source(), second->file->source(), first->file->plan,
        {.seeds = options.check.seeds, .tolerance = options.check.tolerance, .ort = options.check.ort});
    const bool found = !report.runtime.empty();
    if (report.verdict != CheckReport::Verdict::NotRun) out.figures.check = check_figures(report);
    else if (!found && options.check.ort.empty()) out.not_run = report.why;
    else return *to_error(report, options.first);
  }
  out.figures.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return out;
}

}  // namespace

Result<Comparison> compare(const CompareOptions& options, Observer& observer) {
  try {
    return compare_files(options, observer);
  } catch (const std::bad_alloc&) {
    return out_of_memory(options.first);
  }
}

}  // namespace graphopt
