// The data of an Inference, private to src/infer.
//
// Facts are in dense arrays by value: a TypeId and the number of a symbolic tensor (0: none), 8 bytes per
// value. Everything else is sparse. A graph is walked once in full, in order; after that only nodes with
// changed operands are visited again, lowest order first, so that each node is inferred at most once per
// update.
//
// Subgraphs: the rule of a node that owns graphs infers them (rules_control.cpp), so nesting is recursion,
// bounded by kMaxDepth; deeper graphs stay unknown. A change that reaches a node inside a body queues the
// owners up to the root. Functions: the values of the body have the facts of the call that is visited; when
// the call is done they are merged into `body_facts`, which other calls and passes read.
//
// Fresh symbols are made once per (value, axis): inferring again gives the same symbol. `scope` records the
// graph in which a symbol was made: one made inside a body has another value in every iteration, so it must
// not leave the body.
#pragma once

#include <deque>
#include <memory>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "infer/infer.h"
#include "infer/onnx_context.h"

namespace graphopt {

class NodeContext;

struct Known {
  SymbolicTensor tensor;
  std::uint32_t epoch = 0;       // of the pool when the elements were made canonical
  std::uint32_t learned_at = 0;  // the pool's clock when that last changed one of them
};

// A frame of the stack of function calls under inference.
struct CallFrame {
  NodeId call;
  FunctionId function;
};

struct Inference::State {
  static constexpr int kMaxDepth = 100;
  static constexpr std::uint32_t kNoSymbolic = 0;           // number in `sym`: nothing known
  static constexpr std::uint32_t kNotLooked = 0xFFFFFFFFu;  // a constant that was not decoded yet

  Model& m;
  InferOptions options;
  OnnxRules onnx;  // onnx's own functions

  std::vector<TypeId> types;               // by value
  std::uint64_t type_changes = 0;          // of types that were known
  mutable std::vector<std::uint32_t> sym;  // by value
  mutable std::deque<Known> known;         // number - 1
  mutable std::vector<std::uint32_t> free_known;
  mutable std::vector<std::pair<std::uint32_t, TypeId>> canonical_types;  // by type: epoch, result
  std::uint32_t first_epoch = 0;  // of the pool when the first fact was made

  struct FreshKey {
    std::uint64_t low, high;
    friend bool operator==(const FreshKey&, const FreshKey&) = default;
  };
  struct FreshHash {
    std::size_t operator()(const FreshKey& k) const {
      return (k.low * 0x9E3779B97F4A7C15u) ^ (k.high * 0xC2B2AE3D27D4EB4Fu);
    }
  };
  struct FreshSymbol {
    DimId dim;
    Range given;  // when it was made
  };
  std::unordered_map<FreshKey, FreshSymbol, FreshHash> fresh_symbols;
  std::unordered_set<DimId> extents;             // dims of results of the main graph whose range is below 0:
                                                 // every run computes them, so they are not negative
  std::unordered_set<std::uint64_t> zero_pairs;  // (a, b): in every run, b is 0 if a is
  // x: (a, b), made by unless_zero(a, b): x is a where a is not 0, and b where it is.
  std::unordered_map<DimId, std::pair<DimId, DimId>> alternatives;
  std::unordered_map<DimId, DimId> zero_counts;  // d: 1 - min(1, d), as of zero_counts_epoch of the pool
  std::uint32_t zero_counts_epoch = 0;
  std::unordered_map<DimId, GraphId> scope;  // of fresh symbols made outside the main graph

  // For revisits (refresh.cpp). Clocks are the pool's.
  std::vector<std::uint32_t> visited_at;  // by node: the clock when it was last visited
  std::vector<bool> live;                 // by node of the main graph: an output depends on it
  std::vector<NodeId> undecided;          // nodes that asked for an entry of these three in vain
  bool running = false;                   // in run(): everything is inferred
  bool refreshing = false;                // nodes are visited again because of what was learned since
  std::uint32_t first_clock = 0;          // when the first node was visited

  struct GraphWalk {
    bool visited = false;     // walked in full at least once
    bool active = false;      // its owner is visited now
    std::uint64_t steps = 0;  // grows with each node that is visited
    std::priority_queue<std::pair<std::uint64_t, std::uint32_t>,
                        std::vector<std::pair<std::uint64_t, std::uint32_t>>,
                        std::greater<>>
        heap;  // (order, node)
  };
  std::unordered_map<GraphId, GraphWalk> walks;
  GraphId full_graph;           // the graph that is walked in full now
  std::vector<bool> queued;     // by node
  std::vector<NodeId> pending;  // reported by the model, not visited yet
  std::vector<ValueId> pending_values;
  // For trials: how many there were before, which nodes were inferred in it, and which of their results there
  // were before.
  std::size_t pending_before = 0, pending_values_before = 0;
  std::size_t nodes_before = 0, values_before = 0;
  std::vector<NodeId> tried;
  std::vector<ValueId> tried_values;
  GraphId trying;  // readers of what changes in this graph are not queued

  std::vector<CallFrame> calls;
  std::unordered_map<FunctionId, std::vector<NodeId>> callers;
  int depth = 0;
  std::uint64_t body_budget = 0;  // body nodes that may still be inferred; at 0 loops widen at once
  std::uint64_t inferred = 0;
  bool ran = false;
  std::vector<FalseClaim> false_claims;

  State(Model& model, InferOptions o) : m(model), options(std::move(o)), onnx(model) {}

  // --- facts -----------------------------------------------------------------------------------------------
  void grow();
  void forget();  // all but the fresh symbols: they keep their ids, as the next walk finds the same values
  TypeId type(ValueId v) const;  // canonical
  TypeId canonical(TypeId t) const;
  DimId canonical(DimId d) const { return m.dims.epoch() == first_epoch ? d : m.dims.canonical(d); }
  const SymbolicTensor* symbolic(ValueId v) const;  // canonical; decodes constants
  // Replaces the facts about v and queues the users when the facts changed.
  void set_type(ValueId v, TypeId t);
  void commit(ValueId v, TypeId type, SymbolicTensor* symbolic);
  // Learns that dims which v was given a fresh symbol for are those of t.
  void identify(ValueId v, TypeId t);
  void forget_symbolic(ValueId v);
  std::uint32_t store(SymbolicTensor t) const;
  void see_constant(ValueId v);
  void queue_users(ValueId v);
  void queue_node(NodeId n);
  std::optional<SymbolicTensor> decode(TensorId t) const;
  DimId fresh(ValueId v, std::uint32_t slot, Range range = {});
  // Returns the symbol of that key, the same each time, as long as its range holds (known_facts.cpp).
  DimId fresh_keyed(std::uint64_t low, std::uint64_t high, GraphId where, Range range);

  // --- walking ---------------------------------------------------------------------------------------------
  void start_graph(GraphId g);  // facts of its inputs (main graph) and initializers
  void walk(GraphId g);         // visits the queued nodes; all nodes the first time
  void infer_node(NodeId n);
  void infer_alone(std::span<const NodeId> nodes);  // and nothing that reads them
  void seed_main_inputs();
  void find_live();
  bool in_every_run(NodeId n) const;
  bool asserts(NodeId n) const;
  void refresh();
  struct Learned {
    std::uint32_t round = 0, at = 0;
  };
  std::uint32_t learned_at(TypeId t, std::vector<Learned>& by_type, std::uint32_t round);
  bool queue_outdated(std::vector<Learned>& by_type, std::uint32_t round);
  void ask_again(NodeId n) {
    if (running && (undecided.empty() || undecided.back() != n)) undecided.push_back(n);
  }
  TypeId input_type(ValueId v);
  void collect_calls();
  void check_claims();

  // --- bodies ----------------------------------------------------------------------------------------------
  bool leaks(DimId d, GraphId body) const;  // true if d contains a symbol made inside body
  // Returns the fact for use outside `body`: dims that depend on the inside become unknown.
  TypeId export_type(TypeId t, GraphId body);
  // Returns the join of two facts. Unequal dims become none.
  TypeId join(TypeId a, TypeId b);
  std::optional<SymbolicTensor> join(const SymbolicTensor* a, const SymbolicTensor* b);
  // Dims that are none become fresh symbols of v.
  TypeId name_unknown_dims(TypeId t, ValueId v);
  const Attr* resolve(NodeId n,
                      const Attr* a) const;  // resolves an attribute reference inside a function

  // of values inside functions: facts that hold for all calls
  std::unordered_map<ValueId, TypeId> body_facts;
  mutable std::vector<FunctionId> root_function;  // by graph; see is_in_function
  FunctionId function_of(GraphId g) const;        // none outside functions
  bool is_in_function(GraphId g) const { return m.function_count() > 0 && function_of(g).valid(); }
  mutable std::unordered_map<FunctionId, std::vector<GraphId>> function_graphs;
  std::span<const GraphId> graphs_of(FunctionId f) const;
  bool enter(GraphId g);  // walks a body; returns false when it is nested too deep
  void forget_body_facts(FunctionId f);
  void merge_body_facts(FunctionId f);
};

std::string text_of(const Model& m, const Type& t);  // "float[batch, 3]"; "?" when nothing is known
// Returns true if no value can have both types.
bool contradict(const Model& m, const Type& a, const Type& b);

}  // namespace graphopt
