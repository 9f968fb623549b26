// The names of dims in written types.
//
// Problem: ONNX Runtime's memory planner gives two values one buffer when their dims have equal names, and a
// second run on the result must write the same bytes. So two different dims never get one name, and the names
// that graphopt makes depend on the final graph alone.
//
// Method: names that stay in the file (of inputs, of entries about which inference knows nothing) are taken.
// Symbols that inference made are numbered in the order in which they first occur in the written types of the
// graph in canonical order, those that stand alone first, without the numbers that are taken. An expression
// whose text is taken for something else is written as a made symbol.
#pragma once

#include <vector>

#include "infer/infer.h"
#include "ir/model.h"
#include "onnx/writer.h"

namespace graphopt {

// Numbers the made symbols in `types`, and replaces expressions whose text is taken. `made_names`: made
// symbols may be written; without it such a dim stays open.
void name_dims(Model& model, const Inference& inference, std::vector<TypeOverride>& types, bool made_names);

}  // namespace graphopt
