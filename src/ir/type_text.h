// A type as text: "float[batch,3,?]", "seq(float[?])", "?" when nothing is known.
#pragma once

#include <string>

#include "ir/model.h"

namespace graphopt {

std::string type_text(const Model& model, TypeId type);

}  // namespace graphopt
