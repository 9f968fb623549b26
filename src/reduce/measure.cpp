#include "reduce/measure.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace graphopt {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

std::uint64_t add(std::uint64_t a, std::uint64_t b) { return a > kMost - b ? kMost : a + b; }
std::uint64_t mul(std::uint64_t a, std::uint64_t b) { return b != 0 && a > kMost / b ? kMost : a * b; }

// Counts nodes. Functions do not call themselves; calls may be nested deeper than a stack is, so those that
// are being counted are in a list.
class NodeCounter {
 public:
  explicit NodeCounter(const Model& m) : m_(m), functions_(m.function_count(), 0) {}

  std::uint64_t of(GraphId root) {
    std::vector<Open> open = {{{}, {root}, {}, 0}};
    for (;;) {
      Open& top = open.back();
      if (top.next) {
        const NodeId n = top.next;
        top.next = m_.next_node(n);
        top.count = add(top.count, 1);
        for (const Attr& a : m_.attrs(n))
          top.graphs.insert(top.graphs.end(), a.graphs.begin(), a.graphs.end());
        const FunctionId f = m_.op(n).function;
        if (!f || !m_.function(f).body || !m_.graph(m_.function(f).body).alive) continue;
        if (functions_[f.index()] > 0) top.count = add(top.count, functions_[f.index()] - 1);
        else open.push_back({f, {m_.function(f).body}, {}, 0});  // `top` may have moved
      } else if (!top.graphs.empty()) {
        top.next = m_.first_node(top.graphs.back());
        top.graphs.pop_back();
      } else {
        const std::uint64_t count = top.count;
        const FunctionId f = top.function;
        open.pop_back();
        if (open.empty()) return count;
        functions_[f.index()] = add(count, 1);
        open.back().count = add(open.back().count, count);
      }
    }
  }

 private:
  struct Open {
    FunctionId function;          // none: the root
    std::vector<GraphId> graphs;  // not begun
    NodeId next;                  // of the graph that was begun last
    std::uint64_t count;
  };

  const Model& m_;
  std::vector<std::uint64_t> functions_;  // 1 more than their nodes; 0: not counted yet
};

void count_details(const Model& m, Measure& out) {
  for (std::size_t i = 0; i < m.node_count(); ++i) {
    const NodeId n{i};
    if (!m.alive(n) || m.is_return(n)) continue;
    out.details += m.attrs(n).size();
    for (std::size_t k = 0; k < m.input_count(n); ++k) out.details += m.input(n, k).valid();
    for (const ValueId v : m.outputs(n)) out.details += v.valid();
  }
  for (std::size_t g = 1; g < m.graph_count(); ++g)
    if (m.graph(GraphId{g}).alive) out.details += 1 + m.graph_output_count(GraphId{g});
}

void count_inputs(const Model& m, Measure& out) {
  for (const ValueId v : m.graph_inputs(m.main())) {
    std::uint64_t elements = 1;
    for (const DimId d : m.types[m.value(v).declared].dims) {
      const auto extent = d ? m.dims.value(d) : std::nullopt;
      if (extent) elements = mul(elements, static_cast<std::uint64_t>(std::max<std::int64_t>(*extent, 0)));
      else ++out.symbols;
    }
    out.elements = add(out.elements, elements);
  }
}

void count_constants(const Model& m, Measure& out) {
  for (std::size_t i = 0; i < m.tensor_count(); ++i) {
    const Tensor& t = m.tensor(TensorId{i});
    out.elements = add(out.elements, static_cast<std::uint64_t>(t.elements));
    if (const std::optional<Bytes> raw = m.raw(TensorId{i}))
      out.nonzero += raw->size() - static_cast<std::uint64_t>(std::ranges::count(*raw, '\0'));
  }
}

}  // namespace

Measure measure_of(const Model& m) {
  Measure out;
  out.nodes = NodeCounter(m).of(m.main());
  out.borders = m.graph_inputs(m.main()).size() + m.graph_output_count(m.main());
  count_details(m, out);
  count_inputs(m, out);
  count_constants(m, out);
  out.bytes = m.file_bytes;
  return out;
}

std::uint64_t written_nodes(const Model& m) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < m.node_count(); ++i) count += m.alive(NodeId{i}) && !m.is_return(NodeId{i});
  return count;
}

}  // namespace graphopt
