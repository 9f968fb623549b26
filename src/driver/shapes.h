// --shape and --dim against a model: are they possible, what does inference make of them, and which types
// does the saved model state?
//
// A single value specializes the model: its inputs' types are written with numbers, and so are the dims of
// outputs and value_info that follow from them. A range is the user's promise; inference may use it, the file
// does not state it.
#pragma once

#include <cstdint>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/options.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "onnx/writer.h"

namespace graphopt {

// What inference is told. ErrorKind::Usage for names that the model does not have (with the near ones) and
// for numbers that contradict the model or each other.
Result<InferOptions> shape_options(const Model& model, const Options& options);

// Symbols of the main graph's inputs, in their order.
std::vector<DimId> input_symbols(const Model& model);

// The types that the saved file states in place of what the input said; everything else stays word for word.
// Call it after the passes. `file_values`: number of values that the file had; later ones were made here and
// get a type.
std::vector<TypeOverride> written_types(Model& model, const Inference& inference, const Options& options,
                                        std::size_t file_values, bool passes_ran);

}  // namespace graphopt
