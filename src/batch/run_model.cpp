// The run of one model of a batch: its record is marked as unfinished, the model is optimized, and a new
// record is written when all files are there. So a process that ends at any moment leaves an output with a
// record that is true, or one without a finished record, which is done again.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "batch/record.h"
#include "deploy/manifest_files.h"
#include "exports/marker.h"
#include "graphopt/batch.h"
#include "graphopt/version.h"
#include "onnx/reader.h"
#include "support/file.h"
#include "support/output_folder.h"
#include "support/output_set.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;

// Follows a run for the caller, and keeps what it says.
class RunWatch final : public Observer {
 public:
  RunWatch(Observer& progress, std::vector<std::string>& warnings)
      : progress_(progress), warnings_(warnings) {}
  bool wants(LogLevel level) const override { return level == LogLevel::Warning || progress_.wants(level); }
  void log(LogLevel level, std::string_view message) override {
    if (level == LogLevel::Warning) warnings_.emplace_back(message);
    else progress_.log(level, message);
  }
  void stage(Stage stage) override { progress_.stage(stage); }
  void step(std::string_view what, std::uint64_t done, std::uint64_t total) override {
    progress_.step(what, done, total);
  }
  void text(std::string_view pass, std::string_view model) override { progress_.text(pass, model); }
  void failed(const Report& report) override { failed_ = report; }
  bool stop_requested() override { return progress_.stop_requested(); }

  const std::optional<Report>& failed_report() const { return failed_; }

 private:
  Observer& progress_;
  std::vector<std::string>& warnings_;
  std::optional<Report> failed_;
};

// Both are given in the same way. Links are kept: a data file that is a link is another one when that leads
// elsewhere.
std::string relative_to(const std::string& folder, const std::string& path) {
  const fs::path below = fs::path(path).lexically_relative(folder);
  return below.empty() ? absolute_path(path) : below.string();
}

std::vector<RecordedFile> recorded(const std::vector<std::string>& paths, const std::string& folder) {
  std::vector<RecordedFile> out;
  for (const std::string& path : paths)
    if (const auto state = state_of(path, true)) out.push_back({relative_to(folder, path), *state});
  return out;
}

// Returns the files of an export's folder one by one.
std::vector<std::string> files_below(const std::vector<SaveStage::File>& written) {
  std::vector<std::string> out;
  for (const SaveStage::File& f : written) {
    std::error_code failure;
    if (!fs::is_directory(f.path, failure)) {
      out.push_back(f.path);
      continue;
    }
    for (fs::recursive_directory_iterator it(f.path, failure), end; !failure && it != end;
         it.increment(failure))
      if (it->is_regular_file(failure)) out.push_back(it->path().string());
  }
  return out;
}

// Returns those files of a list that are not in another.
std::vector<RecordedFile> not_in(const std::vector<RecordedFile>& now, const std::vector<RecordedFile>& all) {
  std::unordered_set<std::string_view> known;
  for (const RecordedFile& f : now) known.insert(f.path);
  std::vector<RecordedFile> out = all;
  std::erase_if(out, [&](const RecordedFile& f) { return known.contains(f.path); });
  return out;
}

Status copy_file(const std::string& from, const std::string& to) {
  std::error_code failure;
  fs::create_directories(folder_of(to), failure);
  if (failure) return write_error(to, folder_of(to), failure.value());
  const auto image = FileImage::open(from);
  if (!image) return image.errors();
  Result<OutputFile> file = OutputFile::create(to);
  if (!file) return file.errors();
  if (Status copied = file->copy(**image, 0, (*image)->bytes().size()); !copied) return copied;
  return file->commit();
}

class ModelRun {
 public:
  ModelRun(const BatchOptions& options, const BatchModel& model)
      : options_(options),
        model_(model),
        record_path_(record_path(options.output, model.name)),
        in_folder_(folder_of(model.options.input)),
        out_folder_(folder_of(model.options.output)),
        before_(read_record(record_path_)),
        start_(moment_of_touch(mark_path(options))) {}

  BatchResult run(Observer& progress) {
    if (Status ready = begin(); !ready) return fail(ready.errors());
    const auto input = state_of(model_.options.input);
    RunWatch watch(progress, result_.warnings);
    Result<Report> done = optimize(model_.options, watch);
    if (!done) {
      if (watch.failed_report()) report_ = *watch.failed_report();
      return after_error(done.errors(), report_.load.data_files);
    }
    report_ = *std::move(done);
    result_.figures = {report_.before.nodes, report_.after.nodes, report_.before.bytes, report_.after.bytes};
    if (Status kept = keep(report_, input); !kept) return fail(kept.errors());
    if (options_.reports) result_.report = to_json(report_);
    return std::move(result_);
  }

  BatchResult give_up(const Error& error) {
    if (Status ready = begin(); !ready) return fail(ready.errors());
    std::vector<std::string> data;
    if (options_.on_error == OnError::Copy) {
      std::vector<Warning> ignored;
      const Options& o = model_.options;
      if (const auto loaded = load_model({o.input, o.load.external_root, 0, true}, ignored))
        for (const DataFile& f : loaded->data_files) data.push_back(f.path);
    }
    return after_error({error}, data);
  }

 private:
  Status begin() {
    std::error_code failure;
    fs::create_directories(out_folder_, failure);
    if (failure) return write_error(model_.options.output, out_folder_, failure.value());
    const std::vector<std::string> sets = files_of_sets();
    if (!before_ && sets.empty()) {
      fs::remove(record_path_, failure);  // it may be there, and be none
      return failure ? write_error(record_path_, folder_of(record_path_), failure.value()) : Status(Done{});
    }
    Record unfinished = before_ ? *before_ : Record();
    const bool is_marked = before_ && unfinished.version.empty();
    unfinished.version.clear();
    unfinished.input.path = absolute_path(model_.options.input);
    const std::size_t known = unfinished.begun.size();
    for (const std::string& path : sets)
      if (std::ranges::find(unfinished.begun, path) == unfinished.begun.end())
        unfinished.begun.push_back(path);
    if (is_marked && unfinished.begun.size() == known) return Done{};
    return write_record(record_path_, unfinished);
  }

  // The manifest and the exports that this run may write, from the output's folder.
  std::vector<std::string> files_of_sets() const {
    std::vector<std::string> out = set_paths(model_.options);
    for (std::string& path : out) path = fs::path(path).lexically_relative(out_folder_).string();
    return out;
  }

  // Removes what a run that did not finish may have left, and this one did not write. A manifest is
  // removed with the files that it owns; a file that is no manifest is not ours, nor is a folder that has
  // no marker: the run may have ended because it was in the way.
  void remove_begun(const std::vector<RecordedFile>& now) const {
    for (const std::string& begun : before_->begun) {
      const auto path = written_path(out_folder_, begun);
      const auto is_of = [&](const RecordedFile& f) {
        return f.path == begun || f.path.starts_with(begun + '/');
      };
      if (!path || std::ranges::any_of(now, is_of)) continue;
      if (begun.ends_with(".manifest.json")) {
        if (auto set = OutputSet::open(*path, deploy::read_manifest_files, false)) (void)(*set)->clear();
      } else if (has_marker(*path) || OutputFolder::is_unfinished(*path)) {
        if (auto folder = OutputFolder::open(*path); folder && has_marker(*path)) (void)(*folder)->remove();
      }
    }
  }

  // Removes files that an earlier run wrote for this output and this one did not.
  void remove_old(const std::vector<RecordedFile>& now) const {
    const std::vector<RecordedFile> old = not_in(now, before_->written);
    if (old.empty()) return;
    const std::set<std::string> others = written_by_others(options_.output, {model_.name});
    for (const RecordedFile& f : old) {
      const auto path = written_path(out_folder_, f.path);
      if (!path || others.contains(*path)) continue;
      const auto state = state_of(*path, true);
      std::error_code ignored;
      if (state && state->content == f.state.content) fs::remove(*path, ignored);
    }
  }

  BatchResult fail(Errors errors) {
    BatchResult out = failed_in_batch(options_, model_, std::move(errors), std::move(report_));
    out.warnings = std::move(result_.warnings);
    out.copied = result_.copied;
    return out;
  }

  Record record() const {
    Record out;
    out.version = version();
    out.input.path = absolute_path(model_.options.input);
    out.options = recorded_options(model_.options);
    out.check = recorded_check(model_.options);
    out.figures = result_.figures;
    return out;
  }

  // Fills in what was read, and writes the record.
  Status finish(Record& record, const std::optional<FileState>& input_before,
                const std::vector<std::string>& data, const std::vector<std::string>& written) {
    const std::vector<std::string> asked = asked_files(model_.options);
    const auto input = state_of(model_.options.input, true);
    record.data = recorded(data, in_folder_);
    for (const std::string& path : asked)
      if (const auto state = state_of(path, true)) record.asked.push_back({path, *state});
    record.written = recorded(written, out_folder_);
    // Before and after their contents were read.
    std::string changed;
    if (!input || !input_before || !input->looks_like(*input_before)) changed = model_.options.input;
    for (const auto* files : {&data, &asked})
      for (const std::string& path : *files)
        if (changed.empty() && changed_after(path, start_)) changed = path;
    if (!changed.empty()) {
      result_.warnings.push_back(changed + ": it changed while it was read; the next batch does '" +
                                 model_.name + "' again");
      record.version.clear();
    }
    if (input) record.input.state = *input;
    if (before_) remove_old(record.written);
    if (before_) remove_begun(record.written);
    return write_record(record_path_, record);
  }

  Status keep(const Report& report, const std::optional<FileState>& input) {
    Record made = record();
    return finish(made, input, report.load.data_files, files_below(report.save.files));
  }

  BatchResult after_error(const Errors& errors, const std::vector<std::string>& data) {
    if (options_.on_error != OnError::Copy) return fail(errors);
    const auto input = state_of(model_.options.input);
    if (!input) return fail(errors);  // there is nothing to copy
    std::vector<std::string> written;
    Status copied = Done{};
    for (const std::string& path : data) {
      const auto to = written_path(out_folder_, relative_to(in_folder_, path));
      if (!to) {
        Errors both = errors;
        both.push_back({ErrorKind::Input,
                        {model_.options.input, {}, {}, {}, {}},
                        "it is not copied: its data file '" + path + "' is outside of its folder",
                        "put the data file next to the model"});
        return fail(std::move(both));
      }
      written.push_back(*to);
      if (copied) copied = copy_file(path, *to);
    }
    written.push_back(model_.options.output);
    if (copied) copied = copy_file(model_.options.input, model_.options.output);
    if (!copied) return fail(copied.errors());
    Record made = record();
    made.status = static_cast<int>(errors.front().kind);
    made.error = errors.front().what;
    if (Status kept = finish(made, input, data, written); !kept) return fail(kept.errors());
    result_.copied = true;
    return fail(errors);
  }

  const BatchOptions& options_;
  const BatchModel& model_;
  const std::string record_path_, in_folder_, out_folder_;
  const std::optional<Record> before_;
  const std::int64_t start_;
  BatchResult result_;
  Report report_;  // of the run, as far as it came
};

}  // namespace

BatchResult failed_in_batch(const BatchOptions& options, const BatchModel& model, Errors errors,
                            Report report) {
  BatchResult out;
  out.status = static_cast<int>(errors.front().kind);
  out.errors = std::move(errors);
  if (!options.reports) return out;
  report.version = version();
  report.input = model.options.input;
  report.output = model.options.output;
  report.errors = out.errors;
  out.report = to_json(report);
  return out;
}

BatchResult run_in_batch(const BatchOptions& options, const BatchModel& model, Observer& progress) {
  const auto start = std::chrono::steady_clock::now();
  BatchResult result = ModelRun(options, model).run(progress);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

BatchResult give_up_in_batch(const BatchOptions& options, const BatchModel& model, const Error& error,
                             std::int64_t process) {
  const std::string begin = ".graphopt-" + std::to_string(process) + '-';
  for (const std::string& file : {model.options.output, record_path(options.output, model.name)}) {
    std::error_code failure;
    for (fs::directory_iterator it(folder_of(file), failure), end; !failure && it != end;
         it.increment(failure)) {
      std::error_code ignored;
      if (it->path().filename().string().starts_with(begin)) fs::remove(it->path(), ignored);
    }
  }
  return ModelRun(options, model).give_up(error);
}

Status renew_record(const BatchOptions& options, const BatchModel& model) {
  const std::string path = record_path(options.output, model.name);
  std::optional<Record> record = read_record(path);
  if (!record) return Done{};
  const auto renew = [](RecordedFile& f, const std::string& at) {
    if (const auto now = state_of(at)) {
      std::string content = std::move(f.state.content);
      f.state = *now;
      f.state.content = std::move(content);
    }
  };
  renew(record->input, model.options.input);
  record->input.path = absolute_path(model.options.input);
  for (RecordedFile& f : record->data) renew(f, (fs::path(folder_of(model.options.input)) / f.path).string());
  for (RecordedFile& f : record->asked) renew(f, f.path);
  return write_record(path, *record);
}

}  // namespace graphopt
