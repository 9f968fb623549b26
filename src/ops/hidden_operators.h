// Model-local functions whose names runtimes know as operators.
//
// Problem: a file may define a function Relu in the default domain, or one of a newer operator for older
// runtimes. ONNX leaves open which of the two a node means; ONNX Runtime runs its own operator where its
// schemas have one for the model's opset, deprecated operators and those of a later opset make it refuse the
// model, and other runtimes may decide otherwise. Names and versions change with each release, those of
// com.microsoft without a new version of the domain.
// Method: the domain decides. In the domains that runtimes fill, a node of a function's name is opaque to the
// reader: neither the operator nor a call. And where a function has the name of an operator that passes
// write, no pass writes operators, since the next reader could not tell them from calls.
#pragma once

#include <string_view>

#include "ir/model.h"

namespace graphopt {

// Returns whether runtimes have operators of their own in the domain, so that a name in it, even one that the
// fact table does not have, may mean one. "ai.onnx" is "".
bool is_domain_of_runtimes(std::string_view domain);

// Returns a function of the model with the name of an operator that passes, repairs and the writer may write,
// which are those of the default domain; none when there is none.
FunctionId hidden_operator(const Model& m);

// Returns whether a function has the name of this operator.
bool is_hidden(const Model& m, OpKind kind);

}  // namespace graphopt
