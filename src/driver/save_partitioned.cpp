// A partitioned model on disk: OUT, the models of its buckets, a file for each subgraph of these, their
// weights, and the manifest that lists them.
#include "driver/save_partitioned.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "deploy/make_manifest.h"
#include "deploy/manifest_files.h"
#include "deploy/manifest_json.h"
#include "deploy/network_id.h"
#include "driver/saving.h"
#include "driver/shapes.h"
#include "driver/specialized.h"
#include "exports/exports.h"
#include "graphopt/option_table.h"
#include "graphopt/version.h"
#include "onnx/set_writer.h"
#include "options/output_names.h"
#include "support/file.h"

namespace graphopt {
namespace {

// Without devices there is the host alone, and nothing to be cut.
deploy::Algorithm algorithm_of(const Options& o) {
  if (o.partition.devices.empty()) return deploy::Algorithm::None;
  switch (o.partition.algorithm) {
    case PartitionAlgorithm::Grow: return deploy::Algorithm::Grow;
    case PartitionAlgorithm::Fewest: return deploy::Algorithm::Fewest;
    case PartitionAlgorithm::Depth: break;
  }
  return deploy::Algorithm::Depth;
}

// The options that change the result, with the values in force. A list is one text; bucket specs have commas
// of their own. The folder of --parts-dir is written as the manifest names it, so that no absolute path is
// there.
std::map<std::string, deploy::Option> options_of(const Run& run) {
  Options options = run.options;
  std::error_code none;
  if (!options.partition.parts_dir.empty())
    options.partition.parts_dir = manifest_folders(options, none).parts_named();
  if (options.buckets.asked()) options.buckets.require = required(run);
  std::map<std::string, deploy::Option> out;
  for (auto& [key, value] : result_options(options)) {
    if (const auto* items = std::get_if<std::vector<std::string>>(&value)) {
      std::string text;
      for (const std::string& item : *items) text += (text.empty() ? "" : "; ") + item;
      out[key] = std::move(text);
    } else if (const auto* whole = std::get_if<std::int64_t>(&value)) {
      out[key] = *whole;
    } else if (const auto* flag = std::get_if<bool>(&value)) {
      out[key] = *flag;
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      out[key] = *text;
    }
  }
  return out;
}

// By device: what --budget gives, else what the profile says.
std::vector<std::optional<std::uint64_t>> budgets_of(const Run& run) {
  std::vector<std::optional<std::uint64_t>> out;
  const auto& given = run.options.partition.budgets;
  for (const Profile& p : run.partitioned->devices) {
    const auto own = std::ranges::find(given, p.id, &PartitionStage::DeviceBudget::device);
    if (own != given.end()) out.emplace_back(own->bytes);
    else out.push_back(p.memory_bytes);
  }
  return out;
}

// One model of the set with its parts, in the form that the set's writer and the manifest take.
struct SavedParts {
  std::vector<std::vector<TypeOverride>> types;  // by part
  std::vector<TypeOverride> stated;              // of all parts, then of the whole
};

// Models of buckets repeat all that is not in the data file, so smaller tensors go there. An entry that
// refers to it takes some 100 bytes.
constexpr std::uint64_t kBucketThreshold = 256;

SaveOptions bucket_options(const Run& run) {
  SaveOptions out = save_options(run.options.save);
  out.external_threshold = std::min(out.external_threshold, kBucketThreshold);
  return out;
}

// Adds the parts of a model to the set's models; they refer to `cut` and to the result, which must not move.
void add_parts(const Run& run, Work& work, const PartitionedModel& cut,
               std::span<const TypeOverride> whole_types, const std::string& name, const SaveOptions& options,
               bool as_files, std::vector<SetModel>& models, SavedParts& out) {
  PartTypes of_parts(work, whole_types);
  for (const ModelPart& part : cut.parts) out.types.push_back(of_parts.of(part));
  // Borders first: the whole model may state less of them.
  for (const auto& of_part : out.types) out.stated.insert(out.stated.end(), of_part.begin(), of_part.end());
  out.stated.insert(out.stated.end(), whole_types.begin(), whole_types.end());
  for (std::size_t s = 0; as_files && s < cut.parts.size(); ++s) {
    SetModel& model = models.emplace_back();
    model.model = &work.model;
    model.name =
        name + '.' + deploy::subgraph_name(s) + '.' + run.partitioned->devices[cut.partition.devices[s]].id;
    model.options = options;
    model.options.part = &cut.parts[s];
    model.options.types = out.types[s];
  }
}

// "b000", "b001": enough digits for all, three at least.
std::string bucket_name(std::size_t i, std::size_t count) {
  const std::string number = std::to_string(i);
  const std::size_t digits = std::max<std::size_t>(3, std::to_string(count - 1).size());
  return 'b' + std::string(digits - number.size(), '0') + number;
}

// OUT and the models of buckets without their parts, for exports that hold them.
std::vector<SetModel> whole_models(const SetModel& out, std::span<const SpecializedModel> buckets,
                                   const SaveOptions& bucket_options) {
  std::vector<SetModel> all = {out};
  all.front().name = "model";
  all.front().options.path.clear();
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    SetModel& model = all.emplace_back();
    model.model = &buckets[i].work->model;
    model.name = bucket_name(i, buckets.size());
    model.options = bucket_options;
    model.options.types = buckets[i].types;
  }
  return all;
}

// The files of a model in the order in which they were added to the set.
class SavedFilesOf {
 public:
  explicit SavedFilesOf(std::span<const SetFile> files) : rest_(files) {}
  SetFile model() { return std::move(take(1).front()); }
  std::vector<SetFile> take(std::size_t count) {
    const auto first = rest_.first(count);
    rest_ = rest_.subspan(count);
    return {first.begin(), first.end()};
  }

 private:
  std::span<const SetFile> rest_;
};

}  // namespace

deploy::ManifestSource manifest_source(const Run& run, Work& work, const PartitionedModel& cut,
                                       std::span<const TypeOverride> types,
                                       std::span<const TypeOverride> whole_types) {
  return {.model = work.model,
          .inference = *work.inference,
          .devices = run.partitioned->devices,
          .placement = cut.placement,
          .partition = cut.partition,
          .parts = cut.parts,
          .types = types,
          .whole_types = whole_types,
          .algorithm = algorithm_of(run.options),
          .connected = run.options.partition.connected,
          .least_memory = run.options.partition.order == SubgraphOrder::Memory,
          .budgets = budgets_of(run),
          .version = {},
          .options = {},
          .source_id = {},
          .hashes = nullptr};
}

namespace {

// Makes the manifest of OUT and of the models of buckets, without files.
deploy::Manifest manifest_of(const Run& run, std::span<const TypeOverride> whole_types,
                             const SavedParts& of_out, const std::deque<SavedParts>& of_buckets) {
  PayloadHashes hashes;
  deploy::ManifestSource source =
      manifest_source(run, *run.work, *run.partitioned, of_out.stated, whole_types);
  source.version = std::string(version());
  source.options = options_of(run);
  source.source_id = run.partitioned->source_id;
  source.hashes = &hashes;
  deploy::Manifest manifest = deploy::make_manifest(source);
  if (run.specialized) {
    manifest.buckets = run.specialized->section;
    for (std::size_t i = 0; i < run.specialized->models.size(); ++i) {
      SpecializedModel& b = run.specialized->models[i];
      deploy::ManifestSource one = manifest_source(run, *b.work, b.cut, of_buckets[i].stated, b.types);
      one.hashes = &hashes;
      manifest.buckets->models.push_back(deploy::make_bucket_model(one, b.sizes, b.peak_bytes));
    }
  }
  return manifest;
}

// Models of buckets, where there are some, have sizes of their own.
bool keeps_the_order_of_the_file(const PartitionStage::Options& options, const deploy::Manifest& manifest) {
  const auto unknown = [](const deploy::ScheduledValue& v) { return !v.size.bytes; };
  return options.order == SubgraphOrder::Memory && (!manifest.buckets || manifest.buckets->models.empty()) &&
         manifest.schedule && std::ranges::any_of(manifest.schedule->values, unknown);
}

}  // namespace

Status save_partitioned(Run& run) {
  Work& work = *run.work;
  const Partitioned& p = *run.partitioned;
  const PartitionStage::Options& options = run.options.partition;
  const std::string name = last_part(without_suffix(run.options.output));
  const bool has_devices = !options.devices.empty(), parts_as_files = has_devices && options.parts;
  const std::span<SpecializedModel> buckets =
      run.specialized ? std::span(run.specialized->models) : std::span<SpecializedModel>();

  const std::vector<TypeOverride> whole_types = saved_types(run.options, work);
  SetModel out;
  out.model = &work.model;
  out.options = save_options(run.options.save);
  out.options.path = run.options.output;
  out.options.types = whole_types;

  std::vector<SetModel> models;
  SavedParts of_out;
  add_parts(run, work, p, whole_types, name, save_options(run.options.save), parts_as_files, models, of_out);
  std::deque<SavedParts> of_buckets;  // a deque: models refer to its elements
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const std::string bucket = name + '.' + bucket_name(i, buckets.size());
    SetModel& model = models.emplace_back();
    model.model = &buckets[i].work->model;
    model.name = bucket;
    model.options = bucket_options(run);
    model.options.types = buckets[i].types;
    add_parts(run, *buckets[i].work, buckets[i].cut, buckets[i].types, bucket, bucket_options(run),
              parts_as_files, models, of_buckets.emplace_back());
  }

  deploy::Manifest manifest = manifest_of(run, whole_types, of_out, of_buckets);
  if (keeps_the_order_of_the_file(options, manifest))
    run.warn(
        work.model.file +
        ": --order memory: sizes of values between subgraphs are no numbers, so the order is that of the "
        "file (give --dim)");

  SetOptions set;
  set.list = manifest_path(run.options);
  set.folder = parts_folder(run.options);
  set.force = run.options.save.force;
  set.out = &out;
  // Weights stand in a file of their own where parts share them, or where they did so or are asked to.
  const ExternalData external = run.options.save.external_data;
  set.out_shares_data = parts_as_files || !buckets.empty() || external == ExternalData::Always ||
                        (work.model.had_external_data && external != ExternalData::Never);
  set.read_list = deploy::read_manifest_files;  // without OUT, which the user named
  const std::vector<SetModel> wholes = whole_models(out, buckets, bucket_options(run));
  const ExportSource export_source{.options = run.options,
                                   .model = work.model,
                                   .inference = *work.inference,
                                   .manifest = manifest,
                                   .parts = p.parts,
                                   .part_types = of_out.types,
                                   .save = save_options(run.options.save),
                                   .wholes = wholes,
                                   .warn = [&run](std::string text) { run.warn(std::move(text)); }};
  Exports exports(export_source);
  if (Status s = exports.plan(); !s) return s;

  Result<WrittenSet> written = write_set(models, set);
  if (!written) return written.errors();
  SavedFilesOf files(written->saved().models);
  const auto files_of = [&](const SetFile& model, std::size_t parts) {
    return deploy::ModelFiles{.model = model, .parts = files.take(parts), .is_one_part = !has_devices};
  };
  const deploy::ModelFiles whole = files_of(*written->saved().out_file, parts_as_files ? p.parts.size() : 0);
  std::vector<deploy::ModelFiles> bucket_files;
  for (const SpecializedModel& bucket : buckets) {
    const SetFile model = files.model();
    bucket_files.push_back(files_of(model, parts_as_files ? bucket.cut.parts.size() : 0));
  }
  deploy::add_files(manifest, whole, bucket_files, written->saved().data);
  const std::string text = deploy::manifest_text(manifest);
  if (Status s = exports.stage(written->saved(), text); !s) return s;
  if (Status s = written->commit(text); !s) return s;
  if (Status s = exports.place(); !s) return s;
  report_files(set.list, written->saved(), run.report);
  for (const SaveStage::File& file : exports.files()) run.report.save.files.push_back(file);
  for (std::size_t i = 0; i < bucket_files.size(); ++i) {
    SpecializeStage::Model& told = run.report.specialize->models[i];
    told.file = bucket_files[i].model.name;
    told.bytes = bucket_files[i].model.bytes;
  }
  if (run.report.partition) {
    run.report.partition->manifest = set.list;
    run.report.partition->network = manifest.network.id;
  }
  return Done{};
}

}  // namespace graphopt
