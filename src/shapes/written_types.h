// The types that a saved model states in place of those of the file.
//
// Problem: after binding (bind.h) and after passes, value_info and outputs of the file may be wrong, too
// weak, or missing where a runtime needs them; what is still right should keep the file's own bytes. Method:
// one decision per value. Numbers that follow from bound ones are written into the types of inputs, outputs
// and value_info; claims that inference refuted are replaced; values and inputs that were added get a type;
// all types, when the user wants them. Names of dims are chosen so that none stands for two extents
// (dim_names.h).
//
// Where names are shortened, inner values keep no types of the file, and which ones are written then follows
// from the graph alone, not from what passes or the file before them did: so a second run writes the same.
#pragma once

#include <cstddef>
#include <vector>

#include "infer/infer.h"
#include "ir/model.h"
#include "onnx/writer.h"

namespace graphopt {

struct WrittenTypesOptions {
  bool specialized = false;     // specializes(bindings): numbers were bound
  bool on_inputs_only = false;  // and are not written elsewhere
  bool all = false;             // write what inference found out into all of them (--infer)
  bool passes_ran = false;      // the graph may differ from the file
  bool short_names = false;     // what the file states of inner values is gone (onnx/short_names.h)
  bool calls_come = false;      // nodes of the main graph may become calls yet: at least what is stated then
  std::size_t file_values = 0;  // number of values in the file; later ones were made by passes
};

// Returns the types to be written; all others stay unchanged. Call it after the passes.
std::vector<TypeOverride> written_types(Model& model, const Inference& inference,
                                        const WrittenTypesOptions& options);

}  // namespace graphopt
