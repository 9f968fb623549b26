// What of a model is written: all of it, or a part as a model of its own (ir/part.h).
//
// Bodies and functions are written whole, so a part differs from the model in the main graph, the list of
// functions and the operator sets, and in fields that are kept from the file: training info and annotations
// of values that are elsewhere stay out.
#pragma once

#include <span>
#include <vector>

#include "ir/model.h"
#include "ir/part.h"

namespace graphopt {

class WrittenModel {
 public:
  // `part`: none for the whole model. Both must outlive this object.
  WrittenModel(const Model& m, const ModelPart* part);

  bool whole() const { return part_ == nullptr; }
  std::span<const ValueId> inputs(GraphId g) const;
  std::span<const ValueId> initializers(GraphId g) const;  // may hold dead ones
  std::vector<ValueId> outputs(GraphId g) const;           // without absent ones
  const OpsetTable& opsets() const { return part_ ? part_->opsets : m_.opset_tables[0]; }
  // Fields that are kept from the file, each with its tag.
  std::span<const Bytes> rest() const { return part_ ? std::span<const Bytes>(rest_) : m_.rest; }
  std::span<const Bytes> rest(GraphId g) const;
  bool has(FunctionId f) const { return !part_ || functions_[f.index()]; }
  bool has(GraphId g) const;  // the main graph, a body in a node that is written, or a function's
  // Returns true if the value is defined in what is written, or is an input or initializer of it.
  bool has(ValueId v) const { return !part_ || m_.value(v).graph != m_.main() || values_[v.index()]; }

  // Calls f(NodeId) for the nodes of a graph, last to first.
  template <class F> void nodes_backwards(GraphId g, F f) const {
    if (part_ && g == m_.main()) {
      for (auto it = part_->nodes.rbegin(); it != part_->nodes.rend(); ++it) f(*it);
    } else {
      for (NodeId n = m_.graph(g).last; n; n = m_.prev_node(n)) f(n);
    }
  }

 private:
  bool is_main_part(GraphId g) const { return part_ && g == m_.main(); }

  const Model& m_;
  const ModelPart* part_;
  std::vector<bool> values_;             // by value; empty for the whole model, as the following
  std::vector<bool> nodes_;              // by node of the main graph
  std::vector<bool> functions_;          // by function
  std::vector<Bytes> rest_, main_rest_;  // what of the model's and the main graph's fields is kept
};

}  // namespace graphopt
