// An export that is a folder: it is replaced as a whole, and has a marker (exports/marker.h).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "exports/form.h"
#include "support/output_folder.h"

namespace graphopt {

class FolderExport : public ExportForm {
 public:
  using ExportForm::ExportForm;

  bool is_ours() const override;
  bool is_unfinished() const override;
  Status stage(const SavedSet& saved, std::string_view list) override;
  Status place() override { return folder_->place(); }
  Status remove() override;

 protected:
  virtual std::string_view form() const = 0;  // in the marker
  virtual Status fill(const SavedSet& saved) = 0;

  Status make_folder(const std::string& name) { return folder_->make(name); }
  Status write_text(const std::string& name, std::string_view text);
  // Writes a part as a model with weights of its own.
  Status write_part(const std::string& name, std::size_t part, std::span<const TypeOverride> types);
  // Writes models that share a data file, and a list of them that sha256sum checks. The names of the files
  // that are returned have no folder.
  Result<SavedSet> write_models(const std::string& folder, std::span<const SetModel> models);

 private:
  std::unique_ptr<OutputFolder> folder_;
};

}  // namespace graphopt
