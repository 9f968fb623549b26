// OUT.ort-package: a model package of ONNX Runtime (exports/package.h).
//
// The package has copies of OUT and of the models of buckets, with their weights once, so that it can be
// moved without the rest of the set.
#include <string>
#include <utility>
#include <vector>

#include "exports/folder_form.h"
#include "exports/package.h"
#include "options/output_names.h"
#include "support/file.h"

namespace graphopt {
namespace {

class PackageExport : public FolderExport {
 public:
  using FolderExport::FolderExport;

  Status plan() override {
    for (const std::string& text : package_warnings(source_.manifest))
      source_.warn(source_.model.file + ": --emit ort-package: " + text);
    return Done{};
  }

 protected:
  std::string_view form() const override { return "ort-package"; }

  Status fill(const SavedSet&) override {
    const Result<SavedSet> saved = write_models(kPackageModels, source_.wholes);
    if (!saved) return saved.errors();
    std::vector<std::string> components, files;
    for (const SetModel& model : source_.wholes) components.push_back(model.name);
    for (const SetFile& file : saved->models) files.push_back(file.name);
    const std::string name = last_part(without_suffix(source_.options.output));
    return write_text("manifest.json", package_text(source_.manifest, name, components, files));
  }
};

}  // namespace

std::unique_ptr<ExportForm> package_export(const ExportSource& source, std::string path) {
  return std::make_unique<PackageExport>(source, std::move(path));
}

}  // namespace graphopt
