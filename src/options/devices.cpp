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

// Which devices there are is known when the profiles are read.
Status set_budget(Options& o, std::string_view text) {
  const auto values = read_device_values("--budget", text, "DEVICE=BYTES");
  if (!values) return values.errors();
  o.partition.budgets.clear();
  for (const DeviceValue& v : *values) {
    const Result<std::uint64_t> bytes = read_bytes("--budget", v.value);
    if (!bytes) return bytes.errors();
    o.partition.budgets.push_back({v.device, *bytes});
  }
  return Done{};
}

std::optional<OptionValue> budget(const Options& o) {
  std::vector<std::string> out;
  for (const PartitionStage::DeviceBudget& b : o.partition.budgets)
    out.push_back(b.device + '=' + std::to_string(b.bytes));
  if (out.empty()) return std::nullopt;
  return OptionValue(std::move(out));
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
  constexpr std::int64_t kMostNodes = std::numeric_limits<std::uint32_t>::max();
  rows.push_back(count_row<Options>(
      {.name = "--min-nodes",
       .group = kGroup,
       .value = "N",
       .help = "least nodes of a subgraph, in place of the profiles' min_nodes",
       .changes_result = true,
       .stage = "partition"},
      {1, kMostNodes, "is not a whole number from 1 to 4294967295", "write --min-nodes 20"},
      [](auto& o) -> auto& { return o.partition.min_nodes; }));
  constexpr std::int64_t kMostTime = std::numeric_limits<std::int64_t>::max();
  rows.push_back(count_row<Options>(
      {.name = "--min-gain",
       .group = kGroup,
       .value = "NS",
       .help = "time in ns that a subgraph must save, by the costs of the profiles",
       .changes_result = true,
       .stage = "partition"},
      {0, kMostTime, "is not a whole number of nanoseconds below 2^63", "write --min-gain 50000 for 50 us"},
      [](auto& o) -> auto& { return o.partition.min_gain_ns; }));
  rows.push_back(choice_row<Options, SubgraphOrder>(
      {.name = "--order",
       .group = kGroup,
       .value = "ORDER",
       .help = "of subgraphs in the manifest: file (default); memory: a low peak",
       .changes_result = true,
       .stage = "partition"},
      [](auto& o) -> auto& { return o.partition.order; }));
  rows.push_back({{.name = "--budget",
                   .group = kGroup,
                   .value = "DEVICE=BYTES,...",
                   .help = "bytes for a request, in place of the memory_bytes of profiles",
                   .form = OptionForm::Text,
                   .changes_result = true,
                   .stage = "partition"},
                  set_budget,
                  budget});
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
