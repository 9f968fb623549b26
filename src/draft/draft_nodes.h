// Nodes of a draft as nodes of the model: what writes a draft makes them to stay, a trial to look at them.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "draft/draft.h"
#include "rewrite/build.h"

namespace graphopt {

// Writes nodes of one draft in the form of the model's opset.
class DraftNodes {
 public:
  // Returns an initializer of these numbers, which has this name if it is made anew.
  using Int64s = std::function<ValueId(std::span<const std::int64_t>, const std::string& name)>;

  DraftNodes(const Draft& d, Model& m, Int64s int64s);

  // Makes a node that the model does not have, with these operands and results.
  NodeId make(DNode n, std::span<const ValueId> in, std::span<const ValueId> out, NodeId before);
  // Gives the model's node, which has the operands of n, the attributes that it has in the draft. `base`:
  // what names of new constants begin with.
  void write_attributes(DNode n, NodeId node, const std::string& base);
  // Returns the constant with the dims that it has in the draft.
  TensorId tensor_of(DValue v);

 private:
  NodeId make_deform(DNode n, std::span<const ValueId> in, Site at);
  ValueId lengths_operand(DNode n, ValueId x);
  void write_lengths(DNode n, NodeId node);
  std::string text_of(ValueId v) const { return std::string(m_.text(m_.value(v).name)); }

  const Draft& d_;
  Model& m_;
  ShapeTable shapes_;  // a copy: products are cached in it
  Int64s int64s_;
};

}  // namespace graphopt
