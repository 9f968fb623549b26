// How models are saved: the options of the user in those of the writer, and what was written in the report.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include "graphopt/options.h"
#include "graphopt/report.h"
#include "graphopt/stages/save.h"
#include "onnx/set_writer.h"
#include "onnx/writer.h"

namespace graphopt {

// Sets all but the path, the types and the part.
SaveOptions save_options(const SaveStage::Options& options);

// Adds what was written to the report: `files`, and `after.bytes`. Of a set: its model beside it, the list at
// the path as given, the data file, the models. `after.bytes` is that of OUT, and of the set's models and
// data when the run writes no OUT.
void report_files(const SavedFiles& saved, Report& report);
void report_files(const std::string& list, const SavedSet& saved, Report& report);

// Where the models are that a manifest names: the real folder of the parts, of OUT where there is no
// --parts-dir; and the manifest's own. Precondition: manifest_path(options) is not empty. `error` is set
// where no folder can have the path.
struct ManifestFolders {
  std::filesystem::path parts, manifest;
  // As the manifest names it: from its own folder, with forward slashes.
  std::string parts_named() const { return parts.lexically_relative(manifest).generic_string(); }
};
ManifestFolders manifest_folders(const Options& options, std::error_code& error);

}  // namespace graphopt
