// Puts models and options together, and compares them with the records of what was done.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "batch/find_models.h"
#include "batch/glob.h"
#include "batch/model_rules.h"
#include "batch/record.h"
#include "batch/shard.h"
#include "graphopt/batch.h"
#include "graphopt/option_table.h"
#include "graphopt/version.h"
#include "support/file.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;

Error usage(std::string what, std::string remedy) {
  return {ErrorKind::Usage, {}, std::move(what), std::move(remedy)};
}

// Files that only one model can have, and what is printed for one.
Status check_shared_options(const Options& options, bool reports) {
  const std::string alone = "run graphopt with it on the model that needs it";
  if (!options.clean_up.print_after.empty()) return usage("--print-after: a batch prints no models", alone);
  if (options.partition.plan) return usage("--plan: a batch prints no subgraphs", alone);
  if (!options.clean_up.explain.empty() && !reports)
    return usage("--explain: a batch prints no reasons", "add --report FILE, which has them, or " + alone);
  for (const OptionRow<Options>& row : option_table()) {
    // A data file has the folder of its output: each of several may have one of that name.
    if (!row.info.writes || row.info.name == "--output" || row.info.name == "--external-file") continue;
    const auto value = row.get(options);
    const auto* path = value ? std::get_if<std::string>(&*value) : nullptr;
    if (path != nullptr && !path->empty())
      return usage(
          std::string(row.info.name) + " names one file, and a batch has many models",
          row.info.name == "--manifest" ? "leave it out: each output has its manifest next to it" : alone);
  }
  return Done{};
}

std::vector<std::string> paths_of_run(const Options& options) {
  std::vector<std::string> out = set_paths(options);
  out.push_back(options.output);
  if (!options.save.external_file.empty())
    out.push_back((fs::path(options.output).parent_path() / options.save.external_file).string());
  return out;
}

// Two outputs may differ and have a file in common: "a.onnx" and "a.onnxtxt" with devices.
Status check_written(const std::vector<BatchModel>& models) {
  std::map<std::string, const BatchModel*> by_path;
  for (const BatchModel& model : models)
    for (const std::string& path : paths_of_run(model.options)) {
      const auto [at, is_new] = by_path.emplace(fs::path(path).lexically_normal().string(), &model);
      if (!is_new)
        return usage("'" + at->second->name + "' and '" + model.name + "' would both write '" + path + "'",
                     "leave one of them out (--exclude), or give it options of its own (--options)");
    }
  return Done{};
}

bool check_inputs_stay(const FoundModels& found, const std::string& output, Error& error) {
  std::error_code ignored;
  for (const FoundModel& model : found.models) {
    const std::string to = (fs::path(output) / model.name).string();
    if (!fs::exists(to, ignored) || !fs::equivalent(model.path, to, ignored)) continue;
    error = {ErrorKind::Usage,
             {model.path, {}, {}, {}, {}},
             "its output would replace it",
             "give -o another folder"};
    return false;
  }
  return true;
}

// What the options of a model come to, in the words of a record.
struct Wanted {
  RecordedOptions options;
  std::optional<RecordedOptions> check;
  std::vector<std::string> files;
  Status files_are_there = Done{};
};

// Models with the same rules have the same options, and the files that these name are found once.
class WantedOptions {
 public:
  const Wanted& of(const Options& options) {
    Wanted wanted{recorded_options(options), recorded_check(options), {}};
    const Json key = {wanted.options, wanted.check ? Json(*wanted.check) : Json(), options.check.inputs};
    const auto [at, is_new] = known_.try_emplace(key.dump(-1, ' ', false, Json::error_handler_t::replace));
    if (!is_new) return at->second;
    at->second = std::move(wanted);
    at->second.files = asked_files(options);
    at->second.files_are_there = check_asked_files(options);
    return at->second;
  }

 private:
  std::map<std::string, Wanted> known_;
};

bool is_of_machine(int status) {
  return status == static_cast<int>(ErrorKind::Output) || status == static_cast<int>(ErrorKind::Limit) ||
         status == static_cast<int>(ErrorKind::NotChecked);
}

enum class Same : std::uint8_t { Yes, ByContent, No };

Same compare(const FileState& recorded, const std::string& path, bool by_content) {
  const std::optional<FileState> now = state_of(path);
  if (!now || now->bytes != recorded.bytes) return Same::No;
  const bool looks_same = recorded.looks_like(*now);
  if (looks_same && !by_content) return Same::Yes;
  const std::optional<FileState> read = state_of(path, true);
  if (!read || read->content != recorded.content) return Same::No;
  return looks_same ? Same::Yes : Same::ByContent;
}

std::string option_change(const RecordedOptions& before, const RecordedOptions& now) {
  for (const auto& [key, value] : now) {
    const auto at = before.find(key);
    if (at == before.end()) return "--" + key + " is new";
    if (at->second != value)
      return "--" + key + " was " + at->second.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  for (const auto& [key, value] : before)
    if (!now.contains(key)) return "--" + key + " is not given any more";
  return {};
}

// Compares a model with its record.
class Comparison {
 public:
  Comparison(const BatchOptions& options, const Wanted& wanted, BatchModel& model)
      : options_(options), wanted_(wanted), model_(model) {}

  std::string why() {
    if (options_.force_all) return "--force-all";
    const auto record = read_record(record_path(options_.output, model_.name));
    if (!record) return "new";
    std::string why = change(*record);
    if (!why.empty()) return why;
    model_.status = record->status;
    model_.error = record->error;
    model_.figures = record->figures;
    return {};
  }

 private:
  std::string change(const Record& r) {
    if (r.version.empty()) return "not finished";
    if (r.version != version()) return "made by graphopt " + r.version;
    if (std::string what = option_change(r.options, wanted_.options); !what.empty()) {
      std::ranges::replace(what.begin(), what.begin() + static_cast<std::ptrdiff_t>(what.find(' ')), '_',
                           '-');
      return what;
    }
    if (wanted_.check && r.check != wanted_.check) return "not checked like this";
    if (r.status != 0 && options_.on_error != OnError::Copy) return "copied after an error";
    // Another limit, more space or an ONNX Runtime that is there now may help; nothing of them is recorded.
    if (is_of_machine(r.status)) return "copied after an error of this machine";
    if (const std::string file = changed_output(r); !file.empty()) return "output '" + file + "' changed";
    if (differs(r.input, model_.options.input)) return "input changed";
    if (const std::string file = changed_data(r); !file.empty()) return "'" + file + "' changed";
    model_.has_new_times = model_.has_new_times || r.input.path != absolute_path(model_.options.input);
    // The last ones are those of a check, which nobody asks for now.
    const bool may_have_more = !wanted_.check && r.check;
    if (r.asked.size() < wanted_.files.size() || (r.asked.size() > wanted_.files.size() && !may_have_more))
      return "other files of options";
    for (std::size_t i = 0; i < wanted_.files.size(); ++i)
      if (r.asked[i].path != wanted_.files[i] || differs(r.asked[i], wanted_.files[i]))
        return "'" + last_part(wanted_.files[i]) + "' changed";
    return {};
  }

  // A data file is also another one when the folder of the model, which is looked at first, now has one of
  // the name of that below --external-root.
  std::string changed_data(const Record& r) {
    const fs::path folder = folder_of(model_.options.input);
    const std::string& root = model_.options.load.external_root;
    for (const RecordedFile& f : r.data) {
      const fs::path path = folder / f.path;
      if (differs(f, path.string())) return f.path;
      if (root.empty()) continue;
      const fs::path location =
          fs::absolute(path).lexically_normal().lexically_relative(fs::absolute(root).lexically_normal());
      if (location.empty() || *location.begin() == "..") continue;
      std::error_code ignored;
      const fs::path first = folder / location;
      if (fs::exists(first, ignored) && !fs::equivalent(first, path, ignored)) return location.string();
    }
    return {};
  }

  bool differs(const RecordedFile& recorded, const std::string& path) {
    const Same same = compare(recorded.state, path, options_.by_content);
    model_.has_new_times = model_.has_new_times || same == Same::ByContent;
    return same == Same::No;
  }

  std::string changed_output(const Record& r) const {
    const std::string folder = folder_of(model_.options.output);
    for (const RecordedFile& f : r.written) {
      const auto now = state_of((fs::path(folder) / f.path).string(), options_.by_content);
      const bool same =
          now && now->bytes == f.state.bytes && (!options_.by_content || now->content == f.state.content);
      if (!same) return f.path;
    }
    return {};
  }

  const BatchOptions& options_;
  const Wanted& wanted_;
  BatchModel& model_;
};

// Records of outputs that no model has now, and whose input is not there.
void find_stale(const BatchOptions& options, BatchPlan& plan) {
  std::set<std::string_view> wanted;
  for (const BatchModel& model : plan.models) wanted.insert(model.name);
  std::set<std::string> names;  // of stale outputs
  for (const std::string& name : recorded_names(options.output)) {
    if (wanted.contains(name) || !is_in(options.shard, name)) continue;
    const auto record = read_record(record_path(options.output, name));
    // Where a folder cannot be looked at, nobody knows what is in it.
    std::error_code unknown;
    if (!record || fs::exists(record->input.path, unknown) || unknown) continue;
    plan.stale.push_back({name, record->input.path, written_paths(options.output, name, *record)});
    names.insert(name);
  }
  if (names.empty()) return;
  // Copies may have data files in common.
  const std::set<std::string> kept = written_by_others(options.output, names);
  for (StaleOutput& stale : plan.stale)
    std::erase_if(stale.files, [&](const std::string& file) { return kept.contains(file); });
}

}  // namespace

Result<BatchPlan> plan_batch(const BatchOptions& options) {
  if (Status shared = check_shared_options(options.options, options.reports); !shared) return shared.errors();
  std::error_code ignored;
  if (fs::exists(options.output, ignored) && !fs::is_directory(options.output, ignored))
    return Error{ErrorKind::Usage,
                 {options.output, {}, {}, {}, {}},
                 "it is a file, and a batch writes to a folder",
                 "give -o a folder, which need not be there"};
  const Result<std::vector<ModelRule>> rules = read_model_rules(options.rules);
  if (!rules) return rules.errors();
  Result<FoundModels> found = find_models(options);
  if (!found) return found.errors();
  if (Error error; !check_inputs_stay(*found, options.output, error)) return error;
  BatchPlan plan{{}, {}, std::move(found->warnings)};
  std::vector<bool> used(rules->size());
  WantedOptions wanted;
  for (const FoundModel& one : found->models) {
    BatchModel model{one.name, options.options, one.bytes, {}, 0, {}, false, {}};
    bool has_rule = false;
    for (std::size_t i = 0; i < rules->size(); ++i) {
      const std::string& match = (*rules)[i].match;
      if (!path_matches(match, one.below) && !path_matches(match, one.name)) continue;
      apply_rule((*rules)[i], model.options);
      used[i] = has_rule = true;
    }
    if (has_rule)
      if (Status shared = check_shared_options(model.options, options.reports); !shared)
        return shared.errors();
    model.options.input = one.path;
    model.options.output = (fs::path(options.output) / one.name).string();
    if (Status fits = check_conflicts(model.options); !fits) {
      for (Error& e : fits.errors())
        if (e.place.file.empty()) e.place.file = one.path;
      return fits.errors();
    }
    if (const Status& there = wanted.of(model.options).files_are_there; !there) return there.errors();
    plan.models.push_back(std::move(model));
  }
  for (std::size_t i = 0; i < rules->size(); ++i)
    if (!used[i]) plan.warnings.push_back(options.rules + ": '" + (*rules)[i].match + "' matches no model");
  if (Status apart = check_written(plan.models); !apart) return apart.errors();
  std::erase_if(plan.models, [&](const BatchModel& m) { return !is_in(options.shard, m.name); });
  return plan;
}

void compare_with_records(const BatchOptions& options, BatchPlan& plan) {
  WantedOptions wanted;
  for (BatchModel& model : plan.models)
    model.why = Comparison(options, wanted.of(model.options), model).why();
  find_stale(options, plan);
}

}  // namespace graphopt
