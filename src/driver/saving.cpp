#include "driver/saving.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include "onnx/data_writer.h"
#include "onnx/message_writer.h"
#include "support/file.h"

namespace graphopt {

SaveOptions save_options(const SaveStage::Options& options) {
  SaveOptions out;
  switch (options.external_data) {
    case ExternalData::Auto: out.external = SaveOptions::External::Auto; break;
    case ExternalData::Always: out.external = SaveOptions::External::Always; break;
    case ExternalData::Never: out.external = SaveOptions::External::Never; break;
  }
  out.external_threshold = options.external_threshold;
  out.data_name = options.external_file;
  if (!out.data_name.empty()) out.external = SaveOptions::External::Always;
  out.force = options.force;
  return out;
}

namespace {

// Returns the message in one piece; nothing when it exceeds `largest` bytes.
std::optional<std::string> in_one_piece(MessageWriter& writer, std::uint64_t largest) {
  const std::vector<wire::ByteRange> ranges = writer.ranges();
  if (writer.size() > largest) return std::nullopt;
  std::string bytes;
  bytes.reserve(writer.size());
  for (const wire::ByteRange& range : ranges) bytes.append(range.data, range.size);
  return bytes;
}

}  // namespace

Result<std::string> part_in_memory(const Model& model, std::span<const TypeOverride> types,
                                   const std::string& folder, const ModelPart& part) {
  SaveOptions options;
  options.path = folder + "/model";  // as below
  options.types = types;
  options.part = &part;
  std::optional<DataPlan> plan(std::in_place, model, options, true, false);
  if (plan->has_data()) plan.emplace(model, options, false, false);
  MessageWriter writer(model, options, *plan);
  if (std::optional<std::string> bytes = in_one_piece(writer, SavedForRuntime::kLargest))
    return *std::move(bytes);
  return Error{ErrorKind::Input,
               {model.file, {}, {}, {}, {}},
               "what is left of the model has " + std::to_string(writer.size()) +
                   " bytes, more than one message holds",
               "put its external data next to the model"};
}

void report_files(const SavedFiles& saved, Report& report) {
  report.after.bytes = saved.bytes + saved.data_bytes;
  std::vector<SaveStage::File>& files = report.save.files;
  files.push_back({saved.path, saved.bytes});
  if (!saved.data_path.empty()) files.push_back({saved.data_path, saved.data_bytes - saved.kept_bytes});
  report.save.kept = {saved.kept_data, saved.kept_bytes};
}

void report_files(const std::string& list, const SavedSet& saved, Report& report) {
  if (saved.out) report_files(*saved.out, report);
  std::vector<SaveStage::File>& files = report.save.files;
  files.push_back({list, saved.list_bytes});
  std::error_code none;  // the list is there: it has just been written
  const bool link = std::filesystem::is_symlink(list, none);
  const std::string folder = folder_of(link ? std::filesystem::canonical(list, none).string() : list);
  const std::string before = folder == "." && !list.starts_with("./") ? "" : folder + "/";
  for (const SetFile& f : saved.files()) {
    files.push_back({before + f.name, f.bytes});
    if (report.output.empty()) report.after.bytes += f.bytes;
  }
}

Status SavedForRuntime::save(const Model& model, std::span<const TypeOverride> types,
                             const std::string& folder, const ModelPart* part) {
  files_.reset();
  bytes_.clear();
  SaveOptions options;
  // nothing is written there: the path determines where data files are found
  options.path = folder + "/model";
  options.types = types;
  options.part = part;
  const DataPlan plan(model, options, false, false);
  MessageWriter writer(model, options, plan);
  folder_ = folder;
  std::optional<std::string> bytes = in_one_piece(writer, largest_);
  if (!bytes) return save_files(model, std::move(options));
  bytes_ = *std::move(bytes);
  return Done{};
}

Status SavedForRuntime::save_files(const Model& model, SaveOptions options) {
  Result<TemporaryFolder> folder = TemporaryFolder::create(room_);
  if (!folder) {
    Error e = folder.error();
    e.what = "the model that is to be run exceeds 2 GiB and needs a file: " + e.what;
    return e;
  }
  files_.emplace(*std::move(folder));
  options.path = files_->model();
  options.external = SaveOptions::External::Always;
  const Result<SavedFiles> saved = save_model(model, options);
  if (!saved) return saved.errors();
  files_->announce(saved->path);
  if (!saved->data_path.empty()) files_->announce(saved->data_path);
  folder_.clear();
  return Done{};
}

std::string room_for_runtime(const std::string& output) {
  return output.empty() || output == "-" ? std::string() : folder_of(output);
}

}  // namespace graphopt
