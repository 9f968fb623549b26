// One sweep over the node array counts operators per "root" (the main graph, or the function whose body holds
// the node, at whatever depth); then each function's counts are added as often as it is called. No recursion:
// functions are taken in an order in which callers come before callees (Kahn), which exists because the
// reader refuses functions that call themselves.
#include "ir/figures.h"

#include <limits>
#include <string>

#include "support/known_names.h"

namespace graphopt {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

std::uint64_t add(std::uint64_t a, std::uint64_t b) { return a > kMost - b ? kMost : a + b; }
std::uint64_t multiply(std::uint64_t a, std::uint64_t b) { return b != 0 && a > kMost / b ? kMost : a * b; }

// Returns the function whose body holds each graph; none for those of the main graph. Owners have smaller ids
// than the graphs that they own.
std::vector<FunctionId> root_functions(const Model& m) {
  std::vector<FunctionId> root(m.graph_count());
  for (std::size_t g = 0; g < m.graph_count(); ++g) {
    const Graph& graph = m.graph(GraphId{g});
    root[g] = graph.function;
    // Walk up to an ancestor that is known: an owner may have been made after its graph.
    for (GraphId up = graph.parent; !root[g] && up; up = m.graph(up).parent) {
      root[g] =
          m.graph(up).function ? m.graph(up).function : (up.index() < g ? root[up.index()] : FunctionId{});
      if (up.index() < g) break;
    }
  }
  return root;
}

bool counts(const Model& m, const Node& n) { return n.alive && !n.is_return && m.graph(n.graph).alive; }

// calls[f]: how often each function is called from the body of f itself; the last entry is the main graph.
using CallCounts = std::vector<std::vector<std::pair<FunctionId, std::uint64_t>>>;

CallCounts collect_calls(const Model& m, const std::vector<FunctionId>& root) {
  CallCounts calls(m.function_count() + 1);
  for (std::size_t i = 0; i < m.node_count(); ++i) {
    const Node& n = m.node(NodeId{i});
    if (n.kind != OpKind::FunctionCall || !counts(m, n)) continue;
    const FunctionId from = root[n.graph.index()];
    auto& list = calls[from ? from.index() : m.function_count()];
    const FunctionId to = m.op(n.op).function;
    if (!list.empty() && list.back().first == to) {
      ++list.back().second;
    } else {
      list.emplace_back(to, 1);
    }
  }
  return calls;
}

std::vector<std::uint64_t> times_run(const CallCounts& calls) {
  const std::size_t functions = calls.size() - 1;
  std::vector<std::uint64_t> waiting(functions, 0), times(functions, 0);
  for (std::size_t f = 0; f < functions; ++f) {
    for (const auto& [to, n] : calls[f]) ++waiting[to.index()];
  }
  std::vector<std::size_t> ready;
  for (std::size_t f = 0; f < functions; ++f) {
    if (waiting[f] == 0) ready.push_back(f);
  }
  for (const auto& [to, n] : calls[functions]) times[to.index()] = add(times[to.index()], n);
  while (!ready.empty()) {
    const std::size_t f = ready.back();
    ready.pop_back();
    for (const auto& [to, n] : calls[f]) {
      times[to.index()] = add(times[to.index()], multiply(times[f], n));
      if (--waiting[to.index()] == 0) ready.push_back(to.index());
    }
  }
  return times;
}

}  // namespace

std::vector<std::uint64_t> calls_per_function(const Model& model) {
  return times_run(collect_calls(model, root_functions(model)));
}

ModelFigures count_model(const Model& m) {
  ModelFigures out;
  const std::vector<FunctionId> root = root_functions(m);
  const std::size_t functions = m.function_count();
  const CallCounts calls = functions > 0 ? collect_calls(m, root) : CallCounts(1);
  const std::vector<std::uint64_t> times = times_run(calls);
  const auto times_of = [&](FunctionId f) { return f ? times[f.index()] : 1; };

  std::vector<std::uint64_t> per_op;  // by OpId
  for (std::size_t i = 0; i < m.node_count(); ++i) {
    const Node& n = m.node(NodeId{i});
    if (!counts(m, n)) continue;
    const FunctionId from = functions > 0 ? root[n.graph.index()] : FunctionId{};
    const std::uint64_t k = times_of(from);
    if (n.kind == OpKind::FunctionCall) {
      if (k > 0) ++out.calls;
      continue;
    }
    if (n.op.index() >= per_op.size()) per_op.resize(n.op.index() + 1, 0);
    per_op[n.op.index()] = add(per_op[n.op.index()], k);
  }
  for (std::size_t g = 0; g < m.graph_count(); ++g) {
    const Graph& graph = m.graph(GraphId{g});
    if (graph.alive && graph.owner && times_of(root[g]) > 0) ++out.subgraphs;
  }
  for (std::size_t i = 0; i < per_op.size(); ++i) {
    if (per_op[i] == 0) continue;
    const OpId op{i};
    if (m.op(op).kind == OpKind::Constant) {
      out.constants = add(out.constants, per_op[i]);
      continue;
    }
    std::uint64_t& total = out.operators[operator_name(m, op)];  // overloads share a name
    total = add(total, per_op[i]);
    out.nodes = add(out.nodes, per_op[i]);
  }
  for (const ValueId v : m.graph(m.main()).initializers) {
    const Value& value = m.value(v);
    if (value.alive && value.is_initializer && !value.is_sparse) ++out.initializers;
  }
  return out;
}

}  // namespace graphopt
