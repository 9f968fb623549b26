// Which operands a runtime finds to be constants when it loads a model, and the policy that none of those
// changes whose packing decides bits.
//
// ONNX Runtime takes for constants: initializers that a caller cannot override (before IR version 4 all) and
// results of Constant nodes. It does not look through Identity or any other node (its optimizations off). A
// node in a body sees the constants of its own graph and of the graph directly around it; those further out
// are values like any other. A function's body becomes a part of the graph of the call, so its inputs are
// what the call passes. tests/equal/packed_operands.py asks the runtime each of these.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "infer/infer.h"
#include "ir/model.h"
#include "ops/facts.h"

namespace graphopt {

// How a node of some graph sees a value.
struct Constancy {
  enum class Kind : std::uint8_t {
    Computed,
    Constant,
    Parameter  // of a function: what the calls pass
  };
  Kind kind = Kind::Computed;
  std::uint32_t levels = 0;  // graphs outward to that of the value; 0 for Computed
  bool operator==(const Constancy&) const = default;
};

// Returns how a node of graph `user` sees v. Precondition: v is visible there.
Constancy constancy_of(const Model& m, ValueId v, GraphId user);
// Returns whether a use may change from one to the other.
bool same_packing(Packing packing, Constancy before, Constancy after);
// Returns what is done with operand `slot` of n.
Packing packing_of(const Model& m, const Inference& infer, NodeId n, std::size_t slot);

// Forbids each replacement after which a packed operand is a constant and was none, or the reverse.
class KeepConstancy final : public UsePolicy {
 public:
  explicit KeepConstancy(const Inference& infer) : infer_(infer) {}
  bool may_read(const Model& m, UseId use, ValueId v) const override;
  bool may_become_constant(const Model& m, ValueId v) const override;

 private:
  const Inference& infer_;
};

// The constancy of all packed operands, recorded to be compared after a pass (--verify-each).
class ConstancyRecord {
 public:
  ConstancyRecord(const Model& m, const Inference& infer) { take(m, infer); }
  // Returns the place and the fact of the first operand that differs, then records anew; none when all nodes
  // that are still there and have the same operator agree.
  std::optional<Error> compare(const Model& m, const Inference& infer);

 private:
  void take(const Model& m, const Inference& infer);

  struct Operand {
    NodeId node;
    OpKind kind;
    std::uint32_t slot;
    Constancy constancy;
    Packing packing;
  };
  std::vector<Operand> operands_;
};

}  // namespace graphopt
