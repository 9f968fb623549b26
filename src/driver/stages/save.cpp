// save: OUT is the new model, durably; nothing is written before this stage.
#include "driver/json.h"
#include "driver/partitioned.h"
#include "driver/run.h"
#include "driver/saving.h"
#include "driver/shapes.h"
#include "driver/specialized.h"
#include "driver/stages/stage.h"
#include "onnx/text_form.h"

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

// A name that the user gives the weights is one beside one OUT.
Status prepare_save(Run& run) {
  const SaveStage::Options& o = run.options.save;
  const auto refused = [](std::string what, std::string remedy) {
    return Error{ErrorKind::Usage, {}, "--external-file: " + std::move(what), std::move(remedy)};
  };
  if (!manifest_path(run.options).empty() && text_form(run.options.output) != TextForm::None)
    return Error{ErrorKind::Usage,
                 {run.options.output, {}, {}, {}, {}},
                 "--devices and --bucket write binary models, and this is a name for text",
                 "give OUT a name in .onnx"};
  const std::string& name = o.external_file;
  if (name.empty()) return Done{};
  if (name == "." || name == ".." || name.find('/') != std::string::npos)
    return refused('\'' + name + "' is not the name of a file next to OUT",
                   "give a name without a folder, as in weights.bin");
  if (o.external_data == ExternalData::Never)
    return refused("--external-data never forbids the file", "leave out one of them");
  if (run.options.output == "-") return refused("-o - has no folder for it", "give -o a file");
  if (!manifest_path(run.options).empty())
    return refused("the models of --devices and --bucket share a file whose name tells its content",
                   "leave it out");
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
    .prepare = prepare_save,
    .run = run_save,
    .to_json = save_json};

}  // namespace graphopt
