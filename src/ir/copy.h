// Copies of nodes and graphs, within a model or from one model into another.
//
// Problem: a function that is made of nodes, a call that is replaced by its body, a variant of a graph beside
// the original: each needs nodes with the same operator, attributes and bodies, but with other operands.
// Method: a Copier knows what each value of the source is in the target. The caller maps what the copies read
// from outside (inputs, captures), and may map results to values that wait for a definition; all other
// results become new values. Tensors are shared. Between two models, names, types and operators are looked up
// in the target, functions that are called come along, and the target keeps the memory of the source alive:
// attributes, and nodes whose names stay, are views of the same bytes.
// Left to the caller between two models: that the target imports the operator sets of the source, in the same
// versions. A function of the same name counts as the same function.
// Ends: each node is copied once; bodies wait in a list, so that their depth does not matter.
//
//   Copier copy(m, m);                  // f (a) => (b) { b = Relu (a) } in place of y = f (x)
//   copy.map(a, x);
//   copy.map(b, m.detach_output(call, 0));
//   copy.nodes(body, graph, call);
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/model.h"

namespace graphopt {

enum class CopiedNames : std::uint8_t {
  Fresh,  // new values and nodes get names that nothing in the target has
  Keep,   // they keep theirs: in a model or function where no other value has one of them
};

class Copier {
 public:
  // Both must outlive the copier. Nothing else may change `from` meanwhile, and if both are one model,
  // nothing but what the copier returns.
  Copier(const Model& from, Model& to, CopiedNames names = CopiedNames::Fresh);

  // States what a value of the source is in the target.
  void map(ValueId from, ValueId to) { values_.insert_or_assign(from, to); }
  // Returns what a value of the source is in the target; none where it was neither mapped nor copied.
  ValueId find(ValueId from) const;

  // Copies one node with its bodies into graph g, before `before`, or at the end when that is none. An
  // operand that is not mapped must be one of the model itself that is visible there. Returns the copy.
  NodeId node(NodeId n, GraphId g, NodeId before = {});
  // Copies all nodes of a graph, in their order, and its initializers that are not mapped. Outputs are left
  // to the caller.
  void nodes(GraphId from, GraphId g, NodeId before = {});

  // Returns the same in the target.
  NameId name(NameId n);
  OpId op(OpId o);
  TypeId type(TypeId t);
  DimId dim(DimId d);
  TensorId tensor(TensorId t);
  std::uint32_t opsets(std::uint32_t table);

 private:
  struct Body {
    GraphId from, to;
    CopiedNames names;
  };
  struct Copied {
    NodeId node;
    bool plain;  // has the names that it had in the file
  };
  ValueId operand(ValueId v) const;
  ValueId value(ValueId v, GraphId g, CopiedNames names);
  void initializers(const Body& b);
  Attr attribute(const Attr& a, NodeId owner);
  NodeId shallow(NodeId n, GraphId g, NodeId before, CopiedNames names);
  void bodies();
  void body(const Body& b);
  void settle(const std::vector<GraphId>& bodies);
  FunctionId function(FunctionId f);
  bool same_model() const { return &from_ == &to_; }

  const Model& from_;
  Model& to_;
  const CopiedNames names_;
  std::unordered_map<ValueId, ValueId> values_;
  CopiedNames current_names_ = CopiedNames::Fresh;  // of the node that is copied now
  std::vector<Body> pending_;                       // bodies of nodes that were copied
  std::vector<Copied> copied_;                      // since the last settle()
  std::vector<GraphId> changed_;                    // bodies that differ from the file
  // Between models, by id of the source; none: not looked up yet.
  std::unordered_map<OpId, OpId> ops_;
  std::unordered_map<TypeId, TypeId> types_;
  std::unordered_map<TensorId, TensorId> tensors_;
  std::unordered_map<FunctionId, FunctionId> functions_;
  std::unordered_map<std::uint32_t, std::uint32_t> opsets_;
};

}  // namespace graphopt
