// Options about devices: which there are, how the model is partitioned for them, and what is written then.
#include <algorithm>
#include <limits>

#include "graphopt/optimize.h"
#include "graphopt/option_rows.h"
#include "options/groups.h"
#include "options/lists_of_names.h"
#include "options/values.h"

namespace graphopt {
namespace {

Status set_assignment(Options& o, std::string_view text) {
  constexpr std::string_view kWithRules = "given=";
  ParsedLayers layers;
  if (text.starts_with(kWithRules)) layers = parse_layers(text.substr(kWithRules.size()));
  else if (text != "given") layers.wrong = " is not 'given' or 'given=RULES'";
  if (!layers.wrong.empty())
    return Error{ErrorKind::Usage,
                 {},
                 "--assignment: '" + std::string(text) + '\'' + layers.wrong,
                 "write given, or given='npu(=s0,=s2); cpu(=s1)', with values of layer_ann in brackets"};
  o.partition.given = true;
  o.partition.layers = std::move(layers.rules);
  return Done{};
}

std::optional<OptionValue> assignment(const Options& o) {
  if (!o.partition.given) return std::nullopt;
  std::string out = "given";
  for (const PartitionStage::LayerRule& r : o.partition.layers)
    out += (out.size() == 5 ? "=" : "; ") + r.device + '(' + (r.exact ? "=" : "") + r.text + ')';
  return OptionValue(std::move(out));
}

// Reads a whole number of a count or of nanoseconds.
template <class T>
Status set_number(T& to, std::string_view name, std::string_view text, T least, std::string_view remedy) {
  const auto value = parse_integer(text);
  if (!value || *value < static_cast<std::int64_t>(least) ||
      static_cast<std::uint64_t>(*value) > std::numeric_limits<T>::max())
    return wrong_value(name, text, "is not a whole number of at least " + std::to_string(least),
                       std::string(remedy));
  to = static_cast<T>(*value);
  return Done{};
}

// A form that is named twice counts once.
Status set_exports(Options& o, std::string_view text) {
  constexpr auto& kNames = Words<Export>::all;
  const std::vector<std::string_view> known(kNames.begin(), kNames.end());
  o.partition.exports.clear();
  for (const std::string_view name : items_of(text)) {
    const Result<std::size_t> place = read_choice("--emit", name, known);
    if (!place) return place.errors();
    const Export form = static_cast<Export>(*place);
    if (std::ranges::find(o.partition.exports, form) == o.partition.exports.end())
      o.partition.exports.push_back(form);
  }
  return Done{};
}

std::optional<OptionValue> exports(const Options& o) {
  std::vector<std::string> out;
  for (const Export form : o.partition.exports) out.emplace_back(word(form));
  if (out.empty()) return std::nullopt;
  return OptionValue(std::move(out));
}

}  // namespace

void add_device_rows(Rows& rows) {
  constexpr std::string_view kGroup = kDevicesGroup;
  rows.push_back(text_row<Options>({.name = "--devices",
                                    .group = kGroup,
                                    .value = "LIST",
                                    .help = "partition the model for these device profiles (names or files)",
                                    .form = OptionForm::Devices,
                                    .changes_result = true,
                                    .stage = "partition"},
                                   [](auto& o) -> auto& { return o.partition.devices; }));
  rows.back().set = [](Options& o, std::string_view text) -> Status {
    if (text.empty())
      return wrong_value("--devices", text, "names no device", "graphopt --list-devices lists them");
    o.partition.devices = text;
    return Done{};
  };
  rows.push_back(
      choice_row<Options, PartitionAlgorithm>({.name = "--partition-algorithm",
                                               .group = kGroup,
                                               .value = "NAME",
                                               .help = "grow (default), fewest, or depth for comparison",
                                               .changes_result = true,
                                               .stage = "partition"},
                                              [](auto& o) -> auto& { return o.partition.algorithm; }));
  rows.push_back(choice_row<Options, Lowering>(
      {.name = "--lower",
       .group = kGroup,
       .value = "WHEN",
       .help = "auto (default): lower what no device takes to what one does; never",
       .changes_result = true,
       .stage = "lower"},
      {{"auto", Lowering::Auto}, {"never", Lowering::Never}},
      [](auto& o) -> auto& { return o.lower.lower; }));
  rows.push_back({{.name = "--assignment",
                   .group = kGroup,
                   .value = "given[=RULES]",
                   .help = "run nodes where the model says; RULES: 'npu(=s0,enc); cpu(=s1)'",
                   .form = OptionForm::Text,
                   .choices = {"given"},
                   .changes_result = true,
                   .stage = "partition"},
                  set_assignment,
                  assignment});
  rows.push_back(flag_row<Options>({.name = "--connected",
                                    .group = kGroup,
                                    .help = "put only connected nodes into one subgraph of an accelerator",
                                    .changes_result = true,
                                    .stage = "partition"},
                                   [](auto& o) -> auto& { return o.partition.connected; }));
  rows.push_back({{.name = "--min-nodes",
                   .group = kGroup,
                   .value = "N",
                   .help = "least nodes of a subgraph, in place of the profiles' min_nodes",
                   .form = OptionForm::Count,
                   .changes_result = true,
                   .stage = "partition"},
                  [](Options& o, std::string_view text) {
                    return set_number(o.partition.min_nodes.emplace(1), "--min-nodes", text, std::uint32_t{1},
                                      "write --min-nodes 20");
                  },
                  [](const Options& o) -> std::optional<OptionValue> {
                    if (!o.partition.min_nodes) return std::nullopt;
                    return OptionValue(std::int64_t{*o.partition.min_nodes});
                  }});
  rows.push_back({{.name = "--min-gain",
                   .group = kGroup,
                   .value = "NS",
                   .help = "time in ns that a subgraph must save, by the costs of the profiles",
                   .form = OptionForm::Count,
                   .changes_result = true,
                   .stage = "partition"},
                  [](Options& o, std::string_view text) {
                    return set_number(o.partition.min_gain_ns, "--min-gain", text, std::uint64_t{0},
                                      "write --min-gain 50000");
                  },
                  [](const Options& o) -> std::optional<OptionValue> {
                    if (o.partition.min_gain_ns == 0) return std::nullopt;
                    return OptionValue(static_cast<std::int64_t>(o.partition.min_gain_ns));
                  }});
  rows.push_back(flag_row<Options>(
      {.name = "--plan", .group = kGroup, .help = "print the subgraphs; write nothing", .stage = "partition"},
      [](auto& o) -> auto& { return o.partition.plan; }));
  rows.push_back(choice_row<Options, bool>(
      {.name = "--parts",
       .group = kGroup,
       .value = "WHEN",
       .help = "a file per subgraph: auto (default) writes them, never does not",
       .changes_result = true,
       .stage = "partition"},
      {{"auto", true}, {"never", false}}, [](auto& o) -> auto& { return o.partition.parts; }));
  rows.push_back(file_row<Options>({.name = "--manifest",
                                    .group = kGroup,
                                    .value = "FILE",
                                    .help = "where the manifest goes (default: OUT with .manifest.json)",
                                    .stage = "partition",
                                    .writes = true},
                                   "", [](auto& o) -> auto& { return o.partition.manifest; }));
  rows.back().set = [](Options& o, std::string_view text) -> Status {
    if (text.empty() || text == "-")
      return wrong_value("--manifest", text, "is not a file", "give the manifest a file in OUT's folder");
    o.partition.manifest = text;
    return Done{};
  };
  rows.push_back(text_row<Options>({.name = "--parts-dir",
                                    .group = kGroup,
                                    .value = "DIR",
                                    .help = "put parts and weights there, in or below the manifest's folder",
                                    .form = OptionForm::Folder,
                                    .changes_result = true,
                                    .stage = "partition"},
                                   [](auto& o) -> auto& { return o.partition.parts_dir; }));
  rows.back().set = [](Options& o, std::string_view text) -> Status {
    if (text.empty())
      return wrong_value("--parts-dir", text, "is not a folder", "give a name, as in --parts-dir parts");
    o.partition.parts_dir = text;
    return Done{};
  };
  rows.push_back({{.name = "--emit",
                   .group = kGroup,
                   .value = "LIST",
                   .help = "also write files for: triton, ort-annotations, genai, ort-package",
                   .form = OptionForm::Choices,
                   .choices = {Words<Export>::all.begin(), Words<Export>::all.end()},
                   .changes_result = true,
                   .stage = "partition"},
                  set_exports,
                  exports});
}

}  // namespace graphopt
