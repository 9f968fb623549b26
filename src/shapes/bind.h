// Numbers and ranges for the dims that a model leaves open.
//
// Problem: a model is wanted for some sizes only: for "batch" = 4, for "length" in 1..512, for an input of
// shape [1,3,224,224]. The values may contradict the model or each other.
// Method: each name is looked up among the symbols of the main graph's inputs. Values for one symbol are
// intersected; dims that are expressions ("2*batch") are evaluated and compared. Nothing is changed: the
// result is what inference takes, which then knows every dim that follows.
// A number specializes the model: written_types.h selects the types that then state it. A range is a promise
// that inference may use; no type states it.
//
//   Model four = model.clone();                                           // owns its dims, shares weights
//   Result<InferOptions> bound = bind(four, {.shapes = {}, .symbols = {{"batch", 4, 4}}});
//   Inference inference(four, *std::move(bound));
//   inference.run();
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graphopt/error.h"
#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

struct Bindings {
  struct Shape {
    std::string input;
    std::vector<std::int64_t> dims;  // -1 keeps the dim as it is
  };
  struct Symbol {
    std::string name;
    std::int64_t low = 0, high = 0;  // both are included; a number when they are equal
  };
  std::vector<Shape> shapes;
  std::vector<Symbol> symbols;
  // What the user calls them, for messages.
  std::string shape_option = "--shape", symbol_option = "--dim";
};

// Returns the options of inference. ErrorKind::Usage for names that the model does not have (with near ones)
// and for numbers that contradict the model or each other.
Result<InferOptions> bind(const Model& model, const Bindings& bindings);

// Returns the error of an option that does not fit the model.
Error usage_error(const Model& model, std::string what, std::string remedy);

// Returns true if a dim becomes a number, so that types of the saved model state it.
bool specializes(const Bindings& bindings);

// Returns the input of the main graph of that name; none when there is none.
ValueId find_input(const Model& model, std::string_view name);

// Returns the symbols of the main graph's inputs, in their order.
std::vector<DimId> input_symbols(const Model& model);

}  // namespace graphopt
