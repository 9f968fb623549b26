// save: OUT is the new model, durably; nothing is written before this stage.
#include "driver/json.h"
#include "driver/partitioned.h"
#include "driver/run.h"
#include "driver/saving.h"
#include "driver/shapes.h"
#include "driver/specialized.h"
#include "driver/stages/stage.h"

namespace graphopt {
namespace {

Status run_save(Run& run) {
  if (!manifest_path(run.options).empty()) return save_partitioned(run);
  const Model* single = run.specialized && run.specialized->single ? &*run.specialized->single : nullptr;
  std::vector<TypeOverride> types;
  if (!single) types = saved_types(run.options, *run.work);
  SaveOptions o = save_options(run.options.save);
  o.path = run.options.output;
  o.types = types;
  const Result<SavedFiles> saved = save_model(single ? *single : run.work->model, o);
  if (!saved) return saved.errors();
  report_files(*saved, run.report);
  return Done{};
}

void save_json(const Report& r, Json& out) {
  Json& files = out["files"] = Json::array();
  for (const SaveStage::File& f : r.save.files) files.push_back({{"path", f.path}, {"bytes", f.bytes}});
  out["kept_data"] = {{"files", r.save.kept.locations}, {"bytes", r.save.kept.bytes}};
}

}  // namespace

extern constinit const StageEntry save_stage = {
    .stage = Stage::Save,
    .name = "save",
    .writes_files = true,
    .wanted = [](const Options& options) { return !options.output.empty(); },
    .run = run_save,
    .to_json = save_json};

}  // namespace graphopt
