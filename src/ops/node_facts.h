// Between a model's nodes and the fact table.
#pragma once

#include "ir/model.h"
#include "ops/facts.h"

namespace graphopt {

// The row that holds for the node's operator at its opset.
inline const OpFacts& facts_of(const Model& m, NodeId n) {
  return facts(m.kind(n), static_cast<int>(m.opset(n)));
}

// The operator of the table for a new node.
inline OpId standard_op(Model& m, OpKind kind) { return m.intern_op(kind, op_domain(kind), op_name(kind)); }

}  // namespace graphopt
