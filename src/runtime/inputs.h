// Legal inputs for a model, which --check gives to both models.
//
// Problem: random numbers are not inputs. Indices must be inside the table that they select from, dims that
// share a symbol must agree, a mask must leave something unmasked, a length must not exceed what it measures;
// otherwise the runtime refuses the model and nothing is compared.
//
// Method: plan_inputs() reads the model once, before any pass changes it: the types of its inputs give
// element types and dims (expressions over symbols), and a walk along the use lists from each integer or Bool
// input to the operators that give its values a meaning bounds them. The plan does not refer to the model.
// make_inputs() turns it into tensors for one binding of the symbols and one seed, the same on every machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graphopt/error.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "runtime/host_value.h"

namespace graphopt {

struct DimBinding {
  std::string symbol;
  std::int64_t value = 0;
};
using Binding = std::vector<DimBinding>;
std::string to_string(const Binding& b);  // "batch=2 seq=16"; "" when there are no symbols

class InputPlan {
 public:
  InputPlan();
  ~InputPlan();
  InputPlan(InputPlan&&) noexcept;
  InputPlan& operator=(InputPlan&&) noexcept;

  struct State;
  State& state() { return *s_; }
  const State& state() const { return *s_; }

 private:
  std::unique_ptr<State> s_;
};

// Call it before the passes: they may remove the operators that determine how an input is used.
InputPlan plan_inputs(const Model& model, const Inference& infer);

// Returns true if a caller may override initializers.
bool has_defaults(const InputPlan& plan);

// Returns the float type with the fewest digits among those of the nodes' results; Undefined without floats.
DType coarsest_float(const InputPlan& plan);

// Returns true if graph output `index` is a result of an operator that rounds to a unit in the last place at
// 1 (rounds_at_one in ops/facts.h), or of nodes that move or cast one.
bool output_rounds_at_one(const InputPlan& plan, std::size_t index);

// Returns bindings of the plan's symbols, the most likely legal one first. Each has every symbol once.
std::vector<Binding> candidate_bindings(const InputPlan& plan);

struct NamedValue {
  std::string name;
  HostValue value;
};

struct InputStyle {
  std::uint64_t seed = 0;
  // conditions are reversed between even and odd turns, as is the sign to which floats tend
  unsigned turn = 0;
  bool special =
      false;  // signed zeros, tiny and large values, NaN and infinities where the model accepts them
  bool feed_defaults = false;  // initializers that are inputs get a value other than their default
};

// Values of the user's own for some of the inputs (--check-input), in place of drawn ones.
using GivenInputs = std::vector<NamedValue>;

// ErrorKind::Usage when a value does not fit the plan: no input of that name, another element type or rank,
// another extent of a dim that is a number.
Status fits(const InputPlan& plan, const GivenInputs& given);

// Returns the binding with the sizes that the given values show: a dim that is one symbol has its extent.
Binding bound_by(const InputPlan& plan, const GivenInputs& given, Binding binding);

// Returns the given values and draws the others. Returns nothing when a dim of those cannot be evaluated or
// is negative, or when they would exceed `max_bytes`.
std::optional<std::vector<NamedValue>> make_inputs(const InputPlan& plan, const Binding& binding,
                                                   InputStyle style, const GivenInputs& given = {},
                                                   std::uint64_t max_bytes = std::uint64_t{1} << 30);

}  // namespace graphopt
