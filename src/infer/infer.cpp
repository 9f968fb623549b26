// The driver of inference: walks graphs in order, stores facts, listens to the model.
//
// Cost: the first walk visits each node once. Afterwards only users of values whose facts changed are
// visited, lowest order first, so that a node is inferred at most once per update (bodies of loops: until
// they are stable).
#include <algorithm>
#include <utility>

#include "infer/context.h"

namespace graphopt {

void Inference::State::grow() {
  const std::size_t values = m.value_count();
  if (types.size() < values) {
    types.resize(values, m.types.unknown());
    sym.resize(values, kNoSymbolic);
  }
  if (queued.size() < m.node_count()) {
    queued.resize(m.node_count(), false);
    visited_at.resize(m.node_count(), 0);
  }
}

// --- walking -----------------------------------------------------------------------------------------------

TypeId Inference::State::input_type(ValueId v) {
  const Value& value = m.value(v);
  TypeId t = value.declared ? value.declared : m.types.unknown();
  const Type* type = &m.types[t];
  if (type->kind == TypeKind::Unknown && value.tensor) {  // an overridable default without a ValueInfo
    const Tensor& x = m.tensor(value.tensor);
    return m.types.tensor(x.dtype);
  }
  const std::string_view name = m.text(value.name);
  for (const InferOptions::InputShape& shape : options.shapes) {
    if (shape.input != name || type->kind != TypeKind::Tensor) continue;
    if (type->has_rank && type->dims.size() != shape.dims.size()) continue;
    std::vector<DimId> d(shape.dims.size());
    for (std::size_t i = 0; i < d.size(); ++i) {
      const DimId old = type->has_rank ? type->dims[i] : DimId{};
      d[i] = old;
      if (shape.dims[i] < 0) continue;
      d[i] = m.dims.constant(shape.dims[i]);
      if (old) m.dims.assert_equal(old, d[i]);  // the symbol has this value everywhere else, too
    }
    t = m.types.tensor(type->elem, d);
    type = &m.types[t];
  }
  return name_unknown_dims(t, v);
}

void Inference::State::seed_main_inputs() {
  for (const InferOptions::DimRange& r : options.ranges) {
    const DimId d = m.dims.symbol(r.symbol);
    if (r.range.low == r.range.high) m.dims.assert_equal(d, m.dims.constant(r.range.low));
    else m.dims.assert_range(d, r.range);
  }
  for (const ValueId v : m.graph_inputs(m.main())) {
    types[v.index()] = input_type(v);
    const Type& t = m.types[types[v.index()]];
    if (t.kind != TypeKind::Tensor || !t.has_rank) continue;
    for (const DimId d : t.dims)
      for (const DimId symbol : m.dims.symbols_of(d)) m.dims.assert_range(symbol, {0, kMaxInputExtent});
  }
  for (const ValueId v : m.graph_inputs(m.main())) {
    const Type& t = m.types[types[v.index()]];
    if (t.kind == TypeKind::Tensor && t.has_rank)
      m.dims.assert_at_most(m.dims.product(t.dims), kMaxInputElements);
  }
  // Aliases from here on count as changes.
  for (const ValueId v : m.graph_inputs(m.main())) {
    first_epoch = 0;
    types[v.index()] = canonical(types[v.index()]);
  }
  first_epoch = m.dims.epoch();
}

void Inference::State::start_graph(GraphId g) {
  for (const ValueId v : m.graph(g).initializers) {
    const Value& value = m.value(v);
    if (!value.alive || value.is_input) continue;
    if (value.is_sparse) {
      types[v.index()] = value.declared ? value.declared : m.types.unknown();
      continue;
    }
    if (!value.tensor) continue;
    const Tensor& t = m.tensor(value.tensor);
    std::vector<DimId> d;
    d.reserve(t.dims.size());
    for (const std::int64_t k : t.dims) d.push_back(m.dims.constant(k));
    types[v.index()] = m.types.tensor(t.dtype, d);
    if (m.constant_of(v)) sym[v.index()] = kNotLooked;
  }
}

void Inference::State::walk(GraphId g) {
  const GraphId outer_full = full_graph;
  GraphWalk& w = walks[g];  // references into the map stay valid when it grows
  const bool outer_active = w.active;
  w.active = true;
  if (!w.visited) {
    full_graph = g;
    start_graph(g);
    for (NodeId n = m.first_node(g); n; n = m.next_node(n)) infer_node(n);
    w.visited = true;
    ++w.steps;
  }
  full_graph = {};
  while (!w.heap.empty()) {
    const NodeId n{w.heap.top().second};
    w.heap.pop();
    queued[n.index()] = false;
    ++w.steps;
    if (m.alive(n) && m.node(n).graph == g) infer_node(n);
  }
  full_graph = outer_full;
  w.active = outer_active;
}

void Inference::State::infer_node(NodeId n) {
  if (m.is_return(n)) return;
  if (depth > 0 && body_budget > 0) --body_budget;
  visited_at[n.index()] = m.dims.clock();
  NodeContext c(*this, n);
  if (const InferenceRule rule = rule_for(c.kind)) rule(c);
  else onnx.infer(c);
  c.finish();
  inferred += m.output_count(n);
}

void Inference::State::queue_node(NodeId n) {
  while (n) {
    const GraphId g = m.node(n).graph;
    const auto it = walks.find(g);
    if (it == walks.end() || !it->second.visited) return;  // it will be walked in full, if it is walked
    GraphWalk& w = it->second;
    if (!m.is_return(n)) {
      if (queued[n.index()]) return;  // its owners are queued, too
      queued[n.index()] = true;
      w.heap.emplace(m.node(n).order, n.index());
    }
    if (w.active) return;
    const Graph& graph = m.graph(g);
    if (graph.function) {
      const auto users = callers.find(graph.function);
      if (users == callers.end()) return;
      forget_body_facts(graph.function);
      for (const NodeId call : users->second)
        if (m.alive(call) && !queued[call.index()]) queue_node(call);
      return;
    }
    n = graph.owner;
  }
}

void Inference::State::queue_users(ValueId v) {
  if (trying && m.value(v).graph == trying) return;
  if (m.value(v).graph == full_graph) return;  // they come later in this walk
  for (UseId u = m.first_use(v); u; u = m.next_use(u)) queue_node(m.user(u));
}

void Inference::State::forget() {
  ran = true;
  m.dims.forget();
  types.assign(m.value_count(), m.types.unknown());
  sym.assign(m.value_count(), kNoSymbolic);
  known.clear();
  free_known.clear();
  extents.clear();
  zero_pairs.clear();
  alternatives.clear();
  zero_counts.clear();
  undecided.clear();
  pending.clear();
  pending_values.clear();
  walks.clear();
  body_facts.clear();
  callers.clear();
  queued.assign(m.node_count(), false);
  visited_at.assign(m.node_count(), 0);
}

void Inference::State::collect_calls() {
  if (m.function_count() == 0) return;
  for (std::size_t i = 0; i < m.node_count(); ++i) {
    const NodeId n{i};
    if (m.alive(n) && m.kind(n) == OpKind::FunctionCall) callers[m.op(n).function].push_back(n);
  }
}

// --- public functions --------------------------------------------------------------------------------------

Inference::Inference(Model& model, InferOptions options)
    : s_(std::make_unique<State>(model, std::move(options))) {
  model.add_listener(this);
}

Inference::~Inference() { s_->m.remove_listener(this); }

void Inference::run() {
  State& s = *s_;
  s.forget();
  s.body_budget = 16 * s.m.node_count() + 200'000;
  s.seed_main_inputs();
  s.collect_calls();
  s.find_live();
  s.first_clock = s.m.dims.clock();
  s.running = true;
  s.walk(s.m.main());
  s.refresh();
  s.running = false;
  s.check_claims();
}

void Inference::update() {
  State& s = *s_;
  if (!s.ran) return run();
  if (s.pending.empty() && s.pending_values.empty()) return;
  const std::size_t before = s.types.size();
  s.grow();
  for (std::size_t i = before; i < s.m.value_count(); ++i)  // constants that a pass has added
    if (s.m.alive(ValueId{i})) s.see_constant(ValueId{i});
  s.body_budget = 16 * s.m.node_count() + 200'000;
  std::vector<NodeId> nodes;
  std::vector<ValueId> values;
  nodes.swap(s.pending);
  values.swap(s.pending_values);
  for (const ValueId v : values) {
    if (!s.m.alive(v)) continue;
    s.see_constant(v);
    s.queue_users(v);
  }
  for (const NodeId n : nodes) {
    if (!s.m.alive(n)) continue;
    if (s.m.kind(n) == OpKind::FunctionCall) {
      std::vector<NodeId>& calls = s.callers[s.m.op(n).function];
      if (std::find(calls.begin(), calls.end(), n) == calls.end()) calls.push_back(n);
    }
    s.queue_node(n);
  }
  s.walk(s.m.main());
}

// --- trials ------------------------------------------------------------------------------------------------

void Inference::State::infer_alone(std::span<const NodeId> nodes) {
  const std::uint64_t count = inferred;  // of the work that stays
  for (const NodeId n : nodes) {
    trying = m.node(n).graph;
    if (m.alive(n) && !is_in_function(trying)) infer_node(n);
  }
  trying = {};
  inferred = count;
}

void Inference::infer_in_trial(std::span<const NodeId> nodes) {
  State& s = *s_;
  const std::size_t before = s.types.size();
  s.grow();
  for (std::size_t i = before; i < s.m.value_count(); ++i)
    if (s.m.alive(ValueId{i})) s.see_constant(ValueId{i});
  for (std::size_t i = s.pending_values_before; i < s.pending_values.size(); ++i)
    if (s.m.alive(s.pending_values[i])) s.see_constant(s.pending_values[i]);
  s.infer_alone(nodes);
  s.tried.insert(s.tried.end(), nodes.begin(), nodes.end());
  for (const NodeId n : nodes)
    for (const ValueId v : s.m.outputs(n))
      if (v && v.index() < s.values_before) s.tried_values.push_back(v);
}

void Inference::assume_in_trial(ValueId v, TypeId type) { s_->types[v.index()] = type; }

void Inference::trial_begun() {
  State& s = *s_;
  s.pending_before = s.pending.size();
  s.pending_values_before = s.pending_values.size();
  s.nodes_before = s.m.node_count();
  s.values_before = s.m.value_count();
  s.tried.clear();
  s.tried_values.clear();
}

void Inference::trial_kept() {
  State& s = *s_;
  for (const NodeId n : s.tried)
    for (const ValueId v : s.m.outputs(n))
      if (v) s.queue_users(v);
}

void Inference::trial_undone() {
  State& s = *s_;
  s.pending.resize(s.pending_before);
  s.pending_values.resize(s.pending_values_before);
  std::erase_if(s.tried, [&s](NodeId n) { return n.index() >= s.nodes_before; });
  // A new node of the trial may have made a value that is another node's again.
  for (const ValueId v : s.tried_values)
    if (const NodeId n = s.m.value(v).def) s.tried.push_back(n);
  std::ranges::sort(s.tried, {}, [&s](NodeId n) { return std::pair(s.m.node(n).graph, s.m.node(n).order); });
  s.tried.erase(std::unique(s.tried.begin(), s.tried.end()), s.tried.end());
  s.infer_alone(s.tried);
}

TypeId Inference::type(ValueId v) const {
  const State& s = *s_;
  if (!v) return s.m.types.unknown();
  if (s.is_in_function(s.m.value(v).graph)) {
    const auto it = s.body_facts.find(v);
    return it == s.body_facts.end() ? s.m.types.unknown() : s.canonical(it->second);
  }
  return s.type(v);
}

const Type& Inference::type_of(ValueId v) const { return s_->m.types[type(v)]; }

std::span<const DimId> Inference::dims(ValueId v) const {
  const Type& t = type_of(v);
  return t.kind == TypeKind::Tensor && t.has_rank ? t.dims : std::span<const DimId>{};
}

bool Inference::has_rank(ValueId v) const {
  const Type& t = type_of(v);
  return t.kind == TypeKind::Tensor && t.has_rank;
}

DType Inference::dtype(ValueId v) const {
  const Type& t = type_of(v);
  return t.kind == TypeKind::Tensor ? t.elem : DType::Undefined;
}

const SymbolicTensor* Inference::symbolic(ValueId v) const {
  const State& s = *s_;
  if (!v) return nullptr;
  // Elements inside a function's body hold for one call only, unless they are constants.
  if (s.is_in_function(s.m.value(v).graph) && !s.m.constant_of(v)) return nullptr;
  return s.symbolic(v);
}

std::optional<std::vector<std::int64_t>> Inference::integers(ValueId v) const {
  const SymbolicTensor* t = symbolic(v);
  if (!t) return std::nullopt;
  std::vector<std::int64_t> out;
  out.reserve(t->elements.size());
  for (const DimId d : t->elements) {
    const auto value = d ? s_->m.dims.value(d) : std::nullopt;
    if (!value) return std::nullopt;
    out.push_back(*value);
  }
  return out;
}

bool Inference::same_shape(ValueId a, ValueId b) const {
  if (a == b) return true;
  const Type &x = type_of(a), &y = type_of(b);
  if (x.kind != TypeKind::Tensor || y.kind != TypeKind::Tensor || !x.has_rank || !y.has_rank) return false;
  if (x.dims.size() != y.dims.size()) return false;
  for (std::size_t i = 0; i < x.dims.size(); ++i) {
    if (!x.dims[i] || !y.dims[i]) return false;
    if (x.dims[i] != y.dims[i] && s_->m.dims.equal(x.dims[i], y.dims[i]) != Tri::Yes) return false;
  }
  return true;
}

const InferOptions& Inference::options() const { return s_->options; }
std::uint64_t Inference::inferred() const { return s_->inferred; }
std::uint64_t Inference::changes() const { return s_->type_changes; }
std::span<const FalseClaim> Inference::false_claims() const { return s_->false_claims; }

void Inference::node_added(NodeId n) { s_->pending.push_back(n); }
void Inference::node_changed(NodeId n) { s_->pending.push_back(n); }
void Inference::node_erased(NodeId) {}  // its consumers were already reported as changed
// After a replacement the model reports every consumer that was rewired; the other consumers of new_value
// read the same facts as before. (Visiting all consumers of a value into which many values are merged would
// be quadratic.)
void Inference::value_replaced(ValueId, ValueId) {}
void Inference::value_became_constant(ValueId v) { s_->pending_values.push_back(v); }

}  // namespace graphopt
