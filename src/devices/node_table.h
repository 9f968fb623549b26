// The file that `cost.table` of a profile names: measured times of nodes.
//
//   {"/encoder/layer.0/MatMul": 41250, "/encoder/layer.0/Softmax": 9800}
//
// Names are those of the nodes of OUT, times are nanoseconds of one run of the node.
#pragma once

#include <string>
#include <string_view>

#include "devices/profile.h"
#include "graphopt/error.h"

namespace graphopt {

// ErrorKind::Input: no JSON, no object, a time that is no whole number from 0 on; each with its path.
Result<NodeTable> read_node_table(std::string_view text, const std::string& file);

}  // namespace graphopt
