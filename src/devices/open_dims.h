// What fixed shapes would change for a device that wants numbers as dims.
//
// Problem: a model with open dims ("batch") is refused by devices that compile for fixed sizes, node by node,
// and the user does not see that one option would change that.
// Method: the symbols in the dims of the model's inputs are taken for numbers (support.h), whatever they are;
// what else is open depends on data, or has no formula, and stays refused. Nothing is bound: conditions on
// sizes hold where some size meets them. So the number of nodes is about what fixed shapes reach: a size that
// does not fit gives less, and a size without a formula (Resize by a scale) becomes a number and gives more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "devices/profile.h"
#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

struct OpenDims {
  std::vector<DimId> symbols;         // in the dims of inputs, sorted, each once
  std::vector<std::string> remedies;  // what gives each a number: "--dim 'batch=SIZE'", "--shape 'x=SIZE,3'"
};

// Returns the open dims of the main graph's inputs. A dim without a name, or that is no single symbol with
// one, gets its number by the input's shape: -1 there keeps a dim that has a name.
OpenDims open_dims(const Model& m, const Inference& inference);

// Returns about how many nodes of the main graph, without Constant nodes, the device takes only once these
// symbols are numbers. `taken`, by node id: what it takes as the model is. Linear in the nodes, as
// Support::check_all().
std::uint64_t nodes_for_fixed_shapes(const Profile& profile, Model& m, const Inference& inference,
                                     const OpenDims& open, const std::vector<bool>& taken);

}  // namespace graphopt
