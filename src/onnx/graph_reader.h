// Builds graphs, nodes, values and functions of a Model from their bytes.
//
// Names are resolved through one array, indexed by the id of the name, that contains the value which the name
// refers to at the current point. A subgraph sets its own values in place of those of the enclosing graphs
// and restores these at its end, so each look-up is one load, however deep the nesting and however many names
// there are.
//
// A graph is read in two steps: first the fields of all nodes, which declares every result; then the nodes
// are made, with their attributes and subgraphs, in file order. So nodes may come in any order; if one comes
// before a node whose result it reads, the list is sorted afterwards (topology.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/model.h"
#include "onnx/external.h"
#include "onnx/problems.h"
#include "onnx/types_wire.h"
#include "onnx/wire.h"

namespace graphopt {

class GraphReader {
 public:
  // `dim_expressions`: names of dims of inputs may be expressions (LoadOptions).
  GraphReader(Model& m, Problems& problems, ExternalFiles& external, bool dim_expressions);

  // Call these in this order: all functions are declared, so that calls can be told from operators; then the
  // main graph is read; then the bodies.
  void declare_function(Bytes proto);
  void read_main(Bytes graph, const std::vector<Bytes>& training);
  void read_functions();
  // Graphs whose nodes were put into another order than that of the file.
  const std::vector<GraphId>& sorted() const { return sorted_; }

  // Returns the opset imports in OperatorSetIdProtos.
  OpsetTable read_opsets(const std::vector<Bytes>& imports, const Place& place);

 private:
  struct ParsedNode {  // a node whose fields were read, before it is made
    Bytes proto;
    NameId name;
    OpId op;
    std::uint32_t first_name = 0;  // in operand_names_: inputs, then outputs
    std::uint32_t inputs = 0, outputs = 0;
    bool has_attributes = false, has_devices = false;
  };
  struct OpenGraph {  // a graph that is being read
    GraphId graph;
    NodeId current;
    bool unsorted = false;
    std::size_t undo = 0;  // start of its entries in undo_
  };
  struct Parts {  // fields of a graph or function by kind; value_infos with their tags
    std::vector<Bytes> nodes, initializers, sparse, inputs, outputs, value_infos, annotations;
  };

  // graph_reader.cpp
  void read_graph(Bytes proto, GraphId g, int budget, const std::vector<Bytes>& training);
  bool split_graph(Bytes proto, GraphId g, Parts& parts);
  void read_body(GraphId g, Parts& parts, int budget);
  void read_inputs(GraphId g, const std::vector<Bytes>& inputs, int budget);
  void read_initializers(GraphId g, const Parts& parts);
  void read_outputs(GraphId g, const std::vector<Bytes>& outputs, int budget);
  void read_value_infos(GraphId g, const std::vector<Bytes>& infos, int budget);
  void pin_annotated(const std::vector<Bytes>& annotations);
  void pin_training(Bytes proto);
  void pin_names_of_nodes(Bytes graph, int budget);
  void pin(std::string_view name);

  // node_reader.cpp
  bool parse_node(Bytes proto, GraphId g, std::uint32_t index, ParsedNode& parsed);
  void make_node(const ParsedNode& parsed, GraphId g, std::uint32_t index, int budget);
  void read_attributes(const ParsedNode& parsed, NodeId n, int budget);
  // Takes the graph and node, not a Place: a Place costs several strings, and few attributes have a problem.
  bool read_attribute(Bytes proto, GraphId in, NodeId owner, int budget, Attr& a);
  void note_constant(NodeId n);
  void pin_sharded(Bytes node);
  OpId find_op(std::string_view domain, std::string_view type, std::string_view overload);
  OpId fitting_op(const ParsedNode& parsed, GraphId g);
  OpId opaque(const Op& op);
  void hide_unfitting_attributes(NodeId n);
  void check_opset(GraphId g, OpId op, NodeId n);

  // function_reader.cpp
  void read_function(FunctionId f, Bytes proto);

  void open(GraphId g);
  void close();
  ValueId& meaning(NameId name);
  ValueId lookup(NameId name) const;
  // Returns a new value, or none (and reports a problem) when the graph has one of that name.
  ValueId declare(GraphId g, std::string_view name, const char* what, bool input);
  ValueId resolve(NameId name);
  Place place(GraphId g, std::string slot = {}) const;
  Place place(GraphId g, const ParsedNode& parsed, std::uint32_t index) const;
  void fault(Place place, const Fault& fault);
  NameId view(std::string_view text) { return m_.names.intern_view(text); }

  Model& m_;
  Problems& problems_;
  ExternalFiles& external_;
  InputDimNames input_dims_;
  NameId ai_onnx_;
  std::vector<ValueId> meaning_;  // by name
  struct Undo {
    NameId name;
    ValueId before;
  };
  std::vector<Undo> undo_;
  std::vector<OpenGraph> open_graphs_;
  std::vector<NameId> operand_names_;
  std::vector<ValueId> operands_, results_;  // of the node under construction
  std::vector<OpId> op_of_type_;             // by name of the operator type: the last op that had it
  struct FunctionKey {
    NameId domain, name, overload;
    friend auto operator<=>(const FunctionKey&, const FunctionKey&) = default;
  };
  struct FunctionHash {
    std::size_t operator()(const FunctionKey& k) const {
      return (std::size_t{k.domain.index()} * 0x9E3779B97F4A7C15u + k.name.index()) * 0x9E3779B97F4A7C15u +
             k.overload.index();
    }
  };
  std::unordered_map<FunctionKey, FunctionId, FunctionHash> function_ids_;
  std::vector<Bytes> function_protos_;
  std::unordered_set<std::uint64_t> missing_opsets_;  // (table, domain) that were reported
  std::vector<GraphId> sorted_;
};

}  // namespace graphopt
