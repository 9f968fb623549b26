// See set_writer.h. Steps: lay out the payloads of all models, write the data file, write the models, write
// OUT; then replace the list.
#include "onnx/set_writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "onnx/data_layout.h"
#include "onnx/data_writer.h"
#include "onnx/message_writer.h"
#include "onnx/write_steps.h"
#include "support/file.h"

namespace graphopt {
namespace {

constexpr std::string_view kDataExtension = ".data";

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
  return last_part(a) == last_part(b) && ::stat(folder_of(a).c_str(), &x) == 0 &&
         ::stat(folder_of(b).c_str(), &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

// The bytes of one model of the set; they view the model and the plan.
struct Message {
  Message(const SetModel& model, DataLayout& layout, const KeptFields* kept, const std::string& data_name)
      : plan(*model.model, model.options, layout, kept) {
    plan.name_file(data_name);
    writer.emplace(*model.model, model.options, plan);
    ranges = writer->ranges();
  }
  std::uint64_t size() const { return writer->size(); }

  DataPlan plan;
  std::optional<MessageWriter> writer;
  std::vector<wire::ByteRange> ranges;
};

// Fields of models that are written in parts, found once for all parts of one model.
class KeptOfModels {
 public:
  explicit KeptOfModels(std::span<const SetModel> models) {
    for (const SetModel& model : models)
      if (model.options.part) kept_.try_emplace(model.model, *model.model);
  }
  const KeptFields* of(const SetModel& model) const {
    const auto at = kept_.find(model.model);
    return at == kept_.end() ? nullptr : &at->second;
  }

 private:
  std::unordered_map<const Model*, KeptFields> kept_;
};

Error larger_than_a_file(const SetModel& model, const std::string& path, std::uint64_t bytes) {
  return too_large(path, bytes,
                   model.options.external == SaveOptions::External::Never ? "leave out --external-data never"
                                                                          : "lower --external-threshold");
}

// Returns true if the path is a file whose content has these bytes, fewer than a MiB, somewhere.
bool file_contains(const std::string& path, std::string_view bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat info{};
  bool found = false;
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    // Read, not mapped: somebody else may shorten the file meanwhile.
    std::string piece(std::size_t{1} << 20, '\0');
    std::size_t kept = 0;  // the end of the piece before
    while (!found) {
      const ssize_t n = ::read(fd, piece.data() + kept, piece.size() - kept);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      const std::size_t size = kept + static_cast<std::size_t>(n);
      found = std::string_view(piece).substr(0, size).find(bytes) != std::string_view::npos;
      kept = std::min(size, bytes.size() - 1);
      std::memmove(piece.data(), piece.data() + size - kept, kept);
    }
  }
  ::close(fd);
  return found;
}

// Returns true if a model that the data file is named after refers to it: `m.onnx` beside
// `m.onnx.<tag>.data`, or `m.onnx` in a folder above it, up to `top`, as `parts/m.onnx.<tag>.data`. Every tag
// is another one in folders of another depth, so a file that has this text in it is taken to refer to it.
bool has_user(const std::string& data, const std::string& top) {
  const std::string name = last_part(data);
  const std::optional<std::string_view> stem = stem_of(name);
  bool found = false;
  std::string location = name;
  for (std::string folder = folder_of(data); stem && !found; folder = folder_of(folder)) {
    DIR* dir = ::opendir(folder.c_str());
    while (const dirent* entry = dir == nullptr || found ? nullptr : ::readdir(dir))
      found = plain_stem(entry->d_name) == *stem && file_contains(folder + "/" + entry->d_name, location);
    if (dir != nullptr) ::closedir(dir);
    if (folder.size() <= top.size()) break;
    location.insert(0, last_part(folder) + "/");
  }
  return found;
}

// Which files of an old set stay: those of which the process has a map, since they may belong to the model
// that it read, and data files to which a model of the user's name refers. The weights of a model that OUT
// replaces go with it: then only the model that is there decides.
// `top` is the folder of the list.
std::function<bool(const std::string&)> in_use(std::span<const Model* const> models, const SetModel* out,
                                               const std::string& top) {
  const std::string target = out ? resolved(out->options.path) : std::string{};
  const auto replaced = [&target](const Model* m) { return resolved(m->file) == target; };
  const bool all_replaced = out && replaced(out->model) && std::ranges::all_of(models, replaced);
  return [all_replaced, top](const std::string& path) {
    const bool data = path.ends_with(kDataExtension);
    return ((!data || !all_replaced) && file_is_mapped(path)) || (data && has_user(path, top));
  };
}

// OUT. Its old file gets a second name for a moment, so that it can be brought back; where the file system
// has no links, or OUT is on another one than the list, it cannot.
class Out {
 public:
  // The model and the layout must outlive this object.
  Out(const SetModel& model, DataLayout* shared) {
    if (shared) output_.emplace(*model.model, model.options, *shared);
    else output_.emplace(*model.model, model.options);
    output_->find_sha256();
  }

  Status write(const std::string& data_name) {
    if (!data_name.empty()) output_->name_data(data_name);
    return output_->write();
  }

  // `kept`: a path for the old file.
  Status place(const std::string& kept) {
    const std::string& target = output_->target();
    if (output_->replaces() && ::link(target.c_str(), kept.c_str()) == 0) kept_ = kept;
    if (Status s = output_->place(); !s) return s;
    ::stat(target.c_str(), &placed_);
    // It must not be older than the list after a power cut.
    const int folder = ::open(folder_of(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool failed = folder < 0 || (::fsync(folder) != 0 && errno != EINVAL);
    const int error = errno;
    if (folder >= 0) ::close(folder);
    if (!failed) return Done{};
    undo();
    return write_error(target, folder_of(target), error);
  }

  void undo() {
    const std::string& target = output_->target();
    struct stat now{};
    if (::stat(target.c_str(), &now) != 0 || now.st_dev != placed_.st_dev || now.st_ino != placed_.st_ino)
      return;  // another run has replaced it
    if (!kept_.empty()) {
      if (::rename(kept_.c_str(), target.c_str()) != 0) return;
    } else if (!output_->replaces()) {
      ::unlink(target.c_str());
    } else {
      return;  // the new file stays, and needs its data
    }
    output_->remove_data();
  }

  const ModelOutput& output() const { return *output_; }

 private:
  std::optional<ModelOutput> output_;
  std::string kept_;
  struct stat placed_{};
};

// Many of them can be parts of one model.
std::vector<const Model*> distinct_of(std::span<const SetModel> models) {
  std::vector<const Model*> out;
  std::unordered_set<const Model*> seen;
  for (const SetModel& model : models)
    if (seen.insert(model.model).second) out.push_back(model.model);
  return out;
}

Status check(const Model& m, const std::string& list) {
  if (std::optional<Error> e = shrunk_input(m)) return *std::move(e);
  if (std::optional<Error> e = hits_weights(m, list)) return *std::move(e);
  return Done{};
}

Status check_out(const SetModel& out, const std::string& list) {
  if (Status s = check(*out.model, list); !s) return s;
  const std::string& path = out.options.path;
  if (same_target(path, list))
    return output_error(list, "the model and the list of the set have the same name",
                        "give one of them another name");
  struct stat info{};
  if (path == "-" || (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)))
    return output_error(path, "a model next to a set of files cannot go to a pipe or a device",
                        "give -o the path of a file");
  // Says what is wrong with its path before anything of the set is made.
  if (const Result<OutputFile> probe = OutputFile::create(path, out.options.force); !probe)
    return probe.errors();
  return Done{};
}

// Returns the folder of the set's files as OUT names it: empty, or with a slash at the end.
Result<std::string> data_folder_of(const OutputSet& set, const std::string& out) {
  const std::string name = set.name_of(out);
  const std::string_view folder = std::string_view(name).substr(0, name.size() - last_part(name).size());
  if (!name.empty() && set.prefix().starts_with(folder)) return set.prefix().substr(folder.size());
  return output_error(out, "it would refer to weights that are neither in its folder nor below it",
                      "name a folder for them that is below the model's");
}

}  // namespace

std::vector<SetFile> SavedSet::files() const {
  std::vector<SetFile> out;
  if (data) out.push_back(*data);
  out.insert(out.end(), models.begin(), models.end());
  return out;
}

struct WrittenSet::State {
  State(std::unique_ptr<OutputSet> opened, const SetOptions& options) : set(std::move(opened)) {
    if (options.out) out.emplace(*options.out, options.out_shares_data ? &layout : nullptr);
  }

  std::unique_ptr<OutputSet> set;
  DataLayout layout{DataLayout::Share::Contents};
  std::optional<Out> out;
  SavedSet saved;
};

WrittenSet::WrittenSet(std::unique_ptr<State> state) : state_(std::move(state)) {}
WrittenSet::WrittenSet(WrittenSet&&) noexcept = default;
WrittenSet::~WrittenSet() = default;

const SavedSet& WrittenSet::saved() const { return state_->saved; }

Status WrittenSet::commit(std::string_view list_text) {
  State& s = *state_;
  FileBeside beside;
  if (s.out)
    beside = {[&s]() -> Status {
                Status placed = s.out->place(s.set->scratch("out"));
                if (!placed) s.out->undo();
                return placed;
              },
              [&s] { s.out->undo(); }};
  if (Status done = s.set->commit(list_text, beside); !done) return done;
  s.saved.list_bytes = list_text.size();
  if (s.out) s.out->output().remove_old();
  return Done{};
}

Result<WrittenSet> write_set(std::span<const SetModel> models, const SetOptions& options) {
  const std::vector<const Model*> distinct = distinct_of(models);
  for (const Model* m : distinct)
    if (Status s = check(*m, options.list); !s) return s.errors();
  const bool shares = options.out && options.out_shares_data;
  std::string out_path;  // links followed
  if (options.out) {
    if (Status s = check_out(*options.out, options.list); !s) return s.errors();
    out_path = resolved(options.out->options.path);
  }
  std::string folder = options.folder;
  if (folder.empty() && shares) folder = folder_of(out_path);
  Result<std::unique_ptr<OutputSet>> opened =
      OutputSet::open(options.list, options.read_list, options.force,
                      {std::move(folder), in_use(distinct, options.out, folder_of(resolved(options.list)))});
  if (!opened) return opened.errors();
  const Result<std::string> data_folder = shares ? data_folder_of(**opened, out_path) : std::string{};
  if (!data_folder) return data_folder.errors();
  auto state = std::make_unique<WrittenSet::State>(*std::move(opened), options);
  OutputSet& set = *state->set;
  DataLayout& layout = state->layout;
  SavedSet& saved = state->saved;
  // Each plan is made again for its message, which costs a walk over the model or the part: all of them at
  // once would be a table of all tensors for each of many forms of a model.
  const KeptOfModels kept(models);
  for (const SetModel& model : models)
    const DataPlan plan(*model.model, model.options, layout, kept.of(model));

  if (!layout.empty()) {
    Result<SetFile> data =
        set.add(shares ? last_part(out_path) : options.data_name, kDataExtension, layout.size(),
                layout.sha256(), [&layout](OutputFile& file) { return layout.write(file); });
    if (!data) return data.errors();
    saved.data = *std::move(data);
  }
  const std::string data_name = saved.data ? last_part(saved.data->name) : std::string{};
  for (const SetModel& model : models) {
    const Message message(model, layout, kept.of(model), data_name);
    if (message.size() > kLargestMessage)
      return larger_than_a_file(model, folder_of(options.list) + "/" + model.name, message.size());
    Result<SetFile> file = set.add(model.name, ".onnx", message.size(), sha256_of(message.ranges),
                                   [&message](OutputFile& to) { return write_ranges(message.ranges, to); });
    if (!file) return file.errors();
    saved.models.push_back(*std::move(file));
  }
  if (state->out) {
    if (Status s = state->out->write(shares && saved.data ? *data_folder + data_name : std::string{}); !s)
      return s.errors();
    const ModelOutput& written = state->out->output();
    saved.out = written.saved();
    saved.out_file = {set.name_of(written.target()), saved.out->bytes, written.sha256()};
  }
  return WrittenSet(std::move(state));
}

Result<SavedSet> save_set(std::span<const SetModel> models, const SetOptions& options) {
  Result<WrittenSet> written = write_set(models, options);
  if (!written) return written.errors();
  if (Status done = written->commit(plain_list(written->saved().files())); !done) return done.errors();
  return written->saved();
}

}  // namespace graphopt
