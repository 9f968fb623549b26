// Options about checks of the result, and of the tool itself.
#include "graphopt/option_rows.h"
#include "options/groups.h"
#include "options/values.h"

namespace graphopt {
namespace {

Status set_tolerance(Options& o, std::string_view text) {
  const Result<double> value = read_tolerance("--check-tolerance", text);
  if (!value) return value.errors();
  o.check.tolerance = *value;
  return Done{};
}

}  // namespace

void add_check_rows(Rows& rows) {
  constexpr std::string_view kGroup = kChecksGroup;
  // As many input sets as a person waits for.
  rows.push_back(
      count_row<Options>({.name = "--check",
                          .group = kGroup,
                          .value = "SEEDS",
                          .help = "run before and after in ONNX Runtime and compare (default: 1 seed)",
                          .bare = "1",
                          .stage = "check"},
                         {1, 1000, "is not a number of seeds", "give 1 to 1000, as in --check=3"},
                         [](auto& o) -> auto& { return o.check.seeds; }));
  rows.push_back({{.name = "--check-tolerance",
                   .group = kGroup,
                   .value = "REL",
                   .help = "allowed difference relative to an output's maximum (float32: 1e-4)",
                   .form = OptionForm::Number,
                   .stage = "check"},
                  set_tolerance,
                  [](const Options& o) -> std::optional<OptionValue> {
                    if (!o.check.tolerance) return std::nullopt;
                    return OptionValue(*o.check.tolerance);
                  }});
  rows.push_back({{.name = "--check-input",
                   .group = kGroup,
                   .value = "NAME=FILE",
                   .help = "use your own array for an input: .npy, .pb, or .npz of several",
                   .form = OptionForm::Pairs,
                   .repeats = true,
                   .stage = "check"},
                  [](Options& o, std::string_view text) -> Status {
                    o.check.inputs.emplace_back(text);
                    return Done{};
                  },
                  [](const Options& o) -> std::optional<OptionValue> {
                    if (o.check.inputs.empty()) return std::nullopt;
                    return OptionValue(o.check.inputs);
                  }});
  rows.push_back(
      flag_row<Options>({.name = "--bisect",
                         .group = kGroup,
                         .help = "check; if results differ, name the pass and the rewrite that did it",
                         .stage = "check"},
                        [](auto& o) -> auto& { return o.check.bisect; }));
  rows.push_back(
      flag_row<Options>({.name = "--verify-each",
                         .group = kGroup,
                         .help = "check graphopt's internal data after every pass (for its debugging)",
                         .stage = "clean-up"},
                        [](auto& o) -> auto& { return o.clean_up.verify_each; }));
  rows.push_back(text_row<Options>({.name = "--keep-bad",
                                    .group = kGroup,
                                    .value = "FILE",
                                    .help = "if the check fails, write the optimized model to FILE",
                                    .form = OptionForm::File,
                                    .stage = "check",
                                    .writes = true},
                                   [](auto& o) -> auto& { return o.check.keep_bad; }));
  rows.push_back(
      text_row<Options>({.name = "--ort",
                         .group = kGroup,
                         .value = "PATH",
                         .help = "ONNX Runtime's library or Python package (default: searched for)",
                         .form = OptionForm::File,
                         .stage = "check"},
                        [](auto& o) -> auto& { return o.check.ort; }));
}

}  // namespace graphopt
