// OUT.genai: the configuration of onnxruntime-genai (exports/genai.h). Its models are the parts of the set.
#include <utility>

#include "exports/folder_form.h"
#include "exports/genai.h"
#include "support/file.h"

namespace graphopt {
namespace {

class GenaiExport : public FolderExport {
 public:
  using FolderExport::FolderExport;

  Status plan() override {
    Result<GenaiConfig> made = genai_config(source_.manifest, source_.model.file);
    if (!made) return made.errors();
    config_ = *std::move(made);
    for (const std::string& text : config_.warnings)
      source_.warn(source_.model.file + ": --emit genai: " + text);
    return Done{};
  }

 protected:
  std::string_view form() const override { return "genai"; }

  Status fill(const SavedSet& saved) override {
    // The export is next to OUT, and the parts are there or in a folder below.
    const std::string& out = saved.out_file->name;
    const std::size_t folder = out.size() - last_part(out).size();
    std::vector<std::string> files;
    for (const SetFile& model : saved.models) files.push_back("../" + model.name.substr(folder));
    return write_text("genai_config.json", genai_text(config_, files));
  }

 private:
  GenaiConfig config_;
};

}  // namespace

std::unique_ptr<ExportForm> genai_export(const ExportSource& source, std::string path) {
  return std::make_unique<GenaiExport>(source, std::move(path));
}

}  // namespace graphopt
