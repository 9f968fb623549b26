// A changed copy of the model, and what of it is written as a candidate.
//
// Problem: whatever is taken away, the rest has to be a valid model. What it reads and nothing makes any
// more has to come from somewhere, and a result that nothing reads any more must not make its node dead.
// Method: a change is made on a clone by the mutators, or states which nodes of the main graph are cut off.
// Then the rest is settled: a value that came from a node which is cut off becomes an input with the type
// that inference knows, or an initializer where inference knows its elements; a node whose results nothing
// reads any more gives an output, and so does one that nothing ever read where no other output is left. Where
// a type is not known well enough to be declared, the node that makes the value stays after all. Inputs,
// initializers, functions and operator sets that nothing needs are not written.
//
//   x -> a -> b -> c -> y    with b cut off:    x -> a -> (a)    (b) -> c -> y
#pragma once

#include <vector>

#include "infer/infer.h"
#include "ir/model.h"
#include "ir/part.h"
#include "onnx/writer.h"

namespace graphopt {

struct Edit {
  explicit Edit(const Model& m);

  Model model;
  std::vector<bool> cut;   // by node: of the main graph, left out
  std::vector<bool> idle;  // by node: nothing read its results before the change; it stays unless cut off
  // A node that nothing reads any more gives an output; false: it is left out, and so is what only it read.
  bool leaves_are_outputs = false;
  std::vector<ValueId> outputs;     // of the main graph, beside those of the model
  std::vector<TypeOverride> types;  // to be written: of new inputs, and where a type changed
  std::vector<TypeOverride> known;  // of other values that were made, should they become outputs
  std::size_t cloned_values;        // values with later ids were made by the change
};

struct Candidate {
  ModelPart part;
  std::vector<TypeOverride> types;
};

// Returns what is written of the edit. `known`: inference of the model that was cloned. `keep_unused`: also
// what nothing reads is written.
Candidate settle(Edit& e, const Inference& known, bool keep_unused);

// Returns true if an input or output of this type can be declared: onnx's checker refuses one without rank.
bool can_declare(const Type& type);

}  // namespace graphopt
