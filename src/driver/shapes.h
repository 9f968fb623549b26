// --shape and --dim applied to a model: validates them, converts them to ranges for inference, and selects
// the types that the saved model states.
//
// A single value specializes the model: its inputs' types are written with numbers, and so are the dims of
// outputs and value_info that follow from them. A range is the user's promise; inference may use it, but the
// file does not state it.
#pragma once

#include <cstdint>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/options.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "onnx/writer.h"

namespace graphopt {

// Returns the options of inference. ErrorKind::Usage for names that the model does not have (with near ones)
// and for numbers that contradict the model or each other.
Result<InferOptions> shape_options(const Model& model, const Options& options);

// Returns the symbols of the main graph's inputs, in their order.
std::vector<DimId> input_symbols(const Model& model);

// Returns the types that the saved file states in place of those in the input; all others stay unchanged.
// Call it after the passes. `file_values`: number of values in the file; later ones were made here and get a
// type.
std::vector<TypeOverride> written_types(Model& model, const Inference& inference, const Options& options,
                                        std::size_t file_values, bool passes_ran);

}  // namespace graphopt
