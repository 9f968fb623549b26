// Inputs for two graphs whose inputs correspond: the same numbers for both, whatever their types and layouts.
#pragma once

#include <vector>

#include "numeric/mapped_values.h"

namespace graphopt {

struct PairedInputs {
  std::vector<NamedValue> a, b;
  std::vector<NamedValue> near;  // A's, floats changed by about one rounding of `coarsest`; empty: none has
};

// Draws inputs of A and makes those of B.
class InputPairs {
 public:
  // ErrorKind::NotChecked, ErrorKind::Usage: as in compare_mapped().
  static Result<InputPairs> make(const mapping::Scope& main, const NumericSide& a, const NumericSide& b,
                                 const GivenInputs& given);

  std::vector<Binding> bindings() const;
  // Returns nothing where inputs cannot be made with these sizes.
  std::optional<PairedInputs> draw(const Binding& binding, std::uint64_t seed, DType coarsest) const;
  DType coarsest_float() const;  // of both models
  bool round_otherwise() const;  // the coarsest types of the two differ

 private:
  struct Link {
    std::string a, b;
    DType dtype = DType::Undefined;   // of B's
    std::vector<std::size_t> layout;  // of B's dims; empty: as A's
  };
  InputPlan plan_, plan_b_;
  GivenInputs given_;  // of A
  std::vector<Link> links_;
};

}  // namespace graphopt
