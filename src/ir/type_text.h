// Types and operators as text.
#pragma once

#include <string>

#include "ir/model.h"

namespace graphopt {

// Returns "float[batch,3,?]", "seq(float[?])", "?" when nothing is known.
std::string type_text(const Model& model, TypeId type);
// Returns "Conv", "com.microsoft::Attention".
std::string operator_name(const Model& model, OpId op);

}  // namespace graphopt
