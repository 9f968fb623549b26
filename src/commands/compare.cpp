// compare(): figures of two models, and their results in ONNX Runtime.
#include "graphopt/compare.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <utility>

#include "driver/check_figures.h"
#include "driver/json.h"
#include "driver/original.h"
#include "driver/reading.h"
#include "infer/infer.h"
#include "ir/figures.h"
#include "runtime/check.h"

namespace graphopt {
namespace {

struct Side {
  std::unique_ptr<OriginalModel> file;
  ModelFigures figures;
  std::vector<std::string> inputs, outputs;  // names
};

// Names of `mine` that `theirs` lacks, as "the inputs 'a', 'b' are only in FILE"; empty when there are none.
std::string only_in(const std::string& file, const char* what, const std::vector<std::string>& mine,
                    const std::vector<std::string>& theirs) {
  std::string names;
  std::size_t count = 0;
  for (const std::string& name : mine) {
    if (std::ranges::find(theirs, name) != theirs.end()) continue;
    names += (count++ == 0 ? "'" : ", '") + name + "'";
  }
  if (count == 0) return {};
  return std::string("the ") + what + (count == 1 ? " " : "s ") + names + (count == 1 ? " is" : " are") +
         " only in " + file;
}

Result<Side> read_side(const std::string& path, const CompareOptions& options, bool plan,
                       Observer& observer) {
  std::vector<Warning> warnings;
  Options of_file;
  of_file.input = path;
  of_file.load = options.load;
  if (plan) of_file.check.inputs = options.check.inputs;
  Side out;
  auto opened = OriginalModel::open(of_file, warnings);
  if (!opened) return opened.errors();
  out.file = *std::move(opened);
  Result<Model> model = out.file->load(warnings);
  if (!model) return model.errors();
  out.figures = count_model(*model);
  out.figures.bytes = model->file_bytes;
  const auto name = [&](ValueId v) { return std::string(model->text(model->value(v).name)); };
  for (const ValueId v : model->graph_inputs(model->main())) out.inputs.push_back(name(v));
  for (std::size_t i = 0; i < model->graph_output_count(model->main()); ++i)
    if (const ValueId v = model->graph_output(model->main(), i)) out.outputs.push_back(name(v));
  if (plan) {
    Inference inference(*model, {});
    inference.run();
    out.file->plan = plan_inputs(*model, inference);
    if (Status fit = fits(out.file->plan, out.file->given); !fit) return fit.errors();
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
  for (const std::string& line : {only_in(options.first, "input", first->inputs, second->inputs),
                                  only_in(options.second, "input", second->inputs, first->inputs),
                                  only_in(options.first, "output", first->outputs, second->outputs),
                                  only_in(options.second, "output", second->outputs, first->outputs)})
    if (!line.empty()) out.interface.push_back(line);
  if (run) {
    CheckOptions of_files = check_options(options.check, first->file->given);
    of_files.first = "the first model";
    of_files.second = "the second model";
    const CheckReport report =
        check_models(first->file->source(), second->file->source(), first->file->plan, of_files);
    const bool found = !report.runtime.empty();
    if (report.verdict != CheckVerdict::NotChecked) out.figures.check = check_figures(report);
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

std::string to_json(const Comparison& comparison) {
  Json out = report_json(comparison.figures);
  out["interface"] = comparison.interface;
  out["not_run"] = comparison.not_run;
  return json_text(out);
}

}  // namespace graphopt
