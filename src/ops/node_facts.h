// The rows of the fact table for the nodes of a model.
#pragma once

#include "ir/model.h"
#include "ops/facts.h"

namespace graphopt {

// Returns the row of the node's operator at its opset.
inline const OpFacts& facts_of(const Model& m, NodeId n) {
  return facts(m.kind(n), static_cast<int>(m.opset(n)));
}

// Returns the operator of the table for a new node.
inline OpId standard_op(Model& m, OpKind kind) { return m.intern_op(kind, op_domain(kind), op_name(kind)); }

}  // namespace graphopt
