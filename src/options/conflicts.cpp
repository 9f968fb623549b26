// Which options do not go together: one asks for something that another one rules out, or for something about
// what is not asked for. The order is that in which they are reported.
#include <algorithm>

#include "graphopt/option_table.h"

namespace graphopt {
namespace {

using Kind = OptionConflict::Kind;

bool partitions(const Options& o) { return !o.partition.devices.empty(); }
bool has_buckets(const Options& o) { return o.buckets.asked(); }
bool writes(const Options& o) { return !o.output.empty(); }
bool checks(const Options& o) { return o.check.seeds > 0 || o.check.bisect; }
bool emits(const Options& o, Export form) {
  return std::ranges::find(o.partition.exports, form) != o.partition.exports.end();
}

constexpr std::string_view kGiveDevices =
    "give --devices the profiles, as in --devices npu,gpu.json; --list-devices lists them";
constexpr std::string_view kGiveBuckets =
    "give sizes, as in --bucket seq=16..512:pow2, or a file with --buckets";
constexpr std::string_view kGiveFile = "give -o a file";

}  // namespace

const std::vector<OptionConflict>& option_conflicts() {
  static const std::vector<OptionConflict> rows = {
      {"--external-data",
       Kind::Excludes,
       {"--output"},
       [](const Options& o) { return o.save.external_data == ExternalData::Always && o.output == "-"; },
       "--external-data always needs a folder for the weights, and -o - has none",
       kGiveFile},
      {"--external-file",
       Kind::Needs,
       {"--output"},
       [](const Options& o) { return !o.save.external_file.empty() && !writes(o); },
       "--external-file: without -o nothing is written",
       kGiveFile},
      {"--fold",
       Kind::Excludes,
       {"--exact", "-O"},
       [](const Options& o) {
         return o.clean_up.fold == FoldWith::Ort && (o.clean_up.exact || o.clean_up.level < 2);
       },
       "--fold ort takes what ONNX Runtime computes here and now, and --exact and levels below -O2 keep "
       "every "
       "bit",
       "leave out --exact and give -O2 or -O3, or leave out --fold ort"},
      {"--check-tolerance",
       Kind::Needs,
       {"--check", "--bisect"},
       [](const Options& o) { return o.check.tolerance && !checks(o); },
       "--check-tolerance: no check was asked for",
       "add --check, or --bisect"},
      {"--keep-bad",
       Kind::Needs,
       {"--check", "--bisect"},
       [](const Options& o) { return !o.check.keep_bad.empty() && !checks(o); },
       "--keep-bad: no check was asked for",
       "add --check, or --bisect"},
      {"--check-input",
       Kind::Needs,
       {"--check", "--bisect"},
       [](const Options& o) { return !o.check.inputs.empty() && !checks(o); },
       "--check-input: no check was asked for",
       "add --check, or --bisect"},

      {"--plan",
       Kind::Needs,
       {"--devices"},
       [](const Options& o) { return o.partition.plan && !partitions(o); },
       "--plan needs --devices, which is not given",
       kGiveDevices},
      {"--assignment",
       Kind::Needs,
       {"--devices"},
       [](const Options& o) { return o.partition.given && !partitions(o); },
       "--assignment needs --devices, which is not given",
       kGiveDevices},
      {"--connected",
       Kind::Needs,
       {"--devices"},
       [](const Options& o) { return o.partition.connected && !partitions(o); },
       "--connected needs --devices, which is not given",
       kGiveDevices},
      {"--min-nodes",
       Kind::Needs,
       {"--devices"},
       [](const Options& o) { return o.partition.min_nodes > 0 && !partitions(o); },
       "--min-nodes needs --devices, which is not given",
       kGiveDevices},
      {"--min-nodes",
       Kind::Excludes,
       {"--assignment"},
       [](const Options& o) { return o.partition.min_nodes > 0 && o.partition.given; },
       "--min-nodes moves nodes, and with --assignment given they stay where the model says",
       "leave one of them out"},
      {"--min-gain",
       Kind::Needs,
       {"--devices"},
       [](const Options& o) { return o.partition.min_gain_ns > 0 && !partitions(o); },
       "--min-gain needs --devices, which is not given",
       kGiveDevices},
      {"--min-gain",
       Kind::Excludes,
       {"--assignment"},
       [](const Options& o) { return o.partition.min_gain_ns > 0 && o.partition.given; },
       "--min-gain moves nodes, and with --assignment given they stay where the model says",
       "leave one of them out"},
      {"--manifest",
       Kind::Excludes,
       {"--bucket-single"},
       [](const Options& o) { return !o.partition.manifest.empty() && !partitions(o) && o.buckets.single; },
       "--manifest: --bucket-single writes one model, and no manifest",
       "leave out --manifest"},
      {"--manifest",
       Kind::Needs,
       {"--devices", "--bucket", "--buckets"},
       [](const Options& o) { return !o.partition.manifest.empty() && !partitions(o) && !has_buckets(o); },
       "--manifest needs --devices or --bucket: without them there is none",
       "leave it out, or give --devices or --bucket"},
      {"--parts",
       Kind::Needs,
       {"--devices"},
       [](const Options& o) { return !o.partition.parts && !partitions(o); },
       "--parts never needs --devices, which is not given",
       kGiveDevices},
      {"--parts-dir",
       Kind::Needs,
       {"--devices", "--bucket", "--buckets"},
       [](const Options& o) { return !o.partition.parts_dir.empty() && !partitions(o) && !has_buckets(o); },
       "--parts-dir needs --devices or --bucket: without them there are no parts",
       "leave it out, or give --devices or --bucket"},
      {"--parts-dir",
       Kind::Excludes,
       {"--bucket-single"},
       [](const Options& o) { return !o.partition.parts_dir.empty() && o.buckets.single; },
       "--parts-dir: --bucket-single writes one model, and no parts",
       "leave out --parts-dir"},
      {"--parts-dir",
       Kind::Excludes,
       {"--parts"},
       [](const Options& o) {
         return !o.partition.parts_dir.empty() && !o.partition.parts && !has_buckets(o);
       },
       "--parts-dir names the folder of the parts, which --parts never leaves out",
       "leave out one of them"},
      {"--parts-dir",
       Kind::Needs,
       {"--output"},
       [](const Options& o) { return !o.partition.parts_dir.empty() && !writes(o); },
       "--parts-dir: without -o no parts are written",
       kGiveFile},
      {"--emit",
       Kind::Needs,
       {"--devices"},
       [](const Options& o) { return !o.partition.exports.empty() && !partitions(o); },
       "--emit needs --devices, which is not given",
       kGiveDevices},
      {"--partition-algorithm",
       Kind::Needs,
       {"--devices"},
       [](const Options& o) { return o.partition.algorithm != PartitionAlgorithm::Grow && !partitions(o); },
       "--partition-algorithm needs --devices, which is not given",
       kGiveDevices},
      {"--lower",
       Kind::Needs,
       {"--devices"},
       [](const Options& o) { return o.lower.lower != Lowering::Auto && !partitions(o); },
       "--lower needs --devices, which is not given",
       kGiveDevices},
      {"--devices",
       Kind::Excludes,
       {"--stop-after"},
       [](const Options& o) { return partitions(o) && o.stop_after < Stage::CleanUp; },
       "--devices cuts the optimized model, and --stop-after ends before it is there",
       "leave out --stop-after; -O0 changes nothing"},
      {"--plan",
       Kind::Excludes,
       {"--output"},
       [](const Options& o) { return o.partition.plan && writes(o); },
       "--plan writes nothing, and -o asks for a file",
       "leave out one of them"},
      {"--devices",
       Kind::Excludes,
       {"--output"},
       [](const Options& o) { return partitions(o) && o.output == "-"; },
       "--devices writes several files, and -o - has no folder for them",
       kGiveFile},
      {"--devices",
       Kind::Excludes,
       {"--external-data"},
       [](const Options& o) {
         return partitions(o) && writes(o) && o.partition.parts &&
                o.save.external_data == ExternalData::Never;
       },
       "--devices: the parts share their weights in a file, which --external-data never forbids",
       "leave out --external-data never"},
      {"--emit",
       Kind::Excludes,
       {"--plan"},
       [](const Options& o) { return !o.partition.exports.empty() && o.partition.plan; },
       "--emit asks for files, and --plan writes nothing",
       "leave out --plan, and give -o a file"},
      {"--emit",
       Kind::Needs,
       {"--output"},
       [](const Options& o) { return !o.partition.exports.empty() && !writes(o); },
       "--emit: without -o nothing is written",
       "give -o a file: the exports are written next to it"},
      {"--emit",
       Kind::Excludes,
       {"--parts"},
       [](const Options& o) { return emits(o, Export::GenAi) && !o.partition.parts; },
       "--emit genai names the files of the parts, which --parts never leaves out",
       "leave out --parts never"},
      {"--manifest",
       Kind::Needs,
       {"--output"},
       [](const Options& o) { return !o.partition.manifest.empty() && !writes(o); },
       "--manifest: without -o no manifest is written",
       kGiveFile},

      {"--bucket-require",
       Kind::Needs,
       {"--bucket", "--buckets"},
       [](const Options& o) { return o.buckets.require && !has_buckets(o); },
       "--bucket-require is about buckets, and none are given",
       kGiveBuckets},
      {"--bucket-single",
       Kind::Needs,
       {"--bucket", "--buckets"},
       [](const Options& o) { return o.buckets.single && !has_buckets(o); },
       "--bucket-single is about buckets, and none are given",
       kGiveBuckets},
      {"--bucket",
       Kind::Excludes,
       {"--stop-after"},
       [](const Options& o) { return has_buckets(o) && o.stop_after < Stage::CleanUp; },
       "--bucket makes models of the optimized one, and --stop-after ends before it is there",
       "leave out --stop-after; -O0 changes nothing"},
      {"--bucket-single",
       Kind::Excludes,
       {"--devices"},
       [](const Options& o) { return o.buckets.single && partitions(o); },
       "--bucket-single makes one model, and --devices cuts models into parts",
       "leave out --bucket-single: each bucket then has parts of its own"},
      {"--bucket-single",
       Kind::Excludes,
       {"--regions", "--dot", "--infer"},
       [](const Options& o) {
         return o.buckets.single &&
                (o.regions.form != RegionForm::None || o.regions.draw || o.infer.write_types);
       },
       "--bucket-single writes branches, to which --regions, --dot and --infer do not apply",
       "leave them out, or leave out --bucket-single"},
      {"--bucket",
       Kind::Excludes,
       {"--output"},
       [](const Options& o) { return has_buckets(o) && !o.buckets.single && o.output == "-"; },
       "--bucket writes several files, and -o - has no folder for them",
       "give -o a file, or --bucket-single for one model"},
      {"--bucket",
       Kind::Excludes,
       {"--external-data"},
       [](const Options& o) {
         return has_buckets(o) && !o.buckets.single && writes(o) &&
                o.save.external_data == ExternalData::Never;
       },
       "--bucket: the models share their weights in a file, which --external-data never forbids",
       "leave out --external-data never, or give --bucket-single for one model"},
  };
  return rows;
}

Status check_conflicts(const Options& options) {
  for (const OptionConflict& row : option_conflicts())
    if (row.broken(options))
      return Error{ErrorKind::Usage, {}, std::string(row.what), std::string(row.remedy)};
  return Done{};
}

}  // namespace graphopt
