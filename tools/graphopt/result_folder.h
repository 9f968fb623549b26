// OUT as a folder: `-o DIR/`.
#pragma once

#include <string>

#include "graphopt/error.h"
#include "graphopt/options.h"

namespace graphopt::tool {

// A folder that is named as OUT: the result is the file in it that has the name of the model, ending in
// .onnx.
class ResultFolder {
 public:
  ResultFolder() = default;
  ResultFolder(const ResultFolder&) = delete;
  ResultFolder& operator=(const ResultFolder&) = delete;
  // Removes the folder that make() made, if nothing was written into it.
  ~ResultFolder();

  // Sets OUT to the file in it, if it is a folder that is there or ends in '/'. ErrorKind::Usage for a model
  // without a name, ErrorKind::Output where there can be no such folder. Nothing is made.
  Status enter(Options& options);
  // Makes the folder, if it is not there.
  Status make();

 private:
  std::string missing_;  // a folder that is still to be made
  std::string made_;
};

}  // namespace graphopt::tool
