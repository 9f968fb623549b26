// See writer.h. Steps: plan the destination of payloads, make the message, write the data file, write the
// model, give both their names.
#include "onnx/writer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <optional>

#include "onnx/data_writer.h"
#include "onnx/message_writer.h"
#include "onnx/text_form.h"
#include "onnx/write_steps.h"
#include "support/file.h"

namespace graphopt {
namespace {

bool is_plain_file(const std::string& path) {
  struct stat info{};
  return path != "-" && (::stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode));
}

}  // namespace

ModelOutput::ModelOutput(const Model& m, const SaveOptions& options) : m_(m), options_(options) {}
ModelOutput::ModelOutput(const Model& m, const SaveOptions& options, DataLayout& shared)
    : m_(m), options_(options), plan_(std::make_unique<DataPlan>(m, options, shared)), shares_(true) {}
ModelOutput::~ModelOutput() = default;

void ModelOutput::name_data(std::string name) { plan_->name_file(std::move(name)); }

Status ModelOutput::write() {
  if (std::optional<Error> e = shrunk_input(m_)) return *std::move(e);
  if (std::optional<Error> e = hits_weights(m_, options_.path)) return *std::move(e);
  struct stat before{};
  replaces_ = options_.path != "-" && ::stat(options_.path.c_str(), &before) == 0 && S_ISREG(before.st_mode);
  const bool files_allowed = is_plain_file(options_.path);
  Result<OutputFile> model_file = OutputFile::create(options_.path, options_.force);
  if (!model_file) return model_file.errors();
  model_file_.emplace(*std::move(model_file));
  if (!options_.data_name.empty())
    if (std::optional<Error> e = bad_data_name(options_, target())) return *std::move(e);

  if (!shares_) plan_ = std::make_unique<DataPlan>(m_, options_, files_allowed, false);
  auto message = std::make_unique<MessageWriter>(m_, options_, *plan_);
  std::vector<wire::ByteRange> ranges = message->ranges();
  if (message->size() > kLargestMessage && files_allowed && !shares_ &&
      options_.external == SaveOptions::External::Auto) {
    message.reset();
    plan_ = std::make_unique<DataPlan>(m_, options_, files_allowed, true);
    message = std::make_unique<MessageWriter>(m_, options_, *plan_);
    ranges = message->ranges();
  }
  if (message->size() > kLargestMessage) {
    return too_large(options_.path, message->size(),
                     !files_allowed ? "give -o the path of a file, next to which a data file can be"
                     : options_.external == SaveOptions::External::Never ? "leave out --external-data never"
                                                                         : "lower --external-threshold");
  }
  saved_.path = options_.path;
  saved_.bytes = message->size();
  saved_.kept_bytes = plan_->kept_bytes();
  if (plan_->keeps()) {
    saved_.kept_data = locations(m_, *plan_);
    std::erase(saved_.kept_data, plan_->file_name());
  }
  saved_.data_bytes = plan_->data_bytes() + plan_->kept_bytes();
  if (plan_->has_data() && !shares_) {
    if (Status s = plan_->write(target(), data_file_); !s) return s;
    saved_.data_path = folder_of(options_.path) + "/" + plan_->file_name();
  }
  if (const TextForm form = text_form(options_.path); form != TextForm::None) {
    const Result<std::string> text = text_of(ranges, form, options_.path);
    if (!text) return text.errors();
    saved_.bytes = text->size();
    if (Status s = model_file_->write(*text); !s) return s;
    return model_file_->finish();
  }
  if (finds_sha256_) sha256_ = sha256_of(ranges);
  if (Status s = write_ranges(ranges, *model_file_); !s) return s;
  return model_file_->finish();
}

Status ModelOutput::place() {
  remove_old_model();
  if (data_file_)
    if (Status s = data_file_->commit(); !s) return s;
  Status s = model_file_->commit();
  if (!s) remove_data();
  return s;
}

// Where a file of the user's name for data is replaced, an old model may refer to it: see
// SaveOptions::data_name.
void ModelOutput::remove_old_model() const {
  struct stat data{}, model{};
  if (!data_file_ || options_.data_name.empty() || !replaces_) return;
  if (::stat(data_file_->target().c_str(), &data) != 0 || ::stat(target().c_str(), &model) != 0) return;
  const bool is_read = FileImage::maps(model.st_dev, model.st_ino) || resolved(m_.file) == target();
  if (!is_read) ::unlink(target().c_str());
}

void ModelOutput::remove_data() const {
  if (data_file_) ::unlink((folder_of(target()) + "/" + plan_->file_name()).c_str());
}

void ModelOutput::remove_old() const {
  if (replaces_) remove_old_data(m_, target(), locations(m_, *plan_));
}

Result<SavedFiles> save_model(const Model& m, const SaveOptions& options) {
  ModelOutput output(m, options);
  if (Status s = output.write(); !s) return s.errors();
  if (Status s = output.place(); !s) return s.errors();
  output.remove_old();
  return output.saved();
}

}  // namespace graphopt
