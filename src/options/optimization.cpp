// Options about what a run does to the graph.
#include "graphopt/option_rows.h"
#include "options/groups.h"
#include "options/lists_of_names.h"
#include "options/values.h"

namespace graphopt {
namespace {

std::optional<OptionValue> list_value(const std::vector<std::string>& names) {
  if (names.empty()) return std::nullopt;
  return OptionValue(names);
}

// Names of passes in the order in which they are given.
template <class At> OptionRow<Options> pass_row(OptionInfo info, At at, bool explained = false) {
  const std::string_view name = info.name;
  info.form = OptionForm::Passes;
  info.repeats = true;
  return {std::move(info),
          [name, at, explained](Options& o, std::string_view text) {
            return add_pass_names(name, text, explained, at(o));
          },
          [at](const Options& o) { return list_value(at(o)); }};
}

template <class At> OptionRow<Options> value_row(OptionInfo info, At at) {
  const std::string_view name = info.name;
  info.form = OptionForm::Names;
  info.repeats = true;
  return {std::move(info),
          [name, at](Options& o, std::string_view text) { return add_value_names(name, text, at(o)); },
          [at](const Options& o) { return list_value(at(o)); }};
}

static_assert(kDefaultFoldLimit == 64 * 1024, "the help of --fold-limit states it");

}  // namespace

void add_optimization_rows(Rows& rows) {
  constexpr std::string_view kGroup = kOptimizationGroup;
  rows.push_back(choice_row<Options, int>(
      {.name = "-O",
       .group = kGroup,
       .value = "0|1|2|3",
       .help = "0 no passes, 1 bit-exact, 2 (default) may round, 3 rounds more",
       .changes_result = true,
       .stage = "clean-up"},
      {{"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}}, [](auto& o) -> auto& { return o.clean_up.level; }));
  rows.back().get = [](const Options& o) -> std::optional<OptionValue> {
    return OptionValue(std::int64_t{o.clean_up.level});
  };
  rows.push_back(flag_row<Options>({.name = "--exact",
                                    .group = kGroup,
                                    .help = "only bit-exact rewrites, at every -O level",
                                    .changes_result = true,
                                    .stage = "clean-up"},
                                   [](auto& o) -> auto& { return o.clean_up.exact; }));
  rows.push_back(pass_row({.name = "--passes",
                           .group = kGroup,
                           .value = "NAME,...",
                           .help = "run only these passes, in this order, until nothing changes",
                           .changes_result = true,
                           .stage = "clean-up"},
                          [](auto& o) -> auto& { return o.clean_up.passes; }));
  rows.push_back(pass_row({.name = "--disable-pass",
                           .group = kGroup,
                           .value = "NAME,...",
                           .help = "do not run these passes",
                           .changes_result = true,
                           .stage = "clean-up"},
                          [](auto& o) -> auto& { return o.clean_up.disabled; }));
  rows.push_back(value_row({.name = "--inputs",
                            .group = kGroup,
                            .value = "NAME,...",
                            .help = "extract a submodel first: these values become its inputs",
                            .changes_result = true,
                            .stage = "load"},
                           [](auto& o) -> auto& { return o.load.inputs; }));
  rows.push_back(value_row({.name = "--outputs",
                            .group = kGroup,
                            .value = "NAME,...",
                            .help = "these values become its outputs, in this order",
                            .changes_result = true,
                            .stage = "load"},
                           [](auto& o) -> auto& { return o.load.outputs; }));
  rows.push_back(flag_row<Options>({.name = "--constant-defaults",
                                    .group = kGroup,
                                    .help = "turn inputs that have an initializer (a default) into constants",
                                    .changes_result = true,
                                    .stage = "load"},
                                   [](auto& o) -> auto& { return o.load.constant_defaults; }));
  // 3 is the oldest that can be read.
  rows.push_back(
      count_row<Options>({.name = "--ir-version",
                          .group = kGroup,
                          .value = "N",
                          .help = "raise the model's IR version to N, as in 10 for metadata of nodes",
                          .changes_result = true,
                          .stage = "load"},
                         {3, kNewestIrVersion, "is not an IR version that graphopt knows",
                          "give 3 to " + std::to_string(kNewestIrVersion) + ", as in --ir-version 10"},
                         [](auto& o) -> auto& { return o.load.ir_version; }));
  rows.push_back(choice_row<Options, Stage>(
      {.name = "--stop-after",
       .group = kGroup,
       .value = "STAGE",
       .help = "stop after load, infer or clean-up (all passes), and save the model",
       .changes_result = true},
      {{"load", Stage::Load}, {"infer", Stage::Infer}, {"clean-up", Stage::CleanUp}},
      [](auto& o) -> auto& { return o.stop_after; }));
  rows.push_back(choice_row<Options, RegionForm>(
      {.name = "--regions",
       .group = kGroup,
       .value = "FORM",
       .help = "write regions into the model: none (default), metadata, functions",
       .changes_result = true,
       .stage = "regions"},
      [](auto& o) -> auto& { return o.regions.form; }));
  rows.push_back(bytes_row<Options>({.name = "--fold-limit",
                                     .group = kGroup,
                                     .value = "BYTES",
                                     .help = "most bytes that one folded constant may add (default 64K)",
                                     .changes_result = true,
                                     .stage = "clean-up"},
                                    [](auto& o) -> auto& { return o.clean_up.fold_limit; }));
  rows.push_back(choice_row<Options, FoldWith>(
      {.name = "--fold",
       .group = kGroup,
       .value = "WITH",
       .help = "native (default); ort: also by ONNX Runtime's kernels (may round)",
       .changes_result = true,
       .stage = "clean-up"},
      {{"native", FoldWith::Native}, {"ort", FoldWith::Ort}},
      [](auto& o) -> auto& { return o.clean_up.fold; }));
}

void add_message_rows(Rows& rows) {
  constexpr std::string_view kGroup = kMessagesGroup;
  rows.push_back(pass_row(
      {.name = "--explain",
       .group = kGroup,
       .value = "NAME,...",
       .help = "why a pass, 'lower' or 'all' left nodes; NAME:NODE for one node",
       .stage = "clean-up"},
      [](auto& o) -> auto& { return o.clean_up.explain; }, true));
  rows.push_back(pass_row({.name = "--print-after",
                           .group = kGroup,
                           .value = "NAME,...",
                           .help = "print the model as text after these passes",
                           .stage = "clean-up"},
                          [](auto& o) -> auto& { return o.clean_up.print_after; }));
}

}  // namespace graphopt
