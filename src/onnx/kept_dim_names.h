// The names of dims that a saved file keeps from the file that was read.
//
// Problem: a runtime takes dims of equal names for equal, so a name that graphopt writes must not meet one
// that stays in the file for something else.
// Method: the entries that MessageWriter copies, minus the dims that the written types replace.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/model.h"
#include "onnx/writer.h"

namespace graphopt {

struct KeptDimName {
  std::string_view name;            // not empty; a view of the file
  ValueId value;                    // none: an entry about no value
  std::optional<std::size_t> axis;  // of the value; none: of a tensor inside it
};

// `types`: as in SaveOptions. Linear in the model.
std::vector<KeptDimName> kept_dim_names(const Model& model, std::span<const TypeOverride> types);

}  // namespace graphopt
