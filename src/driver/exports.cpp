#include "driver/exports.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "driver/partitioned.h"
#include "driver/run.h"
#include "support/file.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;

struct FormEntry {
  const char* suffix;  // of OUT's name without .onnx
  std::unique_ptr<ExportForm> (*make)(const ExportSource&, std::string path);
};

const FormEntry& entry_of(Export form) {
  static constexpr FormEntry kTriton = {".triton", triton_export};
  static constexpr FormEntry kLayers = {".layers.json", layers_export};
  static constexpr FormEntry kGenai = {".genai", genai_export};
  static constexpr FormEntry kStages = {".stages.onnx", stages_export};
  switch (form) {
    case Export::Triton: return kTriton;
    case Export::OrtAnnotations: return kLayers;
    case Export::GenAi: return kGenai;
    case Export::OnnxStages: break;
  }
  return kStages;
}

// Replacing or removing a folder would take the model away that is read.
bool holds_input(const std::string& folder, const std::string& input) {
  const std::string inside = real_path(folder), file = real_path(input);
  return !inside.empty() && file.starts_with(inside + "/");
}

}  // namespace

bool ExportForm::is_there() const {
  std::error_code none;
  return fs::exists(fs::symlink_status(path_, none));
}

std::string export_path(const Options& options, Export form) {
  if (manifest_path(options).empty()) return {};
  const std::string& out = options.output;
  std::error_code none;
  const std::string name = last_part(without_suffix(out)) + entry_of(form).suffix;
  if (fs::is_symlink(out, none)) return folder_of(resolved(out)) + "/" + name;
  return out.find('/') == std::string::npos ? name : folder_of(out) + "/" + name;
}

Status Exports::plan() {
  Run& run = source_.run;
  const std::vector<Export>& asked = run.options.partition.exports;
  for (const Export kind : kExports) {
    std::unique_ptr<ExportForm> form = entry_of(kind).make(source_, export_path(run.options, kind));
    const bool there = form->is_there(), ours = there && form->is_ours();
    const bool needed = there && holds_input(form->path(), run.options.input);
    if (std::ranges::find(asked, kind) == asked.end()) {
      if ((ours || form->is_unfinished()) && !needed) stale_.push_back(std::move(form));
      continue;
    }
    const auto refused = [&](const char* what, const char* remedy) {
      Error e{ErrorKind::Output, {}, "--emit " + export_name(kind) + ": " + what, remedy};
      e.place.file = form->path();
      return e;
    };
    if (needed)
      return refused("it would be replaced, and the model that is read is in it", "give -o another name");
    if (there && !ours && !run.options.save.force)
      return refused("it is there, and is none of graphopt's",
                     "remove it, give -o another name, or use --force");
    if (Status s = form->plan(); !s) return s;
    wanted_.push_back(std::move(form));
  }
  return Done{};
}

void Exports::join(SetOptions& set) {
  for (const auto& form : wanted_) form->join(set);
  for (const auto& form : stale_) form->leave(set);
}

Status Exports::stage(const SavedSet& saved, std::string_view manifest) {
  for (const auto& form : wanted_)
    if (Status s = form->stage(saved, manifest); !s) return s;
  return Done{};
}

Status Exports::place() {
  for (const auto& form : wanted_)
    if (Status s = form->place(); !s) return s;
  for (const auto& form : stale_)
    if (Status s = form->remove(); !s) return s;
  return Done{};
}

void Exports::report() const {
  for (const auto& form : wanted_)
    for (const SaveStage::File& file : form->files()) source_.run.report.save.files.push_back(file);
}

}  // namespace graphopt
