// save: OUT is the new model, durably; nothing is written before this stage.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "driver/json.h"
#include "driver/partitioned.h"
#include "driver/run.h"
#include "driver/saving.h"
#include "driver/shapes.h"
#include "driver/specialized.h"
#include "driver/stages/stage.h"
#include "onnx/text_form.h"
#include "options/output_names.h"
#include "support/file.h"
#include "support/marked_folder.h"
#include "support/utf8.h"

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

// Where --parts-dir leads: below the manifest's folder, so that the manifest can name the files, and below
// OUT's, so that OUT can refer to the weights. What is not there yet is taken literally.
Status prepare_parts_dir(const Options& options) {
  namespace fs = std::filesystem;
  const std::string& given = options.partition.parts_dir;
  if (given.empty() || manifest_path(options).empty()) return Done{};
  const auto refused = [&given](std::string what, std::string remedy) {
    return Error{ErrorKind::Usage, {}, "--parts-dir: '" + given + "' " + std::move(what), std::move(remedy)};
  };
  const auto is_below = [](const fs::path& folder, const fs::path& top) {
    return std::ranges::mismatch(top, folder).in1 == top.end();
  };
  // A path from the current folder, as that of OUT, is meant otherwise than it is read.
  const std::string manifests = folder_of(manifest_path(options));
  if (given.front() != '/' && manifests != "." && given.starts_with(manifests + "/"))
    return refused("begins at the manifest's folder, '" + manifests + "', and repeats it",
                   "leave out '" + manifests + "/'");
  std::error_code error, none;
  const auto [folder, top] = manifest_folders(options, error);
  if (error) return refused("cannot be the path of a folder: " + error.message(), "name another folder");
  const fs::path out = real_folder(folder_of(resolved(options.output)), none);
  // A link that leads nowhere is there, too.
  if (fs::exists(fs::symlink_status(folder, none)) && !fs::is_directory(folder, none))
    return refused("is there and is not a folder", "remove it, or name another folder");
  if (!is_below(folder, top))
    return refused(
        "is outside of the manifest's folder, '" + top.string() + "', and a manifest names no files there",
        "give a folder below it, as in --parts-dir parts, or put the manifest above with --manifest");
  if (!is_below(folder, out))
    return refused("is not below OUT's folder, '" + out.string() +
                       "', and a model refers to no weights outside of its own",
                   "give a folder below it, or put OUT next to the manifest");
  return Done{};
}

// A manifest names files from its own folder, in JSON, which is UTF-8.
Status check_folder_of_files(const Options& options) {
  if (manifest_path(options).empty()) return Done{};
  std::error_code none;
  const std::string named = manifest_folders(options, none).parts_named();
  if (is_utf8(named)) return Done{};
  const bool elsewhere = !options.partition.parts_dir.empty();
  return Error{ErrorKind::Usage,
               {},
               std::string(elsewhere ? "--parts-dir" : "--manifest") + ": the name of the folder '" + named +
                   "' is not UTF-8",
               "rename it: a manifest is JSON, and cannot name files in it"};
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
  if (Status s = prepare_parts_dir(run.options); !s) return s;
  if (Status s = check_folder_of_files(run.options); !s) return s;
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
