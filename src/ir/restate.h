// Another payload or type for a value, and a model without what its file says beside the computation.
//
// Passes keep all of this: a constant is what it is, types of inputs are the interface, and texts are the
// user's. It is for a model that is made small for a reader (reduce), which need not be the model that it
// was. No listener hears of it: inference begins anew.
#pragma once

#include "ir/model.h"

namespace graphopt {

// Precondition: v is an initializer that is not sparse.
void set_tensor(Model& m, ValueId v, TensorId t);
// States another type of an input of the main graph; what the file says of it is dropped. The writer needs
// the same type as an override.
void declare(Model& m, ValueId v, TypeId type);
// A graph that was made has no name, which the standard asks for.
void rename(Model& m, GraphId g, NameId name);
// Drops value_info: what is stated of results that are no outputs.
void drop_infos(Model& m);
// Drops doc strings, metadata and annotations of the model and of its graphs.
void drop_annotations(Model& m);

}  // namespace graphopt
