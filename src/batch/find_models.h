// The models that files, folders and lists name, and what their outputs are called.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graphopt/batch.h"

namespace graphopt {

struct FoundModel {
  std::string path;   // of the input
  std::string name;   // below the folder of the outputs
  std::string below;  // the same of the input: its own ending
  std::uint64_t bytes = 0;
};

struct FoundModels {
  std::vector<FoundModel> models;  // by name
  std::vector<std::string> warnings;
};

// Returns the output's name for an input's: the same, but that what graphopt does not write gets ".onnx".
std::string output_name(std::string_view name);

// Errors as of plan_batch. Links are followed: to a model each time, to a folder only where no other path
// leads to it, so that links in a circle end. Hidden files and folders are left out, and so is the folder of
// the outputs.
Result<FoundModels> find_models(const BatchOptions& options);

}  // namespace graphopt
