// Whether the inputs of a request are those that a network takes, and what its symbols are.
//
// Problem: a wrong input reaches a runtime as a message about some node, or not at all: ONNX Runtime compares
// no symbols between inputs. Method: names, then types, then extents, input by input; a symbol has the first
// extent that is seen for it, and every later one must be equal. Dims that are formulas of symbols are
// evaluated last.
//
//   network (float[N,4] x, float[N] y), request x [2,4], y [3]   =>   error: input 'y', axis 0: N is 2 ...
#pragma once

#include <span>

#include "deploy/manifest.h"
#include "graphopt/error.h"
#include "runner/extents.h"
#include "runtime/inputs.h"

namespace graphopt::runner {

// Returns the extents of the symbols that are dims of the inputs. Errors of kind Usage, at most kMaxErrors,
// each of which names its input: one that is unknown, missing or given twice, of another type, rank or
// extent, outside of the bounds of a symbol, or whose elements are not as many as its dims say.
Result<Extents> check_inputs(const deploy::Network& network, std::span<const NamedValue> inputs);

}  // namespace graphopt::runner
