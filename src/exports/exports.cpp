#include "exports/exports.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "support/file.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<ExportForm> make(Export form, const ExportSource& source) {
  std::string path = export_path(source.options, form);
  switch (form) {
    case Export::Triton: return triton_export(source, std::move(path));
    case Export::OrtAnnotations: return layers_export(source, std::move(path));
    case Export::GenAi: return genai_export(source, std::move(path));
    case Export::OrtPackage: break;
  }
  return package_export(source, std::move(path));
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

Status Exports::plan() {
  const Options& options = source_.options;
  const std::vector<Export>& asked = options.partition.exports;
  for (const Export kind : kExports) {
    std::unique_ptr<ExportForm> form = make(kind, source_);
    const bool there = form->is_there(), ours = there && form->is_ours();
    const bool needed = there && holds_input(form->path(), options.input);
    if (std::ranges::find(asked, kind) == asked.end()) {
      if ((ours || form->is_unfinished()) && !needed) stale_.push_back(std::move(form));
      continue;
    }
    const auto refused = [&](const char* what, const char* remedy) {
      Error e{ErrorKind::Output, {}, "--emit " + std::string(word(kind)) + ": " + what, remedy};
      e.place.file = form->path();
      return e;
    };
    if (needed)
      return refused("it would be replaced, and the model that is read is in it", "give -o another name");
    if (there && !ours && !options.save.force)
      return refused("it is there, and is none of graphopt's",
                     "remove it, give -o another name, or use --force");
    if (Status s = form->plan(); !s) return s;
    wanted_.push_back(std::move(form));
  }
  return Done{};
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

std::vector<SaveStage::File> Exports::files() const {
  std::vector<SaveStage::File> out;
  for (const auto& form : wanted_) out.insert(out.end(), form->files().begin(), form->files().end());
  return out;
}

}  // namespace graphopt
