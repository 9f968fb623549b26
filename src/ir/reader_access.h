// What only those may change who build a model from something else: parts that no mutator maintains.
//
// The reader fills a model in while it is not complete, and states at the end that it equals the file. Passes
// and searches change a model by its mutators alone; tests/cli/layering.py sees to it.
#pragma once

#include <span>

#include "ir/model.h"

namespace graphopt {

struct ReaderAccess {
  static Function& function(Model& m, FunctionId f) { return m.functions_[f.index()]; }
  static Graph& graph(Model& m, GraphId g) { return m.graphs_[g.index()]; }
  static Value& value(Model& m, ValueId v) { return m.values_[v.index()]; }
  static Node& node(Model& m, NodeId n) { return m.nodes_[n.index()]; }
  // Replaces the attributes of a node, without a mark or a notice.
  static void set_attrs(Model& m, NodeId n, std::span<const Attr> attrs) { m.set_attrs(n, attrs); }
};

}  // namespace graphopt
