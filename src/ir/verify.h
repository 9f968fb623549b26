// Checks the invariants of a Model: use lists, order, links, scopes, ownership. Linear in the size of the
// model.
#pragma once

#include <optional>

#include "graphopt/error.h"
#include "ir/model.h"

namespace graphopt {

// Returns the first broken invariant as an Internal error, or nothing.
std::optional<Error> verify(const Model& model);

}  // namespace graphopt
