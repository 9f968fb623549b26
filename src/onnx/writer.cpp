// See writer.h. Steps: plan the destination of payloads, make the message, write the data file, write the
// model, give both their names.
#include "onnx/writer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "onnx/data_writer.h"
#include "onnx/message_writer.h"
#include "onnx/write_steps.h"
#include "support/file.h"

namespace graphopt {
namespace {

bool is_plain_file(const std::string& path) {
  struct stat info{};
  return path != "-" && (::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode));
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
    return too_large(options.path, message->size(),
                     !files_allowed ? "give -o the path of a file, beside which a data file can stand"
                     : options.external == SaveOptions::External::Never ? "leave out --external-data never"
                                                                        : "lower --external-threshold");
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
