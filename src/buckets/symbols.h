// The symbols of bucket specs among the inputs of a model.
//
// Problem: a spec names dims as the user knows them: a symbol of the inputs, the place of an open dim without
// a name ("x[1]"), or a symbol that other symbols give ("total = past + seq"). Method: places get a symbol of
// that name, and names that others give are replaced, so that the inputs state every dim in the symbols of
// the spec.
#pragma once

#include "buckets/marks/marks.h"
#include "graphopt/error.h"
#include "ir/model.h"

namespace graphopt {

// Gives places and relations of the marks to the model's inputs. ErrorKind::Usage for symbols, places, inputs
// and names in relations that the model does not have.
Status prepare_symbols(Model& m, const BucketMarks& marks);

}  // namespace graphopt
