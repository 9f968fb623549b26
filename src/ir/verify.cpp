// Checks what model.h promises. Every message names what is broken and where; each is a defect of graphopt,
// since the reader refuses files that would break an invariant.

#include "ir/verify.h"

#include <array>
#include <string>
#include <vector>

namespace graphopt {
namespace {

class Verifier {
 public:
  explicit Verifier(const Model& m) : m_(m) {}

  std::optional<Error> run() {
    for (std::uint32_t g = 0; g < m_.graph_count() && !error_; ++g)
      if (m_.graph(GraphId{g}).alive) check_graph(GraphId{g});
    check_counts();
    for (std::uint32_t v = 0; v < m_.value_count() && !error_; ++v) check_value(ValueId{v});
    return std::move(error_);
  }

 private:
  void fail(Place place, std::string what) {
    if (error_) return;
    error_ =
        Error{ErrorKind::Internal, std::move(place), "the graph is inconsistent: " + std::move(what), {}};
  }

  std::string name(ValueId v) const { return "'" + std::string(m_.text(m_.value(v).name)) + "'"; }

  void check_graph(GraphId g) {
    const Graph& graph = m_.graph(g);
    if (graph.owner && !m_.alive(graph.owner)) return fail(place_of(m_, g), "its owner is erased");
    std::uint32_t count = 0;
    std::uint64_t order = 0;
    NodeId prev;
    for (NodeId n = graph.first; n; n = m_.next_node(n)) {
      const Node& node = m_.node(n);
      if (!node.alive || node.graph != g || node.prev != prev)
        return fail(place_of(m_, n), "the node list is broken");
      if (node.order <= order) return fail(place_of(m_, n), "order keys do not grow");
      order = node.order;
      prev = n;
      ++count;
      ++of_kind_[static_cast<std::size_t>(node.kind)];
      check_operands(n);
      check_results(n);
      for (const Attr& a : m_.attrs(n))
        for (const GraphId inner : a.graphs)
          if (!m_.graph(inner).alive || m_.graph(inner).owner != n || m_.graph(inner).parent != g)
            return fail(place_of(m_, n), "a subgraph does not know its owner");
      if (error_) return;
    }
    if (graph.last != prev || graph.node_count != count)
      return fail(place_of(m_, g), "the node list's end or count is wrong");
    check_operands(graph.ret);
    for (const ValueId v : graph.inputs)
      if (m_.value(v).graph != g || !m_.value(v).is_input || m_.value(v).def)
        return fail(place_of(m_, g), "input " + name(v) + " has a definition");
  }

  void check_counts() {
    std::size_t live = 0;
    for (std::size_t k = 0; k < of_kind_.size(); ++k) {
      live += of_kind_[k];
      if (m_.live_node_count(static_cast<OpKind>(k)) != of_kind_[k])
        return fail({}, "the count of nodes of one operator is wrong");
    }
    if (m_.live_node_count() != live) fail({}, "the count of nodes is wrong");
  }

  void check_operands(NodeId n) {
    for (std::size_t i = 0; i < m_.input_count(n); ++i) {
      const ValueId v = m_.input(n, i);
      if (!v) continue;
      const Value& value = m_.value(v);
      if (!value.alive) return fail(place_of(m_, n), "it reads " + name(v) + ", which is erased");
      if (!m_.inside(m_.node(n).graph, value.graph)) return fail(place_of(m_, n), "it cannot see " + name(v));
      if (!value.def) {
        if (!value.is_input && !value.is_initializer)
          return fail(place_of(m_, n), name(v) + " has no definition");
        continue;
      }
      const NodeId at = m_.ancestor_in(value.graph, n);
      if (!at || m_.node(value.def).order >= m_.node(at).order)
        return fail(place_of(m_, n), "it stands before the definition of " + name(v));
    }
  }

  void check_results(NodeId n) {
    for (std::size_t i = 0; i < m_.output_count(n); ++i) {
      const ValueId v = m_.output(n, i);
      if (!v) continue;
      const Value& value = m_.value(v);
      if (!value.alive || value.def != n || value.def_slot != i || value.graph != m_.node(n).graph)
        return fail(place_of(m_, n), "its result " + name(v) + " does not know it");
    }
  }

  void check_value(ValueId v) {
    const Value& value = m_.value(v);
    std::uint32_t count = 0;
    bool overwritten = false;
    UseId prev;
    for (UseId u = value.first_use; u; u = m_.next_use(u)) {
      const NodeId n = m_.user(u);
      if (!value.alive || !m_.alive(n) || m_.slot(u) >= m_.input_count(n) || m_.input(n, m_.slot(u)) != v ||
          count > value.use_count)
        return fail(place_of(m_, value.graph), "the use list of " + name(v) + " is broken");
      prev = u;
      ++count;
      overwritten = overwritten || (m_.slot(u) < 64 && (m_.node(n).overwrites >> m_.slot(u) & 1) != 0);
    }
    if (count != value.use_count)
      fail(place_of(m_, value.graph), "the use count of " + name(v) + " is wrong");
    if (overwritten != m_.is_overwritten(v))
      fail(place_of(m_, value.graph), "whether a node overwrites " + name(v) + " is wrong");
  }

  const Model& m_;
  std::array<std::size_t, static_cast<std::size_t>(OpKind::Count)> of_kind_{};  // live nodes
  std::optional<Error> error_;
};

}  // namespace

std::optional<Error> verify(const Model& model) { return Verifier(model).run(); }

}  // namespace graphopt
