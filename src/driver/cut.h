// The model cut at values of its main graph (--inputs, --outputs), as if the file had held no more.
//
// Problem: of an export only a part is wanted: without its post-processing, or from some layer on.
// Method: nodes are found from the outputs backwards up to the inputs; what they need of the model is written
// as a model of its own in memory, as parts for devices are (ir/part.h), and read in place of the file. So
// all that follows, --check included, knows nothing else. Exact: each node that stays has the operands that
// it had, and an inner value that is an input now is declared with a type that it had in every run.
//
//   x -> a -> b -> y   --inputs a --outputs b   ->   a -> b
#pragma once

#include <string>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/stages/load.h"
#include "ir/model.h"
#include "onnx/reader.h"

namespace graphopt {

// Returns true if the options name inputs or outputs.
bool cuts(const LoadStage::Options& options);

// Returns the bytes of the cut model, whose references to external data begin in `folder`. ErrorKind::Usage
// when it cannot be cut there; ErrorKind::Input when it exceeds one message.
Result<std::string> cut_model(Model model, const LoadStage::Options& options, const std::string& folder,
                              std::vector<Warning>& warnings);

}  // namespace graphopt
