// graphopt compare A B
#include "graphopt/compare.h"

#include <fmt/format.h>

#include "graphopt/option_rows.h"
#include "handlers.h"
#include "output_paths.h"
#include "verbs.h"

namespace graphopt::tool {
namespace {

class Compare final : public Verb {
 public:
  void declare(OptionSet& set) override {
    run_.check.seeds = 1;
    set.take(run_,
             {"--check", "--check-tolerance", "--check-input", "--ort", "--dim-names", "--external-root"});
    set.describe("--check", "run both in ONNX Runtime, with so many input sets for each choice of sizes (1)");
    set.add(flag_row<bool>({.name = "--figures-only",
                            .group = "Checks and limits",
                            .help = "compare figures only; do not run the models"},
                           [](auto& only) -> auto& { return only; }),
            figures_only_);
    take_tool_options(set, tool, {"--max-memory", "--timeout", "--json", "--report", "--quiet", "--verbose"});
    set.describe("--verbose", "show all kinds of operators");
    set.word("A", options_.first);
    set.word("B", options_.second);
  }

  Status check() override {
    if (options_.first.empty() || options_.second.empty())
      return usage_error("compare: two models are wanted", "graphopt compare A B");
    if (options_.first == "-" && options_.second == "-")
      return usage_error("compare: both models are stdin", "give one of them as a file");
    options_.check = run_.check;
    options_.load = run_.load;
    if (figures_only_) options_.check.seeds = 0;
    run_.input = options_.first;
    return check_output_paths(run_, tool);
  }

  const std::string& input() const override { return options_.first; }

  int run(Console& console, bool) override {
    const Result<Comparison> found =
        attended(*this, "compare", console, [&] { return compare(options_, console); });
    if (!found) return fail(found.errors(), console);
    const bool differ = found->figures.check && found->figures.check->verdict == CheckVerdict::Different;
    const int status =
        tell_result(tool, [&] { return to_json(*found); }, [&] { return text_of(*found, differ); }, console);
    if (status != 0) return status;
    // The second model does not load: the table has no line of it.
    if (differ && found->figures.check->outputs.empty())
      return fail({{ErrorKind::CheckFailed, in_file(options_.second), found->figures.check->why,
                    "the models can be compared only where both run"}},
                  console);
    return differ ? static_cast<int>(ErrorKind::CheckFailed) : 0;
  }

 private:
  std::string text_of(const Comparison& found, bool differ) const {
    const Report& figures = found.figures;
    std::string out = before_after_table(figures, tool.verbose > 0);
    for (const std::string& line : found.interface) out += "graphopt: " + visible(line) + '\n';
    if (figures.check) out += check_table(*figures.check);
    if (differ && !figures.check->outputs.empty())
      out += fmt::format("graphopt: {}\n", visible(figures.check->why));
    if (!found.not_run.empty()) out += fmt::format("graphopt: results are not compared: {}\n", found.not_run);
    return out;
  }

  Options run_;  // what it shares with a run
  CompareOptions options_;
  bool figures_only_ = false;
};

std::string compare_ending() {
  return "\nExamples:\n"
         "  graphopt compare model.onnx small.onnx\n"
         "  graphopt compare model.onnx small.onnx --check-tolerance 0 --check=5\n\n"
         "Exit status: 0 the results agree, or were not compared; 3 they differ; 6 ONNX Runtime cannot run "
         "A.\n";
}

}  // namespace

extern constinit const VerbEntry compare_verb = {
    .name = "compare",
    .words = "A B",
    .summary = "figures of two models, and whether their results agree",
    .about =
        "Compares the figures of two models and, if ONNX Runtime is found, their results on inputs of A.\n",
    .ending = compare_ending,
    .make = []() -> std::unique_ptr<Verb> { return std::make_unique<Compare>(); }};

}  // namespace graphopt::tool
