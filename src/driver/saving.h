// How models are saved: the options of the user in those of the writer, and what was written in the report.
#pragma once

#include <string>

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

}  // namespace graphopt
