// load: the IR holds the file's content; names resolve, sizes are correct, no path leaves its folder. Regions
// that a former run wrote are gone where this run may change the nodes that they name.
#include "driver/figures.h"
#include "driver/original.h"
#include "driver/partitioned.h"
#include "driver/regions.h"
#include "driver/run.h"
#include "driver/stages/stage.h"
#include "ir/verify.h"
#include "manifest/network_id.h"
#include "onnx/reader.h"

namespace graphopt {
namespace {

Status load_into(const Run& run, Work& work, std::vector<Warning>& warnings) {
  const LoadStage::Options& options = run.options.load;
  Result<Model> model = run.original ? run.original->load(warnings)
                                     : load_model({run.options.input, options.external_root, 0,
                                                   options.dim_names == DimNames::Expressions},
                                                  warnings);
  if (!model) return model.errors();
  work.model = *std::move(model);
  work.file_values = work.model.value_count();
  return Done{};
}

Status run_load(Run& run) {
  std::vector<Warning> warnings;
  if (is_wanted(Stage::Check, run.options)) {
    auto original = OriginalModel::open(run.options, warnings);
    if (!original) return original.errors();
    run.original = *std::move(original);
  }
  auto work = std::make_unique<Work>();
  if (Status loaded = load_into(run, *work, warnings); !loaded) return loaded;
  run.work = std::move(work);
  for (const Warning& w : warnings) {
    run.warn(to_string(w.place) + ": " + w.what + (w.remedy.empty() ? "" : " (" + w.remedy + ")"));
  }
  if (auto broken = verify(run.work->model)) return *broken;
  run.report.before = run.report.after = count_model(run.work->model);
  run.report.before.bytes = run.work->model.file_bytes;
  if (run.partitioned && !run.options.output.empty()) {
    const Model& m = run.work->model;
    run.partitioned->source_id = NetworkIds(m).network(StatedTypes(m, {}));
  }
  Result<std::vector<std::string>> unmatched = read_given_devices(run, *run.work);
  if (!unmatched) return unmatched.errors();
  if (!unmatched->empty())
    run.warn(run.work->model.file + ": --assignment given: '" + unmatched->front() + "'" +
             (unmatched->size() > 1 ? " and " + std::to_string(unmatched->size() - 1) + " other texts name"
                                    : " names") +
             " no device of the run: the profiles decide about these nodes");
  drop_old_regions(run.options, *run.work);
  drop_old_partition(run.options, *run.work);
  return Done{};
}

Status repeat_load(Run& run, Work& work) {
  std::vector<Warning> known;
  if (Status loaded = load_into(run, work, known); !loaded) return loaded;
  if (const auto read = read_given_devices(run, work); !read) return read.errors();
  drop_old_regions(run.options, work);
  drop_old_partition(run.options, work);
  return Done{};
}

}  // namespace

extern constinit const StageEntry load_stage = {.stage = Stage::Load,
                                                .name = "load",
                                                .wanted = [](const Options&) { return true; },
                                                .run = run_load,
                                                .repeat = repeat_load};

}  // namespace graphopt
