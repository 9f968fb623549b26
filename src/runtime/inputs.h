// Legal inputs for a model: what --check feeds to both sides.
//
// Problem: random numbers are not inputs. Indices must stay inside the table that they are looked up in, dims
// that share a symbol must agree, a mask must leave something unmasked, a length must not exceed what it
// measures; else the runtime refuses the model and nothing has been compared.
//
// Method: plan_inputs() reads the model once, before any pass changes it: the types of its inputs give
// element types and dims (expressions over symbols), and a walk along the use lists from each integer or Bool
// input to the operators that give its values a meaning bounds them. The plan is a value of its own that no
// later change of the model touches. make_inputs() turns it into tensors for one binding of the symbols and
// one seed, the same on every machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

// Call it before the passes: they may remove what tells how an input is used.
InputPlan plan_inputs(const Model& model, const Inference& infer);

// Are there initializers that a caller may override?
bool has_defaults(const InputPlan& plan);

// Bindings of the plan's symbols, the most likely legal one first. Each list holds every symbol once.
std::vector<Binding> candidate_bindings(const InputPlan& plan);

struct NamedValue {
  std::string name;
  HostValue value;
};

struct InputStyle {
  std::uint64_t seed = 0;
  unsigned turn = 0;  // even and odd turns take conditions both ways and lean floats to either side of 0
  bool special =
      false;  // signed zeros, tiny and large values, NaN and infinities where the model can take them
  bool feed_defaults = false;  // initializers that are inputs get a value of their own, not their default
};

// Nothing when a dim cannot be evaluated or is negative, or when the inputs would exceed `max_bytes`.
std::optional<std::vector<NamedValue>> make_inputs(const InputPlan& plan, const Binding& binding,
                                                   InputStyle style,
                                                   std::uint64_t max_bytes = std::uint64_t{1} << 30);

}  // namespace graphopt
