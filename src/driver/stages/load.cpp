// load: the IR holds the file's content; names resolve, sizes are correct, no path leaves its folder. Regions
// that a former run wrote are gone where this run may change the nodes that they name.
#include "deploy/network_id.h"
#include "driver/cut.h"
#include "driver/json.h"
#include "driver/original.h"
#include "driver/partitioned.h"
#include "driver/regions.h"
#include "driver/run.h"
#include "driver/stages/stage.h"
#include "ir/figures.h"
#include "ir/verify.h"
#include "onnx/default_constants.h"
#include "onnx/reader.h"

namespace graphopt {
namespace {

// What --ir-version and --constant-defaults did to a model.
struct Defaults {
  std::size_t inputs = 0;              // that are constants now
  std::int64_t file_ir_version = 0;    // of the file
  std::int64_t raised_ir_version = 0;  // with --ir-version
};

Result<Model> read_input(const Run& run, std::vector<Warning>& warnings) {
  const LoadStage::Options& options = run.options.load;
  if (run.original) return run.original->load(warnings);
  return load_model({run.options.input, options.external_root, 0, options.dim_names == DimNames::Expressions},
                    warnings);
}

// The first time: what is cut off is gone for the check, too. What the reader warns of it was told before.
Result<Model> read_and_cut(const Run& run, std::vector<Warning>& warnings) {
  const LoadStage::Options& options = run.options.load;
  Result<Model> model = read_input(run, warnings);
  if (!model || !cuts(options)) return model;
  // Data files of what is cut off stay mapped: so the writer knows them, and writes to none.
  const std::vector<std::shared_ptr<const void>> files = model->keep_alive;
  const auto keep = [&files](Result<Model> loaded) {
    if (loaded) loaded->keep_alive.insert(loaded->keep_alive.end(), files.begin(), files.end());
    return loaded;
  };
  const std::string folder = data_folder(run.options.input);
  Result<std::string> bytes = cut_model(*std::move(model), options, folder, warnings);
  if (!bytes) return bytes.errors();
  std::vector<Warning> known;
  if (run.original) {
    run.original->become(*std::move(bytes));
    return keep(run.original->load(known));
  }
  return keep(load_model_from_memory(*std::move(bytes), run.options.input, folder, known,
                                     options.dim_names == DimNames::Expressions));
}

// Before all that asks for the version: passes, names, regions, parts and buckets see the raised one. Nothing
// else of the model changes: a newer version only allows more, but for initializers that are also inputs,
// which a caller can feed from version 4 on (tell_defaults).
Status raise_ir_version(const Run& run, Model& m) {
  const int wanted = run.options.load.ir_version;
  if (wanted == 0 || wanted == m.ir_version) return Done{};
  const std::string has = std::to_string(m.ir_version);
  if (wanted < m.ir_version)
    return Error{ErrorKind::Input,
                 {m.file, {}, {}, {}, {}},
                 "--ir-version " + std::to_string(wanted) + ": the model has IR version " + has +
                     ", which is not lowered",
                 "leave out --ir-version, or give " + has + " or more"};
  m.ir_version = wanted;
  return Done{};
}

Result<Defaults> take(const Run& run, Result<Model> model, Work& work) {
  if (!model) return model.errors();
  work.model = *std::move(model);
  Defaults out{0, work.model.ir_version, 0};
  if (Status s = raise_ir_version(run, work.model); !s) return s.errors();
  out.raised_ir_version = work.model.ir_version;
  if (run.options.load.constant_defaults) out.inputs = take_defaults_for_constants(work.model);
  work.file_names = work.model.names.size();
  work.file_values = work.model.value_count();
  return out;
}

// Initializers that are inputs are told once where they keep passes from much: when old exports list all
// weights so, or a newer one most of several.
void tell_defaults(Run& run, const Defaults& taken) {
  const Model& m = run.work->model;
  if (taken.inputs > 0)
    run.observer.log(LogLevel::Info, m.file + ": " + std::to_string(taken.inputs) +
                                         " inputs with defaults are constants now");
  if (taken.raised_ir_version < m.ir_version)
    run.warn(m.file + ": --constant-defaults raises the IR version from " +
             std::to_string(taken.raised_ir_version) + " to " + std::to_string(m.ir_version) +
             ", the first in which initializers need not be inputs");
  constexpr std::size_t kSeveral = 4;
  const std::size_t defaults = count_defaults(m);
  if (defaults > 0 && taken.file_ir_version < kConstantsIrVersion && m.ir_version >= kConstantsIrVersion) {
    run.warn(
        m.file +
        ": --ir-version: from IR version 4 on ONNX Runtime lets a caller feed initializers that are "
        "also inputs (" +
        std::to_string(defaults) +
        " here) and prepares no weights from them, so that sums may be rounded otherwise; before, it takes "
        "them for constants (--constant-defaults keeps that)");
    return;
  }
  if (defaults == 0 || !is_wanted(Stage::CleanUp, run.options)) return;
  if (m.ir_version < kConstantsIrVersion ||
      (defaults >= kSeveral && 2 * defaults >= m.graph(m.main()).initializers.size()))
    run.warn(m.file + ": " + std::to_string(defaults) +
             (defaults > 1 ? " initializers are also inputs" : " initializer is also an input") +
             ", which a caller may feed, so that nothing is computed from " + (defaults > 1 ? "them" : "it") +
             " (--constant-defaults takes such inputs for constants)");
}

Status run_load(Run& run) {
  std::vector<Warning> warnings;
  if (is_wanted(Stage::Check, run.options)) {
    auto original = OriginalModel::open(run.options, warnings);
    if (!original) return original.errors();
    run.original = *std::move(original);
  }
  auto work = std::make_unique<Work>();
  const Result<Defaults> taken = take(run, read_and_cut(run, warnings), *work);
  if (!taken) return taken.errors();
  if (run.partitioned) work->devices = run.partitioned->devices;
  run.work = std::move(work);
  for (const Warning& w : warnings) {
    run.warn(to_string(w.place) + ": " + w.what + (w.remedy.empty() ? "" : " (" + w.remedy + ")"));
  }
  tell_defaults(run, *taken);
  if (auto broken = verify(run.work->model)) return *broken;
  run.report.before = run.report.after = count_model(run.work->model);
  run.report.before.bytes = run.work->model.file_bytes;
  for (const DataFile& f : run.work->model.data_files) run.report.load.data_files.push_back(f.path);
  if (run.partitioned && !run.options.output.empty()) {
    const Model& m = run.work->model;
    run.partitioned->source_id = NetworkIds(m).network(StatedTypes(m, {}));
  }
  Result<std::vector<std::string>> unmatched = read_given_devices(run, *run.work);
  if (!unmatched) return unmatched.errors();
  if (!unmatched->empty())
    run.warn(run.work->model.file + ": --assignment given: no " +
             (run.options.partition.layers.empty() ? "device of the run has the name '" : "rule matches '") +
             unmatched->front() + "'" +
             (unmatched->size() > 1 ? " (and " + std::to_string(unmatched->size() - 1) + " more)" : "") +
             ": the profiles decide about these nodes");
  drop_old_regions(run.options, *run.work);
  drop_old_partition(run.options, *run.work);
  return Done{};
}

Status repeat_load(Run& run, Work& work) {
  std::vector<Warning> known;
  if (const auto taken = take(run, read_input(run, known), work); !taken) return taken.errors();
  if (run.partitioned) work.devices = run.partitioned->devices;
  if (const auto read = read_given_devices(run, work); !read) return read.errors();
  drop_old_regions(run.options, work);
  drop_old_partition(run.options, work);
  return Done{};
}

void load_json(const Report& r, Json& out) { out["data_files"] = r.load.data_files; }

}  // namespace

extern constinit const StageEntry load_stage = {.stage = Stage::Load,
                                                .name = "load",
                                                .wanted = [](const Options&) { return true; },
                                                .run = run_load,
                                                .repeat = repeat_load,
                                                .to_json = load_json};

}  // namespace graphopt
