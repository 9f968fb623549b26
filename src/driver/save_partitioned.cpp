// A partitioned model on disk: OUT, a file for each subgraph, their weights, and the manifest that lists
// them.
#include <algorithm>
#include <limits>
#include <utility>

#include "driver/exports.h"
#include "driver/partitioned.h"
#include "driver/run.h"
#include "driver/saving.h"
#include "driver/shapes.h"
#include "graphopt/version.h"
#include "manifest/manifest.h"
#include "onnx/set_writer.h"
#include "support/file.h"

namespace graphopt {
namespace {

std::int64_t limited(std::uint64_t n) {
  return static_cast<std::int64_t>(
      std::min(n, static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())));
}

std::map<std::string, ManifestOption> options_of(const Options& o) {
  std::map<std::string, ManifestOption> out;
  out["algorithm"] = partition_algorithm_name(o.partition.algorithm);
  out["connected"] = o.partition.connected;
  out["level"] = std::int64_t{o.clean_up.level};
  out["exact"] = o.clean_up.exact;
  out["fold"] = std::string(o.clean_up.fold == FoldWith::Ort ? "ort" : "native");
  out["fold_limit"] = limited(o.clean_up.fold_limit);
  out["infer"] = o.infer.write_types;
  out["dim_names"] = std::string(o.load.dim_names == DimNames::Expressions ? "expressions" : "opaque");
  out["external_threshold"] = limited(o.save.external_threshold);
  if (o.partition.given) {
    std::string rules = "given";
    for (const PartitionStage::LayerRule& r : o.partition.layers)
      rules += (rules.size() == 5 ? "=" : "; ") + r.device + '(' + (r.exact ? "=" : "") + r.text + ')';
    out["assignment"] = std::move(rules);
  }
  std::vector<std::string> dims, shapes;
  for (const DimOption& d : o.infer.dims)
    dims.push_back(d.symbol + '=' + std::to_string(d.low) +
                   (d.high == d.low ? "" : ".." + std::to_string(d.high)));
  for (const ShapeOption& s : o.infer.shapes) {
    std::string text = s.input + '=';
    for (std::size_t i = 0; i < s.dims.size(); ++i) text += (i == 0 ? "" : "x") + std::to_string(s.dims[i]);
    shapes.push_back(std::move(text));
  }
  const auto add = [&out](const char* key, const std::vector<std::string>& items) {
    std::string text;
    for (const std::string& item : items) text += (text.empty() ? "" : ",") + item;
    if (!text.empty()) out[key] = text;
  };
  add("passes", o.clean_up.passes);
  add("disabled_passes", o.clean_up.disabled);
  add("dims", dims);
  add("shapes", shapes);
  return out;
}

}  // namespace

std::string without_suffix(const std::string& output) {
  constexpr std::string_view suffix = ".onnx";
  return output.ends_with(suffix) ? output.substr(0, output.size() - suffix.size()) : output;
}

std::string manifest_path(const Options& options) {
  const PartitionStage::Options& p = options.partition;
  if (p.devices.empty() || p.plan || options.output.empty()) return {};
  return p.manifest.empty() ? without_suffix(options.output) + ".manifest.json" : p.manifest;
}

Status save_partitioned(Run& run) {
  Work& work = *run.work;
  Model& m = work.model;
  const Partitioned& p = *run.partitioned;
  const PartitionStage::Options& options = run.options.partition;
  const std::string name = last_part(without_suffix(run.options.output));

  std::vector<TypeOverride> whole_types = saved_types(run.options, work);
  SetModel out;
  out.model = &m;
  out.options = save_options(run.options.save);
  out.options.path = run.options.output;
  out.options.types = whole_types;

  std::vector<std::vector<TypeOverride>> types;  // by part
  PartTypes of_parts(work, whole_types);
  for (const ModelPart& part : p.parts) types.push_back(of_parts.of(part));
  std::vector<SetModel> models;
  for (std::size_t s = 0; options.parts && s < p.parts.size(); ++s) {
    SetModel& model = models.emplace_back();
    model.model = &m;
    model.name = name + '.' + subgraph_name(s) + '.' + p.devices[p.partition.devices[s]].id;
    model.options = save_options(run.options.save);
    model.options.part = &p.parts[s];
    model.options.types = types[s];
  }
  // Borders first: the whole model may state less of them.
  std::vector<TypeOverride> stated;
  for (const auto& of_part : types) stated.insert(stated.end(), of_part.begin(), of_part.end());
  stated.insert(stated.end(), whole_types.begin(), whole_types.end());

  nlohmann::json manifest = manifest_of({.model = m,
                                         .inference = *work.inference,
                                         .devices = p.devices,
                                         .placement = p.placement,
                                         .partition = p.partition,
                                         .parts = p.parts,
                                         .types = stated,
                                         .whole_types = whole_types,
                                         .algorithm = partition_algorithm_name(options.algorithm),
                                         .connected = options.connected,
                                         .version = std::string(version()),
                                         .options = options_of(run.options),
                                         .source_id = p.source_id});
  SetOptions set;
  set.list = manifest_path(run.options);
  set.force = run.options.save.force;
  set.out = &out;
  // Weights stand in a file of their own where parts share them, or where they did so or are asked to.
  const ExternalData external = run.options.save.external_data;
  set.out_shares_data = options.parts || external == ExternalData::Always ||
                        (m.had_external_data && external != ExternalData::Never);
  set.write_list = [&](const SavedSet& saved) {
    add_files(manifest, *saved.out_file, saved.models, saved.data);
    return manifest_text(manifest);
  };
  set.read_list = read_manifest_files;  // without OUT, which the user named
  const ExportSource source{run, manifest, p.parts, types};
  Exports exports(source);
  if (Status s = exports.plan(); !s) return s;
  exports.join(set);
  const Result<SavedSet> saved = save_set(models, set);
  if (!saved) return saved.errors();
  report_files(set.list, *saved, run.report);
  exports.report();
  run.report.partition->manifest = set.list;
  run.report.partition->network = manifest["network"]["id"].get<std::string>();
  return Done{};
}

}  // namespace graphopt
