// See writer.h. Steps: plan the destination of payloads, make the message, write the data file, write the
// model, give both their names.
#include "onnx/writer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <limits>
#include <optional>

#include "onnx/data_writer.h"
#include "onnx/message_writer.h"
#include "support/file.h"

namespace graphopt {
namespace {

constexpr std::uint64_t kLargestMessage = std::numeric_limits<std::int32_t>::max();  // protobuf's own limit
constexpr std::uint64_t kWorthCopying = 64 * 1024;

Status write_ranges(const std::vector<wire::ByteRange>& ranges, OutputFile& out) {
  for (const wire::ByteRange& range : ranges) {
    const Bytes bytes(range.data, range.size);
    const FileImage* image = range.size >= kWorthCopying ? FileImage::holding(bytes) : nullptr;
    Status s =
        image != nullptr
            ? out.copy(*image, static_cast<std::uint64_t>(bytes.data() - image->bytes().data()), bytes.size())
            : out.write(bytes);
    if (!s) return s;
  }
  return Done{};
}

// Checks that files that will be read through maps still have their length.
std::optional<Error> shrunk_input(const Model& m) {
  const auto check = [](Bytes bytes) -> std::optional<Error> {
    const FileImage* image = bytes.empty() ? nullptr : FileImage::holding(bytes);
    if (image == nullptr || image->still_whole()) return std::nullopt;
    Error e{ErrorKind::Input,
            {},
            "the file became shorter while it was read",
            "run again when nothing else writes to it"};
    e.place.file = image->path();
    return e;
  };
  if (!m.rest.empty())
    if (std::optional<Error> e = check(m.rest.front())) return e;
  if (!m.had_external_data) return std::nullopt;
  const FileImage* last = nullptr;
  for (std::uint32_t i = 0; i < m.tensor_count(); ++i) {
    const Tensor& t = m.tensor(TensorId{i});
    if (!t.external) continue;
    const FileImage* image = FileImage::holding(t.raw);
    if (image == last) continue;
    last = image;
    if (std::optional<Error> e = check(t.raw)) return e;
  }
  return std::nullopt;
}

bool is_plain_file(const std::string& path) {
  struct stat info{};
  return path != "-" && (::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode));
}

// OUT may be IN, but not a file that contains weights of the model: both would be lost.
std::optional<Error> hits_weights(const Model& m, const std::string& path) {
  if (path == "-" || !m.had_external_data) return std::nullopt;
  const FileImage* last = nullptr;
  for (std::uint32_t i = 0; i < m.tensor_count(); ++i) {
    const Tensor& t = m.tensor(TensorId{i});
    const FileImage* image = t.external ? FileImage::holding(t.raw) : nullptr;
    if (image == nullptr || image == last) continue;
    last = image;
    if (!image->is_file(path)) continue;
    Error e{ErrorKind::Output,
            {},
            "the model that was read keeps its weights in this file",
            "give -o another name"};
    e.place.file = path;
    return e;
  }
  return std::nullopt;
}

}  // namespace

Result<SavedFiles> save_model(const Model& m, const SaveOptions& options) {
  if (std::optional<Error> e = shrunk_input(m)) return *std::move(e);
  if (std::optional<Error> e = hits_weights(m, options.path)) return *std::move(e);
  struct stat before{};
  const bool replaces =
      options.path != "-" && ::stat(options.path.c_str(), &before) == 0 && S_ISREG(before.st_mode);
  const bool files_allowed = is_plain_file(options.path);
  Result<OutputFile> model_file = OutputFile::create(options.path, options.force);
  if (!model_file) return model_file.errors();

  std::optional<DataPlan> plan(std::in_place, m, options, files_allowed, false);
  std::optional<MessageWriter> message(std::in_place, m, options, *plan);
  std::vector<wire::ByteRange> ranges = message->ranges();
  if (message->size() > kLargestMessage && files_allowed && options.external == SaveOptions::External::Auto) {
    message.reset();
    plan.emplace(m, options, files_allowed, true);
    message.emplace(m, options, *plan);
    ranges = message->ranges();
  }
  if (message->size() > kLargestMessage) {
    Error e{ErrorKind::Output,
            {},
            "the model has " + std::to_string(message->size()) +
                " bytes, and a single ONNX file can have 2147483647 at most",
            {}};
    e.place.file = options.path;
    e.remedy = !files_allowed ? "give -o the path of a file, beside which a data file can stand"
               : options.external == SaveOptions::External::Never ? "leave out --external-data never"
                                                                  : "lower --external-threshold";
    return e;
  }

  SavedFiles saved;
  saved.path = options.path;
  saved.bytes = message->size();
  saved.data_kept = plan->keeps();
  saved.data_bytes = plan->data_bytes() + plan->kept_bytes();
  std::optional<OutputFile> data_file;
  const std::string target = model_file->target();
  if (plan->has_data()) {
    if (Status s = plan->write(target, data_file); !s) return s.errors();
    saved.data_path = folder_of(options.path) + "/" + plan->file_name();
  }
  if (Status s = write_ranges(ranges, *model_file); !s) return s.errors();
  if (Status s = model_file->finish(); !s) return s.errors();
  if (data_file)
    if (Status s = data_file->commit(); !s) return s.errors();
  if (Status s = model_file->commit(); !s) {
    if (data_file) ::unlink((folder_of(target) + "/" + plan->file_name()).c_str());
    return s.errors();
  }
  if (replaces) remove_old_data(m, target, locations(m, *plan));
  return saved;
}

}  // namespace graphopt
