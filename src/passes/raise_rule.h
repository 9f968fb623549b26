// A rule that writes one standard operator for a subgraph of simpler ones, and the runtime's part of its
// condition.
#pragma once

#include <span>
#include <string_view>

#include "passes/rule_pass.h"

namespace graphopt {

// Returns whether the operator is worth writing in this opset of ai.onnx: ONNX Runtime has a kernel for the
// element type on a CPU, or expands it into no more nodes than the primitives have.
bool has_raised_kernel(OpKind kind, std::int64_t opset, DType type);

// How far a constant may be from the number in the formula, relative to it: four times what it costs to round
// that number to a float.
inline constexpr double kNear = 0x1p-22;

class RaiseRule : public Rule {
 public:
  static constexpr bool kIsCostlyToMake = true;  // its patterns cost more than a match of them

 protected:
  // Returns whether `kind` may compute y, a value in the graph of n, from x and keep its type and dims.
  bool may_raise(const MatchContext& c, NodeId n, OpKind kind, ValueId x, ValueId y) const;

  // Replaces node n by an operator with these operands and attributes, which makes the result of n.
  static void raise(Model& m, NodeId n, OpKind kind, std::span<const ValueId> operands,
                    std::span<const Attr> attributes);
};

inline Attr float_attribute(NameId name, float value) {
  Attr a;
  a.name = name;
  a.kind = AttrKind::Float;
  a.f = value;
  return a;
}

}  // namespace graphopt
