// Which operators are spellings of one computation, for the comparison of graphs.
//
// Problem: one exporter writes Gemm where another writes MatMul, and a runtime writes its own variants.
// Method: one table of operators that may stand for another one: the same work on the same operands, up to a
// bias, an activation, a sum before it or the dims of its result. It says nothing of equality: rewrites do
// not read it.
#pragma once

#include "ir/op_kind.h"
#include "ops/facts.h"

namespace graphopt {

// Returns the operator for which this one may stand: itself, if it is no other spelling.
OpKind family_of(OpKind kind);

// Returns whether the order of the operator's operands has no meaning in arithmetic. Kernels may give other
// bits (OpFacts::commutative is about those).
bool is_order_free(const OpFacts& facts);

// Returns whether an operator with one of its own kind and attributes among its operands may be written as
// one operator: a Concat of a Concat.
bool flattens(OpKind kind);

// Returns whether the results say nothing of the elements that are read.
bool reads_only_dims(OpKind kind);

// Returns whether the operator combines operands, of which one may be a constant in one graph (a bias) and
// computed in another place (a residual): a hint that the two are not each other's counterpart.
bool combines_operands(const OpFacts& facts);

}  // namespace graphopt
