// Attributes as text, for people.
#pragma once

#include <string>

#include "ir/model.h"

namespace graphopt {

// Returns "1", "0.5", "[1, 2]", "\"text\"", "float[2,3] tensor 1f2e…" with the beginning of a hash of its
// content, "= name" for a reference in a function. Precondition: the attribute holds no graph.
std::string attribute_text(const Model& model, const Attr& a);

}  // namespace graphopt
