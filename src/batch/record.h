// What is kept of a model that was done: a file DIR/.graphopt/NAME.json for the output DIR/NAME. It is
// written after the output. Before the model is done again it is marked as unfinished: so an output whose
// record is finished is whole, and what earlier runs wrote is known until it is removed. It holds nothing
// that differs between two runs on the same files: no times of the run, no paths of DIR.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "batch/file_state.h"
#include "graphopt/batch.h"
#include "support/json_text.h"

namespace graphopt {

struct RecordedFile {
  std::string path;
  FileState state;
};

using RecordedOptions = std::map<std::string, Json>;  // values by key

struct Record {
  std::string version;                   // of graphopt; empty: the run is unfinished, or failed
  RecordedFile input;                    // its path is absolute
  std::vector<RecordedFile> data;        // with weights of the input: from the input's folder
  std::vector<RecordedFile> asked;       // that options name: profiles of devices, lists, arrays; absolute
  RecordedOptions options;               // that change the result (result_options), and the devices
  std::optional<RecordedOptions> check;  // those of the check, if there was one
  int status = 0;                        // of the run
  std::string error;                     // its first one; then the output is a copy of the input
  std::vector<RecordedFile> written;     // from the output's folder
  // Likewise: a manifest, and folders of exports, that an unfinished run may have written.
  std::vector<std::string> begun;
  BatchFigures figures;
};

// The hidden folder of records.
std::string records_folder(const std::string& output);
// The file that says that a process works on the models of the shard, or was killed when it did.
std::string mark_path(const BatchOptions& options);
std::string record_path(const std::string& output, const std::string& name);

std::string to_json(const Record& record);
// Nothing when the file is not there or is no record of this version of the format.
std::optional<Record> read_record(const std::string& path);
// Writes it in one step, with the folders above it. ErrorKind::Output.
Status write_record(const std::string& path, const Record& record);

// Returns the path of a file that a record names, from its folder; nothing when it leads out of there.
std::optional<std::string> written_path(const std::string& folder, const std::string& below);
// Returns the paths of the files of a record, but for those that lead out of the output's folder.
std::vector<std::string> written_paths(const std::string& output, const std::string& name,
                                       const Record& record);
// Returns the paths of the manifest and the exports that a run with these options writes.
std::vector<std::string> set_paths(const Options& options);
// Returns the paths of all files that records name, but for those of these outputs.
std::set<std::string> written_by_others(const std::string& output, const std::set<std::string>& names);
// The names of the outputs that have a record, by name.
std::vector<std::string> recorded_names(const std::string& output);

// The path from the root. Links and ".." stay as they are: a model is gone when the link to it is, and what
// ".." leads to depends on links.
std::string absolute_path(const std::string& path);

// The options of a run as a record holds them.
RecordedOptions recorded_options(const Options& options);
std::optional<RecordedOptions> recorded_check(const Options& options);
// Returns the paths of the files that the options name, absolute.
std::vector<std::string> asked_files(const Options& options);
// Returns an error where one of them is not there, or a device has no profile: no model can be done then.
Status check_asked_files(const Options& options);

}  // namespace graphopt
