// The intermediate representation: a Model owns graphs, nodes, values, tensors, names and types in dense
// arrays.
//
// Ids are model-wide, so a value that a subgraph captures is an ordinary value with ordinary uses: a use
// whose user is in another graph than the value is a capture. Each graph ends in a *return node*: a pseudo
// node (not in the node list; is_return() returns true for it) whose operands are the graph's outputs. So a
// graph output is a use like any other, and a pass that does not handle return nodes sees a user of kind
// Opaque and leaves the value alone.
//
// Nodes of a graph form a linked list in topological order with order keys: insertion, removal and "which is
// first" are O(1) (amortized: keys are renumbered when a gap is used up). Every change goes through the
// mutators below; they maintain use lists and order, mark a node as different from its bytes in the file, and
// notify the listeners.
//
// Ids of erased nodes and values are never reused; alive() returns false for them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graphopt/error.h"
#include "ir/dim.h"
#include "ir/op_kind.h"
#include "ir/tensor.h"
#include "ir/types.h"
#include "support/ids.h"
#include "support/large_array.h"
#include "support/string_pool.h"

namespace graphopt {

enum class AttrKind : std::uint8_t {  // numbers are those of onnx::AttributeProto::AttributeType
  // clang-format off
  Undefined = 0, Float = 1, Int = 2, String = 3, Tensor = 4, Graph = 5, Floats = 6, Ints = 7, Strings = 8,
  Tensors = 9, Graphs = 10, SparseTensor = 11, SparseTensors = 12, TypeProto = 13, TypeProtos = 14,
  // clang-format on
};

struct Attr {
  NameId name;
  AttrKind kind = AttrKind::Undefined;
  NameId ref;  // in a function's body: the caller's attribute that supplies the value
  float f = 0;
  std::int64_t i = 0;
  Bytes s;                             // String
  std::span<const std::int64_t> ints;  // lists live in the model's arena
  std::span<const float> floats;
  std::span<const Bytes> strings;
  TensorId tensor;
  std::span<const GraphId> graphs;  // Graph (one) and Graphs
  Bytes proto;                      // the AttributeProto in the file; empty when made or changed here.
                                    // Kinds not listed above exist only in this form.
};

struct Op {  // an operator as it is named in the model
  OpKind kind = OpKind::Opaque;
  NameId domain, type, overload;  // domain "" for ai.onnx
  FunctionId function;            // that is called; of an opaque operator: the one that has its name
};

struct Node {
  OpId op;
  OpKind kind = OpKind::Opaque;
  bool alive = true;
  bool dirty = false;  // differs from `proto`
  bool is_return = false;
  GraphId graph;
  NodeId prev, next;  // in the graph's list
  std::uint64_t order = 0;
  UseId first_use;  // operands are uses first_use, first_use + 1, ...
  std::uint32_t input_count = 0;
  std::uint32_t first_output = 0;  // index into the model's output slots
  std::uint32_t output_count = 0;
  std::uint32_t first_attr = 0;
  std::uint32_t attr_count = 0;
  std::uint64_t overwrites = 0;           // operands whose memory its kernel writes, a bit each
  NameId name;                            // kEmptyName when it has none
  Bytes proto;                            // the NodeProto in the file; empty for made nodes
  std::uint32_t file_index = kNotInFile;  // position in the file's graph, for messages
  static constexpr std::uint32_t kNotInFile = 0xFFFFFFFFu;
};

// How many values and how many nodes have each name, by NameId.
struct NameHolders {
  std::vector<std::uint32_t> values, nodes;
};

struct Use {
  ValueId value;  // none: an empty optional operand
  NodeId user;
  UseId prev, next;  // other uses of the same value
};

struct Value {
  NameId name;
  GraphId graph;
  NodeId def;  // none for graph inputs and initializers
  std::uint32_t def_slot = 0;
  UseId first_use;
  std::uint32_t use_count = 0;
  TensorId tensor;  // initializer, or result of a Constant node
  TypeId declared;  // from the file's ValueInfo: true for graph inputs, elsewhere a claim
  Bytes info;       // that ValueInfoProto; empty when there is none
  bool alive = true;
  bool is_input = false;        // of its graph
  bool is_initializer = false;  // also with is_input: an overridable default
  bool is_sparse = false;       // a sparse initializer; bytes in `sparse`
  bool pinned = false;          // named from outside the graph (training info, quantization annotations):
                                // never renamed, removed or treated as a constant
  bool info_stale = false;      // content or type changed: `info` must not be written
  Bytes sparse;                 // SparseTensorProto of a sparse initializer
};

struct Graph {
  NodeId owner;         // the node that holds this subgraph; none for the main graph and functions
  GraphId parent;       // graph of the owner
  FunctionId function;  // when it is a function's body
  NameId attribute;     // the owner's attribute
  NameId name;
  NodeId first, last;  // node list
  std::uint32_t node_count = 0;
  NodeId ret;  // the return node
  std::vector<ValueId> inputs;
  std::vector<ValueId> initializers;  // in file order; may hold dead ones
  std::uint32_t opsets = 0;           // index into Model::opset_tables
  bool alive = true;
  bool dirty = false;       // it, or a graph nested in it, differs from the file; its owner is dirty, too
  std::vector<Bytes> rest;  // further fields of the GraphProto, each with its tag, in file order
};

struct OpsetImport {
  NameId domain;
  std::int64_t version;
};
using OpsetTable = std::vector<OpsetImport>;

struct Function {
  NameId domain, name, overload;
  GraphId body;                    // inputs have no types; ret's operands are the outputs
  std::vector<NameId> attributes;  // parameters without default
  std::vector<Attr> defaults;      // parameters with default
  std::vector<Bytes> rest;         // further fields (doc string, opset imports, metadata ...) with tags
};

// A file of external data.
struct DataFile {
  std::string location;  // as the model says it: relative to the model's folder
  std::string path;      // where it was found
  std::uint64_t bytes = 0;
};

class Model;

// Notified of every change, after it has happened. Changes of a trial are notified as they happen, too, and
// at its end whether they stay.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void node_added(NodeId) {}
  virtual void node_erased(NodeId) {}    // its operands are already gone
  virtual void node_changed(NodeId) {}   // operands, attributes or operator
  virtual void uses_changed(ValueId) {}  // a use was added or removed
  virtual void value_replaced(ValueId old_value, ValueId new_value) {
    (void)old_value;
    (void)new_value;
  }
  virtual void value_became_constant(ValueId) {}
  virtual void trial_begun() {}
  virtual void trial_kept() {}
  virtual void trial_undone() {}
};

// What a trial did to nodes, return nodes left out.
struct TrialChanges {
  std::vector<NodeId> added;    // and not erased
  std::vector<NodeId> erased;   // that were there before
  std::vector<NodeId> changed;  // another operator, other attributes, or other results
  std::vector<NodeId> rewired;  // other operands only, or an operand that became a constant
};

// A condition on uses beyond the form of the graph, for layers that know what operators mean.
class UsePolicy {
 public:
  virtual ~UsePolicy() = default;
  // Returns whether the use, also one of a return node, may read v in place of its value.
  virtual bool may_read(const Model&, UseId, ValueId v) const = 0;
  // Returns whether v, the result of a node, may become an initializer with its name and uses.
  virtual bool may_become_constant(const Model&, ValueId v) const = 0;
};

class Model {
 public:
  Model();
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  // Returns a model with the same ids, without listeners and use policy. The two share weights, names and the
  // bytes of the file, which nothing changes; each owns its graphs and its dims, so that a symbol that is
  // bound in one stays open in the other. They share nothing that anyone writes: threads may each work on a
  // clone of their own, and clone one model at the same time while nobody uses it otherwise. Linear in the
  // nodes and values, with the speed of copying memory.
  Model clone() const;

  // --- the file --------------------------------------------------------------------------------------------
  std::string file;  // as the user typed it; "-" for stdin
  std::int64_t ir_version = 0;
  std::vector<OpsetTable> opset_tables;  // [0] is the model's; functions have their own
  std::vector<Bytes> rest;               // fields of ModelProto other than graph and functions, with tags
  std::uint64_t file_bytes = 0;          // model file plus external data
  bool had_external_data = false;
  std::uint64_t external_data_bytes = 0;
  std::vector<DataFile> data_files;                     // with the external data, by location
  std::vector<std::shared_ptr<const void>> keep_alive;  // maps and buffers that views point into

  StringPool names;
  TypePool types;
  DimPool dims;

  // --- queries ---------------------------------------------------------------------------------------------
  GraphId main() const { return GraphId{std::uint32_t{0}}; }
  std::size_t graph_count() const { return graphs_.size(); }
  std::size_t node_count() const { return nodes_.size(); }  // also counts dead nodes: every id is below
  std::size_t value_count() const { return values_.size(); }
  std::size_t tensor_count() const { return tensors_.size(); }
  std::size_t live_node_count() const { return live_nodes_; }
  // Returns how many live nodes have the kind, in all graphs: a pass that starts from no operator of the
  // model need not walk it.
  std::size_t live_node_count(OpKind k) const { return live_of_kind_[static_cast<std::size_t>(k)]; }

  const Graph& graph(GraphId g) const { return graphs_[g.index()]; }
  const Node& node(NodeId n) const { return nodes_[n.index()]; }
  const Value& value(ValueId v) const { return values_[v.index()]; }
  const Op& op(OpId o) const { return ops_[o.index()]; }
  const Op& op(NodeId n) const { return ops_[nodes_[n.index()].op.index()]; }
  const Function& function(FunctionId f) const { return functions_[f.index()]; }
  std::size_t function_count() const { return functions_.size(); }
  std::string_view text(NameId n) const { return names.text(n); }

  OpKind kind(NodeId n) const { return nodes_[n.index()].kind; }
  std::size_t input_count(NodeId n) const { return nodes_[n.index()].input_count; }
  std::size_t output_count(NodeId n) const { return nodes_[n.index()].output_count; }
  // Returns none beyond the last operand and for an empty optional one.
  ValueId input(NodeId n, std::size_t slot) const {
    const Node& node = nodes_[n.index()];
    return slot < node.input_count ? uses_[node.first_use.index() + slot].value : ValueId{};
  }
  ValueId output(NodeId n, std::size_t slot) const {
    const Node& node = nodes_[n.index()];
    return slot < node.output_count ? output_slots_[node.first_output + slot] : ValueId{};
  }
  std::span<const ValueId> outputs(NodeId n) const {
    const Node& node = nodes_[n.index()];
    return std::span<const ValueId>(output_slots_).subspan(node.first_output, node.output_count);
  }
  std::span<const Attr> attrs(NodeId n) const {
    const Node& node = nodes_[n.index()];
    return std::span<const Attr>(attrs_).subspan(node.first_attr, node.attr_count);
  }
  const Attr* find_attr(NodeId n, NameId name) const;
  bool alive(NodeId n) const { return nodes_[n.index()].alive; }
  bool alive(ValueId v) const { return values_[v.index()].alive; }

  // Uses of a value: for (UseId u = m.first_use(v); u; u = m.next_use(u)) { m.user(u), m.slot(u) }
  UseId first_use(ValueId v) const { return values_[v.index()].first_use; }
  UseId next_use(UseId u) const { return uses_[u.index()].next; }
  NodeId user(UseId u) const { return uses_[u.index()].user; }
  std::uint32_t slot(UseId u) const {
    return u.index() - nodes_[uses_[u.index()].user.index()].first_use.index();
  }
  std::uint32_t use_count(ValueId v) const { return values_[v.index()].use_count; }
  bool is_return(NodeId n) const { return nodes_[n.index()].is_return; }
  bool is_graph_output(ValueId v) const;  // an operand of the return node of its own or an inner graph
  bool is_captured(ValueId v) const;      // has a use in another graph
  // Returns the user of `v` if it has exactly one use, by a real node of the same graph, and is not fixed:
  // the value may go with its user. Else none.
  NodeId single_user(ValueId v) const;

  NodeId first_node(GraphId g) const { return graphs_[g.index()].first; }
  NodeId next_node(NodeId n) const { return nodes_[n.index()].next; }
  NodeId prev_node(NodeId n) const { return nodes_[n.index()].prev; }
  bool before(NodeId a, NodeId b) const { return node(a).order < node(b).order; }  // same graph only
  std::span<const ValueId> graph_inputs(GraphId g) const { return graphs_[g.index()].inputs; }
  std::size_t graph_output_count(GraphId g) const { return input_count(graphs_[g.index()].ret); }
  ValueId graph_output(GraphId g, std::size_t i) const { return input(graphs_[g.index()].ret, i); }
  // Returns the node of graph `g` that is `n` or contains it (through any nesting); none when n is outside g.
  NodeId ancestor_in(GraphId g, NodeId n) const;
  // Returns true if `inner` is `outer` or nested in it.
  bool inside(GraphId inner, GraphId outer) const;
  // Returns the version of a domain that a graph imports; 0 when it imports none.
  std::int64_t opset(GraphId g, NameId domain) const;
  std::int64_t opset(NodeId n) const;  // of the domain of the node's operator

  // --- constants -------------------------------------------------------------------------------------------
  // Returns true if a new constant of this type can be written in graph g. Before IR version 4, and in the
  // bodies of functions, it is written as a Constant node, which held only floating types before opset 9.
  bool can_hold_constant(GraphId g, DType type) const;
  const Tensor& tensor(TensorId t) const { return *tensors_[t.index()]; }
  // Returns true if v stays what it is, with its users: it is pinned, or a node overwrites it.
  bool is_fixed(ValueId v) const { return value(v).pinned || (overwrites_ && is_overwritten(v)); }
  // States which operands the kernel of n writes. That of a node with more than 64 is not stated.
  void set_overwrites(NodeId n, std::uint64_t operands);
  bool has_overwrites() const { return overwrites_; }
  bool is_overwritten(ValueId v) const {
    return v.index() < overwriting_uses_.size() && overwriting_uses_[v.index()] > 0;
  }
  // Returns the tensor of a value that is the same in every run: an initializer that is neither an input nor
  // fixed, or the result of a Constant node. None otherwise.
  TensorId constant_of(ValueId v) const;
  // Returns the payload in raw form, unpacked on first use; empty for String and for broken payloads.
  std::optional<Bytes> raw(TensorId t) const;
  const std::vector<std::string>* strings(TensorId t) const;
  // Unpacks the payload; tensor(t).ready says whether it could be read.
  void unpack(TensorId t) const;
  Hash128 content_hash(TensorId t) const;
  TensorId add_tensor(Tensor t);
  // A tensor that owns its bytes.
  TensorId make_tensor(DType dtype, std::span<const std::int64_t> dims, std::string raw);
  TensorId make_int64s(std::span<const std::int64_t> values);  // rank 1
  TensorId make_int64(std::int64_t value);                     // rank 0

  // --- building and changing -------------------------------------------------------------------------------
  // Returns the operator of these names with this meaning. One name may have two: a node whose numbers of
  // operands or results do not fit its operator is opaque.
  OpId intern_op(OpKind kind, std::string_view domain, std::string_view type, std::string_view overload = {},
                 FunctionId function = {});
  GraphId add_graph(NodeId owner, NameId attribute, std::uint32_t opsets);
  FunctionId add_function(Function f);
  // Makes f the function of this id, which is the next one or that of an erased function, with an empty body
  // that imports these operator sets. Returns the body.
  GraphId define_function(FunctionId id, Function f, OpsetTable imports);
  void erase_function(FunctionId f);  // precondition: it has a body, and no node calls it

  ValueId add_value(GraphId g, NameId name);  // no definition yet
  ValueId add_input(GraphId g, NameId name);
  // A new constant of graph g. The name is made unique from `base`.
  ValueId add_initializer(GraphId g, std::string_view base, TensorId t);
  void mark_initializer(ValueId v, TensorId t);  // reader: the value is (also) an initializer
  // Inserts the node before `before`, or at the end when that is none. Outputs are values without definition,
  // or none for an unused slot.
  NodeId add_node(GraphId g, OpId op, std::span<const ValueId> inputs, std::span<const ValueId> outputs,
                  NodeId before = {}, std::string_view name = {});
  // The same with the operator and the attributes of another node, which has no subgraphs.
  NodeId add_node_as(NodeId like, GraphId g, std::span<const ValueId> inputs,
                     std::span<const ValueId> outputs, NodeId before = {});
  // The same with n new values as outputs, named after `base`.
  NodeId add_node_like(GraphId g, OpId op, std::span<const ValueId> inputs, std::size_t n_outputs,
                       std::string_view base, NodeId before = {});
  void set_graph_outputs(GraphId g, std::span<const ValueId> outputs);
  // States the type of an input of the main graph anew. The file's ValueInfo stays what it is.
  void declare(ValueId input, TypeId type);

  void set_operand(NodeId n, std::size_t slot, ValueId v);
  void set_operands(NodeId n, std::span<const ValueId> operands);
  void set_op(NodeId n, OpId op);
  // The node's result in `slot` becomes an empty optional output; its value is erased. No use may be left
  // when the model is looked at next: the writer of drafts drops results first and rewires their readers
  // later.
  void drop_output(NodeId n, std::size_t slot);
  void truncate_outputs(NodeId n);  // removes trailing empty output slots
  // Removes the slot of a result without uses, and erases the result; later results move up.
  void remove_output(NodeId n, std::size_t slot);
  // Removes and erases an input of a body, without uses; later inputs move up.
  void remove_input(GraphId g, std::size_t position);
  void set_attr(NodeId n, Attr a);  // adds or replaces, by name
  void set_attr_int(NodeId n, NameId name, std::int64_t i);
  void set_attr_ints(NodeId n, NameId name, std::span<const std::int64_t> ints);
  void remove_attr(NodeId n, NameId name);
  // Replaces the bytes that the file had for the node: fields that the IR does not know are taken from them.
  void set_bytes(NodeId n, Bytes proto);
  void mark_clean();           // for the reader: the model as built so far equals the file
  void mark_dirty(GraphId g);  // for the reader: the graph, for example its order, differs from the file

  // Returns true if every use of old_value may read new_value instead. Returns false when a graph output
  // would lose its name (main graph) or come from outside its graph, when new_value is not visible at a use,
  // when either value is fixed, and when the use policy forbids it.
  bool can_replace(ValueId old_value, ValueId new_value) const;
  // Returns whether the policy allows the use to read v in place of its value.
  bool may_read(UseId u, ValueId v) const { return !policy_ || policy_->may_read(*this, u, v); }
  // Precondition: can_replace. Where old_value is an output of the main graph, new_value takes its name.
  void replace_all_uses(ValueId old_value, ValueId new_value);
  // Detaches the value from its node (which keeps an empty output slot) and makes it an initializer; name and
  // uses stay. Precondition: it is the result of a node, and can_become_constant.
  void make_constant(ValueId v, TensorId t);
  bool can_become_constant(ValueId v) const { return !policy_ || policy_->may_become_constant(*this, v); }
  // Detaches a result from its node (which keeps an empty slot) so that another node can define it. Uses
  // stay.
  ValueId detach_output(NodeId n, std::size_t slot);
  // Makes a value without definition the result in an empty slot.
  void attach_output(NodeId n, std::size_t slot, ValueId v);
  // Moves the nodes and initializers of subgraph g into the owner's graph, directly before the owner.
  // Afterwards g is empty, and its return node still reads the values that were its outputs. A value or node
  // whose name occurs elsewhere in the model is renamed: `holders` comes from count_names, which is called
  // once for many calls of this function. Precondition: g has no inputs.
  void inline_subgraph(GraphId g, NameHolders& holders);
  NameHolders count_names() const;
  // Erases a node whose results have no uses, its subgraphs, and its results.
  void erase(NodeId n);
  void erase_initializer(ValueId v);  // without uses, not an input
  void move_before(NodeId n, NodeId before);
  void rename(ValueId v, NameId name);
  void rename(NodeId n, NameId name);
  // Records that the node's result is now a different value: it gets a new name, and what the file said of
  // the old result is dropped.
  void retype(ValueId v, NameId name);
  // Returns a name that nothing in the model has: base, or base with a suffix.
  NameId fresh_name(std::string_view base);

  // The policy that can_replace and can_become_constant ask; null: none. It must outlive its use.
  void set_use_policy(const UsePolicy* policy) { policy_ = policy; }

  // --- trials ----------------------------------------------------------------------------------------------
  // From begin_trial() until keep_trial() or undo_trial() the records that change are kept as they were, so
  // that a rewrite can be looked at and undone, at the cost of what it changed. Undone, the model is as
  // before, with the order of its lists; names, tensors and ids that were made are used up. A trial may not
  // define functions.
  void begin_trial();
  bool in_trial() const { return in_trial_; }
  TrialChanges trial_changes() const;  // precondition: not swapped
  // Brings back the state from before the trial; called again, that after it. The model may only be read
  // while it is swapped.
  void swap_trial();
  void keep_trial();
  void undo_trial();

  void add_listener(Listener* l);
  void remove_listener(Listener* l);

  // Allocates memory that lives as long as the model.
  Bytes keep(std::string_view bytes);
  std::span<const std::int64_t> keep(std::span<const std::int64_t> v);
  std::span<const float> keep(std::span<const float> v);
  std::span<const Bytes> keep(std::span<const Bytes> v);
  std::span<const GraphId> keep(std::span<const GraphId> v);

 private:
  friend class Copier;                                  // copy.h
  friend struct ReaderAccess;                           // reader_access.h
  void link_use(UseId u, ValueId v, std::size_t slot);  // slot: of the use in its node
  void unlink_use(UseId u, std::size_t slot);
  void count_overwriting(UseId u, std::size_t slot, bool more);
  UseId make_uses(NodeId n, std::span<const ValueId> operands);
  void link_node(NodeId n, GraphId g, NodeId before);
  void unlink_node(NodeId n);
  void renumber(NodeId n);
  void set_attrs(NodeId n, std::span<const Attr> attrs);
  std::span<Attr> attrs_for_change(NodeId n, std::size_t room);
  void touch(NodeId n);
  void touch_around(ValueId v);
  // Access for changing: a trial saves the record first (model_state.h).
  Node& edit(NodeId n);
  Value& edit(ValueId v);
  Use& edit(UseId u);
  Graph& edit(GraphId g);  // not its lists, but that initializers may be appended
  ValueId& edit_slot(std::size_t i);
  std::uint32_t& edit_overwriting(ValueId v);
  std::vector<ValueId>& edit_inputs(GraphId g) { return edit_list(g, &Graph::inputs); }
  std::vector<ValueId>& edit_initializers(GraphId g) { return edit_list(g, &Graph::initializers); }
  std::vector<ValueId>& edit_list(GraphId g, std::vector<ValueId> Graph::* list);
  void save_graph(GraphId g);
  std::size_t uses_of_return(NodeId ret, ValueId v) const;
  template <class F> void tell(F f) {
    for (Listener* l : listeners_) f(*l);
  }

  std::vector<Graph> graphs_;
  LargeArray<Node> nodes_;
  LargeArray<Value> values_;
  LargeArray<Use> uses_;
  LargeArray<ValueId> output_slots_;
  LargeArray<Attr> attrs_;
  std::vector<std::shared_ptr<Tensor>> tensors_;  // shared with models that a Copier took them to
  std::vector<Op> ops_;
  std::vector<Function> functions_;
  std::vector<Listener*> listeners_;
  const UsePolicy* policy_ = nullptr;
  bool overwrites_ = false;                      // whether a node has operands that it writes
  std::vector<std::uint32_t> overwriting_uses_;  // of a value, by index; those behind the end have none
  std::size_t live_nodes_ = 0;
  std::array<std::size_t, static_cast<std::size_t>(OpKind::Count)> live_of_kind_{};
  struct Arena;
  std::shared_ptr<Arena> arena_;  // kept alive by clones, which have an arena of their own
  std::unordered_map<NameId, std::uint32_t> suffixes_;  // fresh_name: the next number to try
  struct OpIndex;
  std::unique_ptr<OpIndex> op_index_;
  struct Trial;
  std::unique_ptr<Trial> trial_;  // memory of the last trial, used again by the next
  bool in_trial_ = false;
};

// Returns the position of a node for messages: graph path, name or "#index", operator.
Place place_of(const Model& m, NodeId n);
Place place_of(const Model& m, GraphId g);
std::string graph_path(const Model& m, GraphId g);  // "main/loop_3.body"; "" for the main graph

}  // namespace graphopt
