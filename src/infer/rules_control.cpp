// If, Loop, Scan and calls of the model's own functions: rules that infer bodies.
//
// If        both branches are inferred; the join of their facts holds. A known condition selects one.
// Loop      Loop-carried facts are widened until they are stable: first the initial facts, then their join
//           with those that the body returns, where dims that differ become symbols of the body's input;
//           after two rounds the dims, after three the whole type become unknown, so there are at most five
//           rounds.
// Scan      the same; the number of rounds is the extent of the scanned axes.
// Function  the body is inferred with the call's operands. Symbols made inside are renamed per call.
//
// A symbol made inside a body has another value in every iteration (or call), so it never leaves the body
// under its own name.
#include <algorithm>

#include "infer/rules.h"

namespace graphopt {

const Attr* Inference::State::resolve(NodeId n, const Attr* a) const {
  if (!a || !a->ref.valid() || a->ref == NameId{}) return a;
  // Returns the caller's attribute of that name, which may again be a reference to the next caller.
  const FunctionId inside = function_of(m.node(n).graph);
  std::size_t at = calls.size();
  while (at > 0 && calls[at - 1].function != inside) --at;
  while (a && a->ref.valid() && at > 0) {
    const CallFrame& frame = calls[--at];
    const NameId name = a->ref;
    a = m.find_attr(frame.call, name);
    if (!a)
      for (const Attr& fallback : m.function(frame.function).defaults)
        if (fallback.name == name) return &fallback;
  }
  return a && a->ref.valid() ? nullptr : a;
}

FunctionId Inference::State::function_of(GraphId g) const {
  if (root_function.size() < m.graph_count()) {
    // Parents need not come before their subgraphs: follow each chain to a graph whose function is known.
    const std::size_t from = root_function.size();
    root_function.resize(m.graph_count());
    for (std::size_t i = from; i < root_function.size(); ++i) {
      GraphId at{i};
      while (m.graph(at).parent && at.index() >= from) at = m.graph(at).parent;
      root_function[i] = at.index() < from ? root_function[at.index()] : m.graph(at).function;
    }
    function_graphs.clear();
    for (std::size_t i = 0; i < root_function.size(); ++i)
      if (root_function[i]) function_graphs[root_function[i]].push_back(GraphId{i});
  }
  return root_function[g.index()];
}

std::span<const GraphId> Inference::State::graphs_of(FunctionId f) const {
  function_of(m.main());
  const auto it = function_graphs.find(f);
  return it == function_graphs.end() ? std::span<const GraphId>{} : std::span<const GraphId>(it->second);
}

namespace {

template <class F> void for_each_value(const Model& m, GraphId g, F f) {
  for (const ValueId v : m.graph(g).inputs) f(v);
  for (const ValueId v : m.graph(g).initializers) f(v);
  for (NodeId n = m.first_node(g); n; n = m.next_node(n))
    for (const ValueId v : m.outputs(n))
      if (v) f(v);
}

}  // namespace

void Inference::State::forget_body_facts(FunctionId f) {
  for (const GraphId g : graphs_of(f)) for_each_value(m, g, [&](ValueId v) { body_facts.erase(v); });
}

void Inference::State::merge_body_facts(FunctionId f) {
  for (const GraphId g : graphs_of(f))
    for_each_value(m, g, [&](ValueId v) {
      const auto [it, added] = body_facts.try_emplace(v, type(v));
      if (!added) it->second = join(canonical(it->second), type(v));
    });
}

// Infers a graph that node n owns or calls; returns false when it is nested too deep.
bool Inference::State::enter(GraphId g) {
  if (depth >= kMaxDepth) return false;
  ++depth;
  walk(g);
  --depth;
  return true;
}

namespace rules {
namespace {

// While the owner (or call) is visited, changes in a body are not propagated to it: otherwise setting the
// facts of a body's inputs would queue the owner again, which sets them again, without end.
class BodyAtWork {
 public:
  BodyAtWork(Inference::State& s, GraphId body) : s_(s), body_(body), before_(s.walks[body].active) {
    s_.walks[body_].active = true;
  }
  ~BodyAtWork() { s_.walks[body_].active = before_; }
  BodyAtWork(const BodyAtWork&) = delete;
  BodyAtWork& operator=(const BodyAtWork&) = delete;

 private:
  Inference::State& s_;
  GraphId body_;
  bool before_;
};

GraphId body_of(const NodeContext& c, NameId name) {
  const Attr* a = c.m.find_attr(c.n, name);
  return a && a->kind == AttrKind::Graph && a->graphs.size() == 1 ? a->graphs[0] : GraphId{};
}

std::optional<SymbolicTensor> export_symbolic(NodeContext& c, const SymbolicTensor* t, GraphId body) {
  if (!t) return std::nullopt;
  SymbolicTensor out = *t;
  for (DimId& d : out.elements)
    if (c.s.leaks(d, body)) d = {};
  return out;
}

void state_result(NodeContext& c, std::size_t i, TypeId t, std::optional<SymbolicTensor> value) {
  const ValueId v = c.m.output(c.n, i);
  if (v) c.set(i, c.s.name_unknown_dims(t, v), value ? &*value : nullptr);
}

// A loop-carried value: from one iteration to the next.
struct LoopCarried {
  ValueId inside;      // the body's input
  std::size_t result;  // of the body
  TypeId type;
  std::optional<SymbolicTensor> value;
};

// Infers the body until the loop-carried facts are stable. Returns false when the body is nested too deep.
bool settle(NodeContext& c, GraphId body, std::vector<LoopCarried>& carried) {
  Inference::State& s = c.s;
  const TypeId unknown = c.m.types.unknown();
  for (int round = 0;; ++round) {
    for (LoopCarried& x : carried) {
      const Type& t = c.m.types[x.type];
      if (s.body_budget == 0 && t.kind == TypeKind::Tensor && t.has_rank) {
        x.type = c.m.types.tensor(t.elem);
        x.value.reset();
      }
      if (x.inside) {
        auto value = x.value;
        s.commit(x.inside, x.type, value ? &*value : nullptr);
      }
    }
    if (!s.enter(body)) return false;
    bool stable = true;
    for (LoopCarried& x : carried) {
      const ValueId out = c.m.graph_output(body, x.result);
      const TypeId back = out ? s.export_type(s.type(out), body) : unknown;
      TypeId both = s.join(x.type, back);
      if (x.inside) both = s.name_unknown_dims(both, x.inside);
      const auto value = export_symbolic(c, out ? s.symbolic(out) : nullptr, body);
      auto both_values = s.join(x.value ? &*x.value : nullptr, value ? &*value : nullptr);
      if (both_values && std::ranges::none_of(both_values->elements, [](DimId d) { return d.valid(); }))
        both_values.reset();
      const bool same_value = x.value.has_value() == both_values.has_value() &&
                              (!x.value || x.value->elements == both_values->elements);
      if (both == x.type && same_value) continue;
      stable = false;
      const Type& t = c.m.types[both];
      if (round >= 2 || s.body_budget == 0) both_values.reset();
      if ((round >= 2 || s.body_budget == 0) && both != x.type)
        both = round >= 3 || t.kind != TypeKind::Tensor ? unknown : c.m.types.tensor(t.elem);
      x.type = both;
      x.value = std::move(both_values);
    }
    if (stable) return true;
    if (round >= 4) {
      // Types can fall three steps, values two, so this point is not reached; if it were, a wrong fact must
      // not remain.
      for (LoopCarried& x : carried) {
        x.type = unknown;
        x.value.reset();
        if (x.inside) s.commit(x.inside, unknown, nullptr);
      }
      return s.enter(body);
    }
  }
}

bool is_true(NodeContext& c, const SymbolicTensor* t) {
  return t && t->elements.size() == 1 && t->elements[0] && c.dims.is_constant(t->elements[0], 1);
}

// Adds a leading (or inner) axis of that extent.
TypeId stacked(NodeContext& c, TypeId element, DimId extent, std::int64_t axis) {
  const Type& t = c.m.types[element];
  if (t.kind != TypeKind::Tensor) return c.m.types.unknown();
  if (!t.has_rank) return c.m.types.tensor(t.elem);
  Dims d(t.dims.begin(), t.dims.end());
  const auto at = NodeContext::axis(axis, static_cast<std::int64_t>(d.size()) + 1);
  if (!at) return c.m.types.tensor(t.elem);
  d.insert(d.begin() + static_cast<std::ptrdiff_t>(*at), extent);
  return c.m.types.tensor(t.elem, d);
}

// Returns what is known of a scan output's element if there may be no iteration: then ONNX Runtime uses the
// dims that the body's output declares, with 0 for symbols; so only numbers that are also declared hold.
TypeId also_without_iterations(NodeContext& c, TypeId element, TypeId declared) {
  const Type& t = c.m.types[element];
  const Type& d = c.m.types[declared];
  if (t.kind != TypeKind::Tensor) return c.m.types.unknown();
  if (!t.has_rank || !d.has_rank || d.dims.size() != t.dims.size()) return c.m.types.tensor(t.elem);
  Dims dims(t.dims.begin(), t.dims.end());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto number = d.dims[i] ? c.value(d.dims[i]) : std::nullopt;
    if (!number || !dims[i] || c.value(dims[i]) != number) dims[i] = {};
  }
  return c.m.types.tensor(t.elem, dims);
}

}  // namespace

void if_node(NodeContext& c) {
  const GraphId yes = body_of(c, names::then_branch), no = body_of(c, names::else_branch);
  if (!yes || !no || !c.s.enter(yes) || !c.s.enter(no)) return;
  const auto chosen = c.scalar(0);
  for (std::size_t i = 0; i < c.output_count(); ++i) {
    const ValueId a = i < c.m.graph_output_count(yes) ? c.m.graph_output(yes, i) : ValueId{};
    const ValueId b = i < c.m.graph_output_count(no) ? c.m.graph_output(no, i) : ValueId{};
    if (!a || !b) continue;
    if (chosen) {
      const ValueId v = *chosen != 0 ? a : b;
      const SymbolicTensor* value = c.s.symbolic(v);
      state_result(c, i, c.s.type(v), value ? std::optional(*value) : std::nullopt);
      continue;
    }
    const auto p = export_symbolic(c, c.s.symbolic(a), yes), q = export_symbolic(c, c.s.symbolic(b), no);
    state_result(c, i, c.s.join(c.s.export_type(c.s.type(a), yes), c.s.export_type(c.s.type(b), no)),
                 c.s.join(p ? &*p : nullptr, q ? &*q : nullptr));
  }
}

void loop(NodeContext& c) {
  const GraphId body = body_of(c, names::body);
  if (!body) return;
  const auto inputs = c.m.graph_inputs(body);
  const std::size_t n = c.input_count() > 2 ? c.input_count() - 2 : 0;
  if (inputs.size() != n + 2 || c.m.graph_output_count(body) < n + 1) return;
  const BodyAtWork at_work(c.s, body);
  const TypeId flag = c.m.types.tensor(DType::Bool, {}), counter = c.m.types.tensor(DType::Int64, {});
  c.s.commit(inputs[0], counter, nullptr);
  std::vector<LoopCarried> carried;
  // The condition is loop-carried, too. When it is absent it is true.
  std::optional<SymbolicTensor> condition;
  if (!c.has(1)) condition = SymbolicTensor{DType::Bool, {}, {c.constant(1)}};
  else if (const SymbolicTensor* t = c.sym(1); t && t->elements.size() == 1)
    condition = SymbolicTensor{DType::Bool, {}, t->elements};
  carried.push_back({inputs[1], 0, flag, condition});
  for (std::size_t i = 0; i < n; ++i) {
    const SymbolicTensor* value = c.sym(i + 2);
    carried.push_back({inputs[i + 2], i + 1, c.type_id(i + 2), value ? std::optional(*value) : std::nullopt});
  }
  if (!settle(c, body, carried)) return;
  for (std::size_t i = 0; i < n; ++i)
    state_result(c, i, c.s.export_type(carried[i + 1].type, body),
                 export_symbolic(c, carried[i + 1].value ? &*carried[i + 1].value : nullptr, body));
  // With a condition that stays true there are max(M, 0) iterations.
  DimId trips;
  const SymbolicTensor* m = c.has(0) ? c.sym(0) : nullptr;
  if (is_true(c, carried[0].value ? &*carried[0].value : nullptr) && m && m->elements.size() == 1 &&
      m->elements[0])
    trips = c.dims.max(m->elements[0], c.constant(0));
  if (!trips && c.output_count() > n) trips = c.fresh(n, 1000);  // the same for all scan outputs
  for (std::size_t i = n; i < c.output_count(); ++i) {
    if (i + 1 >= c.m.graph_output_count(body)) break;
    const ValueId v = c.m.graph_output(body, i + 1);
    if (!v) continue;
    TypeId element = c.s.export_type(c.s.type(v), body);
    if (!trips || c.dims.range(trips).low < 1)
      element = also_without_iterations(c, element, c.m.value(v).declared);
    state_result(c, i, stacked(c, element, trips, 0), std::nullopt);
  }
}

void scan(NodeContext& c) {
  const GraphId body = body_of(c, names::body);
  const auto scanned = c.attr_int(names::num_scan_inputs, 0);
  if (!body || c.opset() < 9 || scanned < 1 || scanned > static_cast<std::int64_t>(c.input_count())) return;
  const std::size_t n = c.input_count() - static_cast<std::size_t>(scanned);
  const auto inputs = c.m.graph_inputs(body);
  if (inputs.size() != c.input_count() || c.m.graph_output_count(body) < n) return;
  const BodyAtWork at_work(c.s, body);
  const auto in_axes = c.attr_ints(names::scan_input_axes), out_axes = c.attr_ints(names::scan_output_axes);
  DimId length;
  for (std::size_t i = n; i < c.input_count(); ++i) {
    const std::size_t k = i - n;
    TypeId element = c.elem(i) != DType::Undefined ? c.m.types.tensor(c.elem(i)) : c.m.types.unknown();
    const std::int64_t axis = in_axes && k < in_axes->size() ? (*in_axes)[k] : 0;
    const auto at = c.ranked(i) ? NodeContext::axis(axis, c.rank(i)) : std::nullopt;
    if (at) {
      Dims d(c.shape(i).begin(), c.shape(i).end());
      if (!length || (c.value(d[*at]) && !c.value(length))) {
        c.same(length, d[*at]);
        length = d[*at];
      } else {
        c.same(length, d[*at]);
      }
      d.erase(d.begin() + static_cast<std::ptrdiff_t>(*at));
      element = c.m.types.tensor(c.elem(i), d);
    }
    c.s.commit(inputs[i], element, nullptr);
  }
  std::vector<LoopCarried> carried;
  for (std::size_t i = 0; i < n; ++i) {
    const SymbolicTensor* value = c.sym(i);
    carried.push_back({inputs[i], i, c.type_id(i), value ? std::optional(*value) : std::nullopt});
  }
  if (!settle(c, body, carried)) return;
  for (std::size_t i = 0; i < n; ++i)
    state_result(c, i, c.s.export_type(carried[i].type, body),
                 export_symbolic(c, carried[i].value ? &*carried[i].value : nullptr, body));
  for (std::size_t i = n; i < c.output_count(); ++i) {
    if (i >= c.m.graph_output_count(body)) break;
    const ValueId v = c.m.graph_output(body, i);
    const std::int64_t axis = out_axes && i - n < out_axes->size() ? (*out_axes)[i - n] : 0;
    if (v) state_result(c, i, stacked(c, c.s.export_type(c.s.type(v), body), length, axis), std::nullopt);
  }
}

namespace {

// Returns a dim of a function's body for use by the caller: symbols made inside get a name per call.
DimId renamed(NodeContext& c, DimId d, GraphId body) {
  if (!c.s.leaks(d, body)) return d;
  for (const DimId symbol : c.dims.symbols_of(d)) {
    const auto it = c.s.scope.find(symbol);
    if (it == c.s.scope.end() || !c.m.inside(it->second, body)) continue;
    constexpr std::uint64_t kCall = std::uint64_t{1} << 63;
    const DimId by =
        c.s.fresh_keyed(kCall | c.n.index(), symbol.index(), c.m.node(c.n).graph, c.dims.range(symbol));
    d = c.dims.substitute(d, symbol, by);
    if (!d) return d;
  }
  return d;
}

TypeId renamed_type(NodeContext& c, TypeId id, GraphId body) {
  const Type& t = c.m.types[id];
  if (t.kind != TypeKind::Tensor || !t.has_rank) return c.s.export_type(id, body);
  Dims d(t.dims.begin(), t.dims.end());
  for (DimId& x : d) x = renamed(c, x, body);
  return c.m.types.tensor(t.elem, d);
}

}  // namespace

void function_call(NodeContext& c) {
  const FunctionId f = c.m.op(c.n).function;
  if (!f) return;
  Inference::State& s = c.s;
  // No function leads back to itself: such a model is not loaded.
  if (s.calls.size() >= Inference::State::kMaxDepth || s.body_budget == 0) return;
  const Function& function = c.m.function(f);
  const GraphId body = function.body;
  const auto inputs = c.m.graph_inputs(body);
  const BodyAtWork at_work(s, body);
  // Whatever depends on the call's attributes is inferred again, and whatever was learned since may concern
  // any node of the body.
  if (s.refreshing || !function.attributes.empty() || !function.defaults.empty())
    for (const GraphId g : s.graphs_of(f)) s.walks[g].visited = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const SymbolicTensor* value = i < c.input_count() ? c.sym(i) : nullptr;
    auto copy = value ? std::optional(*value) : std::nullopt;
    s.commit(inputs[i], i < c.input_count() ? c.type_id(i) : c.m.types.unknown(), copy ? &*copy : nullptr);
  }
  s.calls.push_back({c.n, f});
  const std::uint64_t before = s.walks[body].steps;
  const bool done = s.enter(body);
  s.calls.pop_back();
  if (!done) return;
  if (s.walks[body].steps != before) s.merge_body_facts(f);
  for (std::size_t i = 0; i < c.output_count() && i < c.m.graph_output_count(body); ++i) {
    const ValueId v = c.m.graph_output(body, i);
    if (!v) continue;
    std::optional<SymbolicTensor> value;
    if (const SymbolicTensor* t = s.symbolic(v)) {
      value = *t;
      for (DimId& d : value->elements)
        if (d) d = renamed(c, d, body);
    }
    state_result(c, i, renamed_type(c, s.type(v), body), std::move(value));
  }
}

}  // namespace rules
}  // namespace graphopt
