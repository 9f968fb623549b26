// inline-functions: replaces a call of the model's own function by its body where that costs nothing or
// brings two data movements together.
//
// Problem: exporters write modules as functions. No rule sees across the boundary of a call: where a function
// ends in a Transpose and a Transpose reads its result, both stay. A function that is called once, or whose
// body is one node, is of no use.
// Method: peephole, from the call. It is replaced where
//   once      nothing else calls the function
//   one node  the body is one node and constants
//   border    a movement at the boundary of the body meets a movement outside of it, perhaps in another call,
//             and `compose` makes one node of both: each is the only reader of what is between them.
// Attributes that the body takes from the call are written out. A function that is called no more goes, and
// so do those that only it called. Exact: ONNX Runtime does the same when it loads a model; constants of the
// body are constants of the graph then, and operands of the call are what the body's nodes read, also for
// kernels that pack weights. Lowers: calls; a function is not written more often than it was called. Ends: no
// function leads back to itself, so each rewrite removes a call of the deepest nesting that there is. Left
// alone: calls in functions, until those are replaced themselves; a body of other operator sets than the
// graph of the call; a call that leaves out an operand which the body reads; attributes that are graphs;
// nodes that overwrite an operand. inline-every-function does it wherever it can: for analyses that look into
// no function; it is not in the list. --disable-pass=inline-functions keeps all functions.
//
//   h = local.Heads (x)                          =>      r = Reshape (x, s)
//   y = Transpose <perm = [0, 1, 3, 2]> (h)              h = Transpose <perm = [0, 2, 1, 3]> (r)
//   Heads (p) => (q) {                                   y = Transpose <perm = [0, 1, 3, 2]> (h)
//     r = Reshape (p, s)  q = Transpose <perm = [0, 2, 1, 3]> (r) }

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/bodies.h"
#include "ir/copy.h"
#include "ops/attributes.h"
#include "ops/compose.h"
#include "ops/deformation.h"
#include "passes/inline_functions.h"
#include "passes/rule_pass.h"
#include "rewrite/build.h"
#include "support/known_names.h"

namespace graphopt {
namespace {

// Nodes that one run may copy: a small hostile file with many calls of large functions could fill the memory.
constexpr std::uint64_t kMostCopied = 1'000'000;

// Returns whether a result of the call is no result of a node of the body, or one twice.
bool hands_values_on(const Model& m, NodeId n) {
  const GraphId body = m.function(m.op(n).function).body;
  std::vector<ValueId> made;
  for (std::size_t i = 0; i < m.output_count(n); ++i) {
    if (!m.output(n, i)) continue;
    made.push_back(m.graph_output(body, i));
    if (!m.value(made.back()).def || m.value(made.back()).tensor) return true;
  }
  std::ranges::sort(made);
  return std::ranges::adjacent_find(made) != made.end();
}

// A node at the border of a call, in as many functions as are one around the other.
NodeId producer(const Model& m, ValueId v) {
  while (v) {
    const NodeId n = m.value(v).def;
    if (!n || m.kind(n) != OpKind::FunctionCall) return n;
    v = m.graph_output(m.function(m.op(n).function).body, m.value(v).def_slot);
    if (!v || m.use_count(v) != 1) return {};
  }
  return {};
}
// The only reader of a value.
NodeId consumer(const Model& m, ValueId v) {
  while (v) {
    const NodeId n = m.single_user(v);
    if (!n || m.kind(n) != OpKind::FunctionCall) return n;
    const auto parameters = m.graph_inputs(m.function(m.op(n).function).body);
    const std::uint32_t slot = m.slot(m.first_use(v));
    if (slot >= parameters.size()) return {};
    v = parameters[slot];
  }
  return {};
}

// Returns whether the two become one node when nothing lies between them.
bool become_one(const Inference& infer, const Model& m, NodeId upstream, NodeId downstream) {
  if (!upstream || !downstream || !attributes_known(m, upstream) || !attributes_known(m, downstream))
    return false;
  const OpKind a = m.kind(upstream), b = m.kind(downstream);
  if (a == OpKind::Transpose) return b == a;
  if (a == OpKind::Cast && b == a) {
    const auto first = int_attr(m, upstream, names::to), last = int_attr(m, downstream, names::to);
    const DType from = infer.dtype(m.input(upstream, 0));
    return first && last && from != DType::Undefined &&
           casts_compose(from, static_cast<DType>(*first), static_cast<DType>(*last));
  }
  if (a == OpKind::Concat && b == a)
    return int_attr(m, upstream, names::axis) == int_attr(m, downstream, names::axis);
  return is_deformation(a) && is_deformation(b);
}

// Kinds whose value the IR holds.
bool may_be_written(const Attr& a) {
  switch (a.kind) {
    case AttrKind::Float:
    case AttrKind::Int:
    case AttrKind::String:
    case AttrKind::Tensor:
    case AttrKind::Floats:
    case AttrKind::Ints:
    case AttrKind::Strings: return !a.ref;
    default: return false;
  }
}

TensorId text_tensor(Model& m, std::span<const Bytes> texts, std::vector<std::int64_t> dims) {
  Tensor made;
  made.dtype = DType::String;
  made.elements = std::ssize(texts);
  made.dims = std::move(dims);
  auto owned = std::make_shared<Unpacked>();
  owned->strings.assign(texts.begin(), texts.end());
  made.owned = std::move(owned);
  made.ready = true;
  return m.add_tensor(std::move(made));
}

// The value of a Constant node whose attribute was the call's is known now, as it would be if it were read.
void make_constant(Model& m, NodeId n) {
  const ValueId v = m.output(n, 0);
  const bool returned = v && m.is_graph_output(v) && (m.node(n).graph != m.main() || m.ir_version < 4);
  if (!v || returned || !m.can_become_constant(v)) return;
  const Attr& a = m.attrs(n)[0];
  const auto raw = [](auto numbers) {
    return std::string(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
  };
  const auto count = [](auto list) { return std::vector<std::int64_t>{std::ssize(list)}; };
  TensorId t;
  if (a.name == names::value) t = a.tensor;
  else if (a.name == names::value_int) t = m.make_int64(a.i);
  else if (a.name == names::value_ints) t = m.make_int64s(a.ints);
  else if (a.name == names::value_float) t = m.make_tensor(DType::Float, {}, raw(std::span(&a.f, 1)));
  else if (a.name == names::value_floats) t = m.make_tensor(DType::Float, count(a.floats), raw(a.floats));
  else if (a.name == names::value_string) t = text_tensor(m, std::span(&a.s, 1), {});
  else if (a.name == names::value_strings) t = text_tensor(m, a.strings, count(a.strings));
  if (t) m.make_constant(v, t);
}

// Writes what the node took from the call, or from the function's defaults; without either the node does
// not have the attribute.
void write_attributes(Model& m, NodeId n, NodeId call, FunctionId f) {
  const std::vector<Attr> given(m.attrs(n).begin(), m.attrs(n).end());
  for (const Attr& a : given) {
    if (!a.ref) continue;
    const Attr* value = m.find_attr(call, a.ref);
    const auto& defaults = m.function(f).defaults;
    const auto fallback = std::ranges::find(defaults, a.ref, &Attr::name);
    if (value == nullptr && fallback != defaults.end()) value = &*fallback;
    if (value == nullptr) {
      m.remove_attr(n, a.name);
      continue;
    }
    Attr made = *value;
    made.name = a.name;
    made.proto = {};
    m.set_attr(n, made);
  }
  const bool completed = std::ranges::any_of(given, [](const Attr& a) { return a.ref.valid(); });
  if (completed && m.kind(n) == OpKind::Constant && m.attrs(n).size() == 1) make_constant(m, n);
}

// `kAlways`: whether it pays or not.
template <bool kAlways> class InlineCall final : public Rule {
 public:
  static constexpr Counter kCounter{"inlined", "calls replaced by the function's body"};
  struct Run {
    bool counted = false;
    std::uint64_t copied = 0;
    std::unordered_map<FunctionId, std::uint64_t> calls;
  };
  explicit InlineCall(Run& run) : run_(run) {}

  std::string_view name() const override { return "call"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::FunctionCall>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    count_calls(m);
    const GraphId body = m.function(m.op(n).function).body;
    GraphId root = m.node(n).graph;
    while (m.graph(root).parent) root = m.graph(root).parent;
    if (m.graph(root).function) return c.no(n, "it is in a function, which is called itself");
    if (!kAlways && !pays(c, n, body)) return false;
    if (run_.copied > kMostCopied) return c.no(n, "very many nodes have been copied");
    const std::string_view reason = why_not_inlined(m, n);
    return reason.empty() || c.no(n, reason);
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const FunctionId f = m.op(n).function;
    for_each_node(m, m.function(f).body, [&](NodeId inner) {
      ++run_.copied;
      if (m.kind(inner) == OpKind::FunctionCall) ++run_.calls[m.op(inner).function];
    });
    inline_call(m, n);
    uncall(m, f);
  }

 private:
  void count_calls(const Model& m) {
    if (run_.counted) return;
    run_.counted = true;
    for (std::size_t i = 0; i < m.node_count(); ++i)
      if (m.alive(NodeId{i}) && m.kind(NodeId{i}) == OpKind::FunctionCall)
        ++run_.calls[m.op(NodeId{i}).function];
  }

  // Erases the function if that was its last call, and what was called by it alone.
  void uncall(Model& m, FunctionId first) {
    std::vector<FunctionId> todo{first};
    while (!todo.empty()) {
      const FunctionId f = todo.back();
      todo.pop_back();
      if (--run_.calls[f] > 0) continue;
      for_each_node(m, m.function(f).body, [&](NodeId inner) {
        if (m.kind(inner) == OpKind::FunctionCall) todo.push_back(m.op(inner).function);
      });
      m.erase_function(f);
    }
  }

  bool pays(const MatchContext& c, NodeId n, GraphId body) {
    const Model& m = c.model;
    if (run_.calls[m.op(n).function] == 1) return true;
    std::size_t nodes = 0;
    for_each_node(m, body, [&](NodeId inner) { nodes += m.kind(inner) == OpKind::Constant ? 0 : 1; });
    if (nodes <= 1) return true;
    for (std::size_t i = 0; i < m.output_count(n); ++i) {
      const ValueId v = m.output(n, i);
      if (v && become_one(c.infer, m, producer(m, v), consumer(m, v))) return true;
    }
    for (std::size_t i = 0; i < m.input_count(n); ++i) {
      const ValueId v = m.input(n, i);
      if (v && become_one(c.infer, m, producer(m, v), consumer(m, v))) return true;
    }
    return c.no(n, "other calls share the function, and no movement meets another one at its border");
  }

  Run& run_;
};

}  // namespace

std::string_view why_not_inlined(const Model& m, NodeId n) {
  const Function& f = m.function(m.op(n).function);
  if (m.input_count(n) > m.graph_inputs(f.body).size() || m.output_count(n) > m.graph_output_count(f.body))
    return "it has more operands or results than the function";
  for (std::size_t i = 0; i < m.graph_inputs(f.body).size(); ++i)
    if (!m.input(n, i) && m.use_count(m.graph_inputs(f.body)[i]) > 0)
      return "it leaves out an operand that the function reads";
  if (m.node(n).overwrites != 0) return "overwrites an operand";
  const auto opset = static_cast<int>(m.opset(m.node(n).graph, kEmptyName));
  if (facts(OpKind::Identity, opset).kind != OpKind::Identity && hands_values_on(m, n))
    return "a result needs an Identity, which nobody knows in the graph's opset";
  for (const Attr& a : m.attrs(n))
    if (!may_be_written(a)) return "hands an attribute down that cannot be written elsewhere";
  for (const Attr& a : f.defaults)
    if (!may_be_written(a)) return "hands an attribute down that cannot be written elsewhere";
  bool fits = true;
  for_each_node(m, f.body, [&](NodeId inner) {
    const NameId domain = m.op(inner).domain;
    fits = fits && m.opset(inner) == m.opset(m.node(n).graph, domain) && m.node(inner).overwrites == 0;
  });
  return fits ? std::string_view{} : "the function's operator sets are not those of the graph";
}

void inline_call(Model& m, NodeId n) {
  const FunctionId f = m.op(n).function;
  const GraphId body = m.function(f).body, graph = m.node(n).graph;
  const NodeId before = m.prev_node(n);
  Copier copy(m, m);
  for (std::size_t i = 0; i < m.input_count(n); ++i) copy.map(m.graph_inputs(body)[i], m.input(n, i));
  std::vector<std::pair<ValueId, ValueId>> others;  // results that no copied node is to define
  for (std::size_t i = 0; i < m.output_count(n); ++i) {
    if (!m.output(n, i)) continue;
    const ValueId inner = m.graph_output(body, i), result = m.detach_output(n, i);
    // A constant keeps its value, by which the model knows it as one.
    if (m.value(inner).def && !m.value(inner).tensor && !copy.find(inner)) copy.map(inner, result);
    else others.emplace_back(inner, result);
  }
  copy.nodes(body, graph, n);
  for (const auto& [inner, result] : others) {
    const ValueId source = copy.find(inner);
    add_operator({m, graph, n, {}, {&result, 1}}, OpKind::Identity, {&source, 1});
  }
  for (NodeId made = before ? m.next_node(before) : m.first_node(graph); made != n;
       made = m.next_node(made)) {
    write_attributes(m, made, n, f);
    for (const Attr& a : std::vector<Attr>(m.attrs(made).begin(), m.attrs(made).end()))
      for (const GraphId g : a.graphs)
        for_each_node(m, g, [&](NodeId inner) { write_attributes(m, inner, n, f); });
  }
  m.erase(n);
}

void erase_if_uncalled(Model& m, FunctionId first) {
  std::vector<FunctionId> todo{first};
  while (!todo.empty()) {
    const FunctionId f = todo.back();
    todo.pop_back();
    bool called = false;
    for (std::size_t i = 0; !called && i < m.node_count(); ++i)
      called =
          m.alive(NodeId{i}) && m.kind(NodeId{i}) == OpKind::FunctionCall && m.op(NodeId{i}).function == f;
    if (called || !m.graph(m.function(f).body).alive) continue;
    for_each_node(m, m.function(f).body, [&](NodeId inner) {
      if (m.kind(inner) == OpKind::FunctionCall) todo.push_back(m.op(inner).function);
    });
    m.erase_function(f);
  }
}

extern constinit const PassInfo inline_functions = {
    .name = "inline-functions",
    .summary = "replace calls of functions by their bodies where that helps",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<InlineCall<false>>>};

extern constinit const PassInfo inline_every_function = {
    .name = "inline-every-function",
    .summary = "replace calls of functions by their bodies",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<InlineCall<true>>>};

}  // namespace graphopt
