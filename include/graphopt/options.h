// The options of a run. Plain data: the command line fills it from text, a program directly.
#pragma once

#include <string>

#include "graphopt/stages.h"

namespace graphopt {

// What each stage takes is in a member of its name: `options.check.seeds`.
struct Options : StageOptions {
  std::string input;   // a file; "-" is stdin
  std::string output;  // a file, which may be the input; "-" is stdout; empty: a dry run

  // A run that stops after load or infer saves the model in its state at that point; after clean-up nothing
  // is left out.
  Stage stop_after = Stage::CleanUp;
  double timeout = 0;  // seconds; 0: none. Checked between passes and stages; saving is not interrupted

  // The caller ends the process after the call: the model is not destroyed, which saves time on large ones.
  bool process_ends = false;
};

// Returns the path of the manifest that a run with these options writes; empty when it writes none.
std::string manifest_path(const Options& options);
// Returns the path of an export that a run with these options may write, beside OUT: a file or a folder.
// Empty when it writes no manifest.
std::string export_path(const Options& options, Export form);

}  // namespace graphopt
