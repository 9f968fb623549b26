// --shape, --dim and --infer in terms of src/specialize.
#pragma once

#include "graphopt/options.h"
#include "specialize/bind.h"
#include "specialize/written_types.h"

namespace graphopt {

Bindings bindings_of(const Options& options);

}  // namespace graphopt
