// OUT.layers.json (exports/layers.h).
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "exports/form.h"
#include "exports/layers.h"
#include "onnx/node_metadata.h"
#include "support/file.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestDocument = std::uintmax_t{64} << 20;  // a larger one is none of graphopt's

class LayersExport : public ExportForm {
 public:
  using ExportForm::ExportForm;

  bool is_ours() const override {
    std::error_code error;
    if (!fs::is_regular_file(fs::symlink_status(path_, error))) return false;
    const std::uintmax_t size = fs::file_size(path_, error);
    if (error || size > kLargestDocument) return false;
    const auto image = FileImage::open(path_);
    return image && is_layers_text((*image)->bytes());
  }

  Status plan() override {
    const Model& m = source_.model;
    if (m.ir_version >= kNodeMetadataIrVersion) return Done{};
    return Error{ErrorKind::Input,
                 {m.file, {}, {}, {}, {}},
                 "--emit ort-annotations: nodes have annotations from IR version 10 on, and the model has " +
                     std::to_string(m.ir_version),
                 "give --ir-version 10, or leave ort-annotations out of --emit"};
  }

  Status stage(const SavedSet& saved, std::string_view) override {
    SetFile out = *saved.out_file;
    out.name = last_part(out.name);  // both stand in one folder
    const std::string text = layers_text(source_.manifest, out);
    Result<OutputFile> file = OutputFile::create(path_, source_.options.save.force);
    if (!file) return file.errors();
    if (Status s = file->write(text); !s) return s;
    if (Status s = file->finish(); !s) return s;
    files_ = {{path_, text.size()}};
    file_.emplace(*std::move(file));
    return Done{};
  }

  Status place() override { return file_->commit(); }

  Status remove() override {
    if (::unlink(path_.c_str()) == 0 || errno == ENOENT) return Done{};
    return write_error(path_, folder_of(path_), errno);
  }

 private:
  std::optional<OutputFile> file_;
};

}  // namespace

std::unique_ptr<ExportForm> layers_export(const ExportSource& source, std::string path) {
  return std::make_unique<LayersExport>(source, std::move(path));
}

}  // namespace graphopt
