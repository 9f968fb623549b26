#include "ir/part.h"

#include <algorithm>
#include <unordered_set>

#include "ir/bodies.h"

namespace graphopt {
namespace {

class PartFinder {
 public:
  PartFinder(const Model& m, const PartMaker::Positions& positions, std::vector<NodeId> nodes)
      : m_(m), positions_(positions) {
    part_.nodes = std::move(nodes);
    std::ranges::sort(part_.nodes, [&](NodeId a, NodeId b) { return m_.before(a, b); });
    for (const NodeId n : part_.nodes) inside_.insert(n);
  }

  ModelPart run() {
    for (const NodeId n : part_.nodes) {
      visit(n);
      visit_bodies(n);
    }
    visit_functions();
    find_outputs();
    put_in_order();
    return std::move(part_);
  }

 private:
  // Notes what one node reads from outside the part, its operator and its function.
  void visit(NodeId n) {
    for (std::size_t i = 0; i < m_.input_count(n); ++i)
      if (const ValueId v = m_.input(n, i)) read(v);
    note_operator(n);
  }

  void read(ValueId v) {
    const Value& value = m_.value(v);
    if (value.graph != m_.main() || !seen_.insert(v).second) return;
    if (value.is_initializer) part_.initializers.push_back(v);
    const bool from_part = value.def && inside_.contains(value.def);
    if (value.is_input || (value.def && !from_part)) part_.inputs.push_back(v);
  }

  void note_operator(NodeId n) {
    const Op& op = m_.op(n);
    domains_.insert(op.domain);
    if (op.function && called_.insert(op.function).second) functions_.push_back(op.function);
  }

  // Visits all nodes in bodies of n, at any depth.
  void visit_bodies(NodeId n) {
    for_each_body(m_, n, [this](GraphId g) {
      for (NodeId inner = m_.first_node(g); inner; inner = m_.next_node(inner)) visit(inner);
      for (std::size_t i = 0; i < m_.graph_output_count(g); ++i)  // a body may return what it captures
        if (const ValueId v = m_.graph_output(g, i)) read(v);
    });
  }

  // Functions that functions call come along; they import operator sets themselves.
  void visit_functions() {
    const std::unordered_set<NameId> direct = domains_;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      std::vector<GraphId> bodies{m_.function(functions_[i]).body};
      while (!bodies.empty()) {
        const GraphId g = bodies.back();
        bodies.pop_back();
        if (!g) continue;
        for (NodeId n = m_.first_node(g); n; n = m_.next_node(n)) {
          note_operator(n);
          for (const Attr& a : m_.attrs(n)) bodies.insert(bodies.end(), a.graphs.begin(), a.graphs.end());
        }
      }
    }
    domains_ = direct;
    // A model has to import the domain of each function in it.
    for (const FunctionId f : functions_) domains_.insert(m_.function(f).domain);
  }

  void find_outputs() {
    for (const NodeId n : part_.nodes)
      for (const ValueId v : m_.outputs(n))
        if (v && is_read_outside(v)) part_.outputs.push_back(v);
  }

  bool is_read_outside(ValueId v) const {
    for (UseId u = m_.first_use(v); u; u = m_.next_use(u)) {
      const NodeId user = m_.ancestor_in(m_.main(), m_.user(u));
      if (!user || m_.is_return(user) || !inside_.contains(user)) return true;
    }
    return false;
  }

  // Puts those that have a position in front, in that order; the others stay in theirs.
  static void put_first(std::vector<ValueId>& values, const std::vector<std::uint32_t>& positions) {
    std::ranges::stable_sort(values, {}, [&](ValueId v) { return positions[v.index()] - 1; });  // 0: last
  }

  void put_in_order() {
    const auto by_definition = [&](ValueId a, ValueId b) {
      const Value &x = m_.value(a), &y = m_.value(b);
      if (!x.def || !y.def) return !x.def && y.def;
      return x.def != y.def ? m_.before(x.def, y.def) : x.def_slot < y.def_slot;
    };
    std::ranges::stable_sort(part_.inputs, by_definition);
    put_first(part_.inputs, positions_.inputs);
    put_first(part_.initializers, positions_.initializers);
    put_first(part_.outputs, positions_.outputs);
    std::ranges::sort(functions_);
    part_.functions = std::move(functions_);
    for (const OpsetImport& o : m_.opset_tables[0])
      if (o.domain == kEmptyName || domains_.contains(o.domain)) part_.opsets.push_back(o);
  }

  const Model& m_;
  const PartMaker::Positions& positions_;
  ModelPart part_;
  std::unordered_set<NodeId> inside_;
  std::unordered_set<ValueId> seen_;  // values of the main graph that the part reads
  std::unordered_set<NameId> domains_;
  std::unordered_set<FunctionId> called_;
  std::vector<FunctionId> functions_;
};

}  // namespace

PartMaker::PartMaker(const Model& m) : m_(m) {
  const auto note = [&m](std::vector<std::uint32_t>& positions, std::size_t count, auto value) {
    positions.resize(m.value_count());
    for (std::size_t i = count; i-- > 0;)  // a value may be several outputs: the first one counts
      if (const ValueId v = value(i)) positions[v.index()] = static_cast<std::uint32_t>(i) + 1;
  };
  const auto inputs = m.graph_inputs(m.main());
  const auto& initializers = m.graph(m.main()).initializers;
  note(positions_.inputs, inputs.size(), [&](std::size_t i) { return inputs[i]; });
  note(positions_.initializers, initializers.size(), [&](std::size_t i) { return initializers[i]; });
  note(positions_.outputs, m.graph_output_count(m.main()),
       [&m](std::size_t i) { return m.graph_output(m.main(), i); });
}

ModelPart PartMaker::part_of(std::vector<NodeId> nodes) const {
  return PartFinder(m_, positions_, std::move(nodes)).run();
}

ModelPart part_of(const Model& m, std::vector<NodeId> nodes) {
  return PartMaker(m).part_of(std::move(nodes));
}

}  // namespace graphopt
