// See set_writer.h. Steps: lay out the payloads of all models, write the data file, write the models, write
// the model that stands beside the set, replace the list.
#include "onnx/set_writer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

#include "onnx/data_layout.h"
#include "onnx/data_writer.h"
#include "onnx/message_writer.h"
#include "onnx/write_steps.h"
#include "support/file.h"

namespace graphopt {
namespace {

constexpr std::size_t kShortHash = 16;  // digits, as in the data file of a model that is saved alone

Error output_error(const std::string& path, std::string what, std::string remedy) {
  Error e{ErrorKind::Output, {}, std::move(what), std::move(remedy)};
  e.place.file = path;
  return e;
}

// Two names of one file, or of one that is not there yet.
bool same_target(const std::string& a, const std::string& b) {
  struct stat x{}, y{};
  const bool has_a = ::stat(a.c_str(), &x) == 0, has_b = ::stat(b.c_str(), &y) == 0;
  if (has_a || has_b) return has_a && has_b && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
  return a.substr(a.rfind('/') + 1) == b.substr(b.rfind('/') + 1) && ::stat(folder_of(a).c_str(), &x) == 0 &&
         ::stat(folder_of(b).c_str(), &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

// The bytes of one model of the set; they view the model and the plan.
struct Message {
  Message(const SetModel& model, DataLayout& layout, const std::string& data_name)
      : plan(*model.model, model.options, layout) {
    plan.name_file(data_name);
    writer.emplace(*model.model, model.options, plan);
    ranges = writer->ranges();
  }
  std::uint64_t size() const { return writer->size(); }

  DataPlan plan;
  std::optional<MessageWriter> writer;
  std::vector<wire::ByteRange> ranges;
};

Error larger_than_a_file(const SetModel& model, const std::string& path, std::uint64_t bytes) {
  return too_large(path, bytes,
                   model.options.external == SaveOptions::External::Never ? "leave out --external-data never"
                                                                          : "lower --external-threshold");
}

// The model beside the set.
class Out {
 public:
  // The set must outlive this object.
  Out(OutputSet& set, const SetModel& model) : set_(set), model_(model) {}

  Status open() {
    const std::string& path = model_.options.path;
    if (std::optional<Error> e = hits_weights(*model_.model, path)) return *std::move(e);
    Result<OutputFile> file = OutputFile::create(path, model_.options.force);
    if (!file) return file.errors();
    if (!file->regular())
      return output_error(path, "a model beside a set of files cannot go to a pipe or a device",
                          "give -o the path of a file");
    file_.emplace(*std::move(file));
    return Done{};
  }

  // Writes everything but the names.
  Status write(DataLayout& layout, const std::optional<SetFile>& data) {
    const std::string target = file_->target();
    if (data)
      data_name_ = target.substr(target.rfind('/') + 1) + "." + data->sha256.substr(0, kShortHash) + ".data";
    const Message message(model_, layout, data_name_);
    if (message.size() > kLargestMessage)
      return larger_than_a_file(model_, model_.options.path, message.size());
    if (Status s = write_ranges(message.ranges, *file_); !s) return s;
    if (!message.plan.has_data()) data_name_.clear();
    saved_.path = model_.options.path;
    saved_.bytes = message.size();
    if (!data_name_.empty()) {
      data_ = data;
      saved_.data_path = folder_of(model_.options.path) + "/" + data_name_;
      saved_.data_bytes = data->bytes;
    }
    return file_->finish();
  }

  Status place() {
    const std::string target = file_->target();
    if (data_)
      if (Status s = place_data(folder_of(target) + "/" + data_name_); !s) return s;
    struct stat info{};
    replaces_ = ::stat(target.c_str(), &info) == 0;
    // The old file's second name, to bring it back. Elsewhere than beside the list it may be impossible.
    const std::string kept = set_.scratch("out");
    if (replaces_ && ::link(target.c_str(), kept.c_str()) == 0) kept_ = kept;
    target_ = target;
    if (Status s = file_->commit(); !s) {
      remove_data();
      return s;
    }
    return Done{};
  }

  void undo() {
    if (!kept_.empty()) ::rename(kept_.c_str(), target_.c_str());
    else if (!replaces_) ::unlink(target_.c_str());
    else return;  // the new file stays, and needs its data
    remove_data();
  }

  void remove_old() const {
    if (replaces_) remove_old_data(*model_.model, target_, {data_name_});
  }

  const SavedFiles& saved() const { return saved_; }

 private:
  Status place_data(const std::string& path) {
    if (file_holds(path, data_->bytes, data_->sha256)) return Done{};
    struct stat info{};
    made_data_ = ::lstat(path.c_str(), &info) != 0 ? path : std::string{};
    const std::string from = set_.path_of(*data_), link = set_.scratch("out.data");
    if (::link(from.c_str(), link.c_str()) == 0 && ::rename(link.c_str(), path.c_str()) == 0) return Done{};
    const Result<std::shared_ptr<const FileImage>> image = FileImage::open(from);
    if (!image) return image.errors();
    Result<OutputFile> copy = OutputFile::create(path, true);
    if (!copy) return copy.errors();
    if (Status s = copy->copy(**image, 0, (*image)->bytes().size()); !s) return s;
    return copy->commit();
  }
  void remove_data() {
    if (!made_data_.empty()) ::unlink(made_data_.c_str());
  }

  OutputSet& set_;
  const SetModel& model_;
  std::optional<OutputFile> file_;
  std::optional<SetFile> data_;  // the set's
  std::string data_name_, made_data_, target_, kept_;
  bool replaces_ = false;
  SavedFiles saved_;
};

Status check(const SetModel& model, const std::string& list) {
  if (std::optional<Error> e = shrunk_input(*model.model)) return *std::move(e);
  if (std::optional<Error> e = hits_weights(*model.model, list)) return *std::move(e);
  return Done{};
}

}  // namespace

std::vector<SetFile> SavedSet::files() const {
  std::vector<SetFile> out;
  if (data) out.push_back(*data);
  out.insert(out.end(), models.begin(), models.end());
  return out;
}

Result<SavedSet> save_set(std::span<const SetModel> models, const SetOptions& options) {
  for (const SetModel& model : models)
    if (Status s = check(model, options.list); !s) return s.errors();
  if (options.out) {
    if (Status s = check(*options.out, options.list); !s) return s.errors();
    if (same_target(options.out->options.path, options.list))
      return output_error(options.list, "the model and the list of the set have the same name",
                          "give one of them another name");
  }
  Result<std::unique_ptr<OutputSet>> opened = OutputSet::open(options.list, options.read_list, options.force);
  if (!opened) return opened.errors();
  OutputSet& set = **opened;
  std::optional<Out> out;
  if (options.out) {
    out.emplace(set, *options.out);
    if (Status s = out->open(); !s) return s.errors();
  }

  // Each plan is made again for its message, which costs a walk over the model: all of them at once would be
  // a table of all tensors for each of many parts.
  DataLayout layout(DataLayout::Share::Contents);
  for (const SetModel& model : models) const DataPlan plan(*model.model, model.options, layout);
  if (options.out) const DataPlan plan(*options.out->model, options.out->options, layout);

  SavedSet saved;
  if (!layout.empty()) {
    Result<SetFile> data = set.add(options.data_name, ".data", layout.size(), layout.sha256(),
                                   [&layout](OutputFile& file) { return layout.write(file); });
    if (!data) return data.errors();
    saved.data = *std::move(data);
  }
  const std::string data_name = saved.data ? saved.data->name : std::string{};
  for (const SetModel& model : models) {
    const Message message(model, layout, data_name);
    if (message.size() > kLargestMessage)
      return larger_than_a_file(model, folder_of(options.list) + "/" + model.name, message.size());
    Result<SetFile> file = set.add(model.name, ".onnx", message.size(), sha256_of(message.ranges),
                                   [&message](OutputFile& to) { return write_ranges(message.ranges, to); });
    if (!file) return file.errors();
    saved.models.push_back(*std::move(file));
  }
  FileBeside beside;
  if (out) {
    if (Status s = out->write(layout, saved.data); !s) return s.errors();
    saved.out = out->saved();
    beside = {[&out] { return out->place(); }, [&out] { out->undo(); }};
  }
  if (Status s = set.commit(options.write_list(saved), beside); !s) return s.errors();
  if (out) out->remove_old();
  return saved;
}

}  // namespace graphopt
