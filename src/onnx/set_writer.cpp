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

// The model beside the set. Its old file gets a second name for a moment, so that it can be brought back;
// where the file system has no links, or OUT is on another one than the list, it cannot.
class Out {
 public:
  // The set and the model must outlive this object.
  Out(OutputSet& set, const SetModel& model) : set_(set), output_(*model.model, model.options) {}

  Status write(const std::string& path) {
    if (Status s = output_.write(); !s) return s;
    if (output_.regular()) return Done{};
    return output_error(path, "a model beside a set of files cannot go to a pipe or a device",
                        "give -o the path of a file");
  }

  Status place() {
    const std::string kept = set_.scratch("out");
    if (output_.replaces() && ::link(output_.target().c_str(), kept.c_str()) == 0) kept_ = kept;
    return output_.place();
  }

  void undo() {
    if (!kept_.empty()) ::rename(kept_.c_str(), output_.target().c_str());
    else if (!output_.replaces()) ::unlink(output_.target().c_str());
    else return;  // the new file stays, and needs its data
    output_.remove_data();
  }

  void remove_old() const { output_.remove_old(); }
  const SavedFiles& saved() const { return output_.saved(); }

 private:
  OutputSet& set_;
  ModelOutput output_;
  std::string kept_;
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
  // Each plan is made again for its message, which costs a walk over the model: all of them at once would be
  // a table of all tensors for each of many parts.
  DataLayout layout(DataLayout::Share::Contents);
  for (const SetModel& model : models) const DataPlan plan(*model.model, model.options, layout);

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
  std::optional<Out> out;
  FileBeside beside;
  if (options.out) {
    out.emplace(set, *options.out);
    if (Status s = out->write(options.out->options.path); !s) return s.errors();
    saved.out = out->saved();
    beside = {[&out] { return out->place(); }, [&out] { out->undo(); }};
  }
  const std::string list = options.write_list(saved);
  saved.list_bytes = list.size();
  if (Status s = set.commit(list, beside); !s) return s.errors();
  if (out) out->remove_old();
  return saved;
}

}  // namespace graphopt
