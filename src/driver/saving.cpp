#include "driver/saving.h"

#include <filesystem>
#include <limits>
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
  out.force = options.force;
  return out;
}

void report_files(const SavedFiles& saved, Report& report) {
  report.after.bytes = saved.bytes + saved.data_bytes;
  std::vector<SaveStage::File>& files = report.save.files;
  files.push_back({saved.path, saved.bytes});
  if (!saved.data_path.empty()) files.push_back({saved.data_path, saved.data_bytes});
}

void report_files(const std::string& list, const SavedSet& saved, Report& report) {
  if (saved.out) report_files(*saved.out, report);
  std::vector<SaveStage::File>& files = report.save.files;
  files.push_back({list, saved.list_bytes});
  std::error_code none;  // the list is there: it has just been written
  const bool link = std::filesystem::is_symlink(list, none);
  const std::string folder = folder_of(link ? std::filesystem::canonical(list, none).string() : list);
  for (const SetFile& f : saved.files()) {
    files.push_back({folder + "/" + f.name, f.bytes});
    if (report.output.empty()) report.after.bytes += f.bytes;
  }
}

Status SavedInMemory::save(const Model& model, std::span<const TypeOverride> types, const std::string& folder,
                           const ModelPart* part) {
  SaveOptions options;
  // nothing is written there: the path determines where data files are found
  options.path = folder + "/model";
  options.types = types;
  options.part = part;
  const DataPlan plan(model, options, false, false);
  MessageWriter writer(model, options, plan);
  const std::vector<wire::ByteRange> ranges = writer.ranges();
  folder_ = folder;
  bytes_.clear();
  if (writer.size() > std::numeric_limits<std::int32_t>::max()) {
    return Error{ErrorKind::NotChecked,
                 {model.file, {}, {}, {}, {}},
                 "the model to be run has " + std::to_string(writer.size()) +
                     " bytes, more than ONNX Runtime takes in one range",
                 "keep the weights in external data, or leave out what runs it (--check)"};
  }
  bytes_.reserve(writer.size());
  for (const wire::ByteRange& range : ranges) bytes_.append(range.data, range.size);
  return Done{};
}

}  // namespace graphopt
