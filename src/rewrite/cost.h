// What a node costs when a runtime executes it: the one answer for rules and for the search over moves.
//
// A runtime launches a kernel for each node that computes data. Two kinds of nodes cost it none:
// deformations, which only give a buffer other dims, and elementwise nodes that it *absorbs*
// (docs/hoisting.md, "Absorbed nodes"): those in the epilogue of a heavy node, a chain of single-use values
// of one shape that starts at the heavy node's first result, where all other operands are constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

struct NodeCost {
  bool launches = false;  // a kernel of its own
  bool absorbed = false;  // executed in the epilogue of a heavy node
  // That all results take; nothing where a dim is no number or a type has no size.
  std::optional<std::uint64_t> bytes;
};
// Whether the result of a node is only a shape cannot be seen at the node: such a computation launches here.
NodeCost cost_of(const Model& m, const Inference& infer, NodeId n);

// Returns the bytes of a tensor in raw form; nothing where a dim is no number or the type has no size.
std::optional<std::uint64_t> value_bytes(const Model& m, const Inference& infer, ValueId v);
// Returns what the value takes at least, by the ranges of its dims; 0 where nothing is known of one.
std::uint64_t least_value_bytes(const Model& m, const Inference& infer, ValueId v);

// Returns whether runtimes execute an epilogue with the node: Conv, MatMul, Gemm, BatchNormalization ...
bool is_heavy(const Model& m, NodeId n);

// Returns the one operand of n that is computed, if n could be in the epilogue of its producer as far as n
// can tell: n is elementwise, nothing else reads the operand, which has the shape of n's first result, and
// all other operands are constants. None otherwise. For models and drafts: G tells
//   Node, Value                    ids
//   elementwise(Node)              of operands and results of known types
//   operand_count(Node), operand(Node, i)
//   constant(Value), single_use(Value)
//   shaped_like_result(Value, Node)   the value has the known shape of the node's first result
template <class G> typename G::Value epilogue_operand(const G& g, typename G::Node n) {
  if (!g.elementwise(n)) return {};
  typename G::Value computed;
  for (std::size_t i = 0; i < g.operand_count(n); ++i) {
    const typename G::Value v = g.operand(n, i);
    if (!v || g.constant(v)) continue;
    if (computed) return {};
    computed = v;
  }
  return computed && g.single_use(computed) && g.shaped_like_result(computed, n) ? computed
                                                                                 : typename G::Value{};
}

// A model, as epilogue_operand() reads it.
class ModelView {
 public:
  using Node = NodeId;
  using Value = ValueId;
  ModelView(const Model& m, const Inference& infer) : m_(m), infer_(infer) {}

  bool elementwise(NodeId n) const;
  std::size_t operand_count(NodeId n) const { return m_.input_count(n); }
  ValueId operand(NodeId n, std::size_t i) const { return m_.input(n, i); }
  bool constant(ValueId v) const { return m_.constant_of(v).valid(); }
  bool single_use(ValueId v) const { return m_.single_user(v).valid(); }
  bool shaped_like_result(ValueId v, NodeId n) const;

 private:
  const Model& m_;
  const Inference& infer_;
};

// Returns the node that a runtime would execute in the epilogue of v's producer, were that heavy; none if
// there is none.
NodeId epilogue_of(const Model& m, const Inference& infer, ValueId v);

}  // namespace graphopt
