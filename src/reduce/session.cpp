#include "reduce/session.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "onnx/data_writer.h"
#include "onnx/message_writer.h"
#include "onnx/reader.h"
#include "onnx/writer.h"
#include "reduce/original.h"
#include "support/file.h"
#include "support/temporary_files.h"

namespace graphopt {
namespace {

// Larger models are written with their weights beside them, and are not shown to onnx's checker.
constexpr std::uint64_t kLargest = 256u << 20;

}  // namespace

// --- models ------------------------------------------------------------------------------------------------

// A model as its bytes say; `bytes` is empty where they are in files, of which the test gets copies: the
// model is a map of them, which must not change with what the test writes.
struct Session::State {
  Model model;
  std::optional<Inference> inference;  // listens to the model: they stay where they are
  Measure measure;
  std::string bytes;
  std::vector<std::string> files;
};

Session::Session(TemporaryFolder folder, TestModel test, std::function<bool()> ended)
    : folder_(std::move(folder)), test_(std::move(test)), ended_(std::move(ended)) {}
Session::~Session() = default;

const Model& Session::model() const { return now_->model; }
const Inference& Session::inference() const { return *now_->inference; }
const Measure& Session::measure() const { return now_->measure; }

Result<std::unique_ptr<Session>> Session::open(const std::string& input, const std::string& external_root,
                                               TemporaryFolder folder, TestModel test,
                                               std::function<bool()> ended) {
  std::vector<Warning> warnings;
  Result<std::shared_ptr<const FileImage>> image = FileImage::open(input);
  if (!image) return image.errors();
  Result<Model> model = (*image)->mapped()
                            ? load_model({input, external_root, 0, true}, warnings)
                            : load_model_from_memory(std::string((*image)->bytes()), input,
                                                     input == "-" ? "." : folder_of(input), warnings);
  if (!model) return model.errors();
  std::unique_ptr<Session> out(new Session(std::move(folder), std::move(test), std::move(ended)));
  out->now_ = std::make_unique<State>();
  out->now_->model = *std::move(model);
  // From here on everything is as the writer makes it.
  std::unique_ptr<State> state = out->written(out->now_->model, nullptr);
  if (!state) {
    return Error{ErrorKind::Input,
                 {input, {}, {}, {}, {}},
                 "it cannot be written and read again",
                 "graphopt IN -O0 -o OUT shows why"};
  }
  state->inference.emplace(state->model, InferOptions{});
  state->inference->run();
  out->now_ = std::move(state);
  if (!out->now_->bytes.empty()) out->conformance_ = conformance_of(out->now_->bytes);
  return out;
}

std::unique_ptr<Session::State> Session::written(const Model& m, const Candidate* candidate) {
  SaveOptions options;
  options.path = folder_.model();
  if (candidate) {
    options.types = candidate->types;
    options.part = &candidate->part;
  }
  std::vector<Warning> warnings;
  auto out = std::make_unique<State>();
  if (m.file_bytes <= kLargest) {
    options.external = SaveOptions::External::Never;
    const DataPlan plan(m, options, false, false);
    MessageWriter writer(m, options, plan);
    const std::vector<wire::ByteRange> ranges = writer.ranges();
    out->bytes.reserve(writer.size());
    for (const wire::ByteRange& range : ranges) out->bytes.append(range.data, range.size);
    Result<Model> read = load_model_from_memory(out->bytes, options.path, folder_.path(), warnings);
    if (!read) return nullptr;
    out->model = *std::move(read);
  } else {
    options.external = SaveOptions::External::Always;
    if (!kept_) {
      Result<TemporaryFolder> folder = TemporaryFolder::create();
      if (!folder) {
        failures_ = folder.errors();
        return nullptr;
      }
      kept_.emplace(*std::move(folder));
    }
    options.path = kept_->model();
    const Result<SavedFiles> saved = save_model(m, options);
    if (!saved) {
      failures_ = saved.errors();
      return nullptr;
    }
    Result<Model> read = load_model({options.path, {}, 0, true}, warnings);
    if (!read) return nullptr;
    out->model = *std::move(read);
    out->files.push_back(saved->path);
    if (!saved->data_path.empty()) out->files.push_back(saved->data_path);
  }
  out->measure = measure_of(out->model);
  return out;
}

bool Session::passes(const State& s) {
  const std::string path = folder_.model();
  if (!s.bytes.empty()) {
    const TemporaryName name(path);  // the folder of a process that a signal ends stays empty
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);  // what the last test may have made of it
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(s.bytes.data(), static_cast<std::streamsize>(s.bytes.size()));
    file.close();
    if (!file) {
      failures_ = {no_room(path, errno)};
      return false;
    }
    ++tried_;
    const Result<bool> answer = test_(path);
    if (!answer) failures_ = answer.errors();
    return answer && *answer;
  }
  for (const std::string& f : s.files) {
    const Result<std::shared_ptr<const FileImage>> image = FileImage::open(f);
    const Status done =
        image ? copy_image(**image, folder_.path() + "/" + last_part(f)) : Status(image.errors());
    if (!done) {
      failures_ = done.errors();
      return false;
    }
  }
  ++tried_;
  const Result<bool> answer = test_(path);
  if (!answer) failures_ = answer.errors();
  return answer && *answer;
}

// --- attempts ----------------------------------------------------------------------------------------------

bool Session::survives_saving() { return passes(*now_); }

bool Session::still_passes() {
  if (!now_->bytes.empty()) return passes(*now_);
  const std::unique_ptr<State> again = written(model(), nullptr);  // the file is that of another candidate
  return again && passes(*again);
}

void Session::drop_unused() {
  if (attempt(edit())) return;
  Edit e = edit();
  const Candidate plain = settle(e, inference(), false);
  const std::unique_ptr<State> without = written(e.model, &plain);
  keep_unused_ = without && without->measure < measure();
}

bool Session::attempt(Edit e) {
  if (ended()) return false;
  const Candidate candidate = settle(e, inference(), keep_unused_);
  std::unique_ptr<State> next = written(e.model, &candidate);
  if (!next) {
    ++invalid_;
    return false;
  }
  if (!(next->measure < measure())) return false;
  if (!next->bytes.empty()) {
    if (!seen_.insert(std::hash<std::string_view>{}(next->bytes)).second) return false;
    if (conformance_ != Conformance::Broken && conformance_of(next->bytes) < conformance_) {
      ++invalid_;
      return false;
    }
  }
  if (!passes(*next)) return false;
  next->inference.emplace(next->model, InferOptions{});
  next->inference->run();
  now_ = std::move(next);
  return true;
}

Status Session::save(const std::string& output) const {
  SaveOptions options;
  options.path = output;
  const Result<SavedFiles> saved = save_model(model(), options);
  if (!saved) return saved.errors();
  return Done{};
}

}  // namespace graphopt
