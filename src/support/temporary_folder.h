// A folder of this process for files that somebody else reads while a run lasts: models that a test or a
// runtime opens. It goes with all that is in it when this object ends, and with the files that were announced
// when a signal ends the process.
#pragma once

#include <string>
#include <vector>

#include "graphopt/error.h"
#include "support/temporary_files.h"

namespace graphopt {

class TemporaryFolder {
 public:
  // Makes an empty one in the folder `room`, hidden there; without `room`, where the system has temporary
  // files
  // ($TMPDIR, /tmp). ErrorKind::Output.
  static Result<TemporaryFolder> create(const std::string& room = {});
  TemporaryFolder(TemporaryFolder&&) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::string& path() const { return path_; }
  std::string model() const { return path_ + "/model.onnx"; }
  // A signal that ends the process removes this file of the folder, too, and then the folder, if it is empty.
  void announce(const std::string& file);

 private:
  explicit TemporaryFolder(std::string path);

  std::string path_;  // empty: moved from
  std::vector<TemporaryName> noted_;
};

}  // namespace graphopt
