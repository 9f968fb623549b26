// ONNX's own test data: folders with inputs and the outputs that they give.
//
//   model/test_data_set_0/input_0.pb, input_1.pb, output_0.pb
//   model/test_data_set_1/...
//
// The numbers are the places of the model's inputs and outputs.
// A trailing input with a default may have no file; a number in between may not be left out. Names inside the
// files are not looked at, since exporters write any.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "deploy/manifest.h"
#include "graphopt/error.h"
#include "runner/request_inputs.h"
#include "runtime/inputs.h"

namespace graphopt::runner {

struct TestDataSet {
  std::string id;  // the name of the folder
  std::vector<GivenFile> inputs, outputs;
};

// Returns the sets of a folder that holds folders test_data_set_N, by their numbers, or the one that the
// folder itself is. ErrorKind::Input: there is no such folder, it has no set, a file is missing between two
// others, or there are more files than the network has inputs or outputs.
Result<std::vector<TestDataSet>> find_test_data(const std::string& folder, const deploy::Network& network);

// Reads the outputs of a set, in the order of the network's outputs; errors as of load_inputs().
Result<std::vector<NamedValue>> load_outputs(const TestDataSet& set, const deploy::Network& network);

}  // namespace graphopt::runner
