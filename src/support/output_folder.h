// A folder that appears whole or not at all.
//
// Problem: a program that takes a folder of files may read it at any moment, and a run that writes it can end
// at any moment. Method: the new folder is made as `new` in a hidden folder beside it, `.NAME.graphopt`,
// which is locked (flock); then the two change their names in one step (renameat2, RENAME_EXCHANGE), and the
// old one goes with the hidden folder. Where the file system cannot exchange names the old folder is moved
// into the hidden one first, and for that moment there is none. A run that is ended leaves the old folder or
// the new one, and perhaps a hidden one, which the next run that writes or removes the folder takes away.
// Only these two are removed there: what somebody else put into the hidden folder stays, and so does it.
// Errors are of kind Output; after one the old folder is there.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graphopt/error.h"
#include "support/temporary_files.h"

namespace graphopt {

class OutputFolder {
 public:
  // Waits until no other process writes this folder, and removes what an interrupted run left.
  static Result<std::unique_ptr<OutputFolder>> open(const std::string& path);
  // Returns true if an interrupted run left something, or one is writing the folder now.
  static bool is_unfinished(const std::string& path);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Makes a folder in the new one ("a/1"), with those above it.
  Status make(const std::string& name);
  // Returns the path by which a file of the new folder is written ("a/1/model.onnx"); its folder is made.
  Result<std::string> file(const std::string& name);
  Status write(const std::string& name, std::string_view text);

  Status place();   // the new folder has its name, durably; whatever had it goes
  Status remove();  // whatever has the name goes

 private:
  explicit OutputFolder(std::string path);
  Status lock();
  Status sync_all() const;
  Status swap() const;
  Error failure(int error) const;
  std::string fresh() const;

  const std::string path_, hidden_;
  int fd_ = -1;  // of the hidden folder
  std::vector<TemporaryName> temporaries_;
};

}  // namespace graphopt
