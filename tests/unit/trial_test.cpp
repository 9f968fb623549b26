// Trials of a model: what is undone leaves no trace in the graph, and what is kept is as without a trial.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "ir/model.h"
#include "ir/print.h"
#include "ir/verify.h"

namespace graphopt {
namespace {

constexpr std::size_t kGraphs = 2;  // the main one, and the body of an If

// A model with a body, and random changes by every mutator.
struct Changing {
  Model m;
  OpId add, relu, choose;
  std::vector<ValueId> values;
  NodeId owner;
  GraphId body;
  std::mt19937 rng;

  explicit Changing(unsigned seed) : rng(seed) {
    m.ir_version = 8;
    add = m.intern_op(OpKind::Add, "", "Add");
    relu = m.intern_op(OpKind::Relu, "", "Relu");
    choose = m.intern_op(OpKind::If, "", "If");
    values.push_back(m.add_input(m.main(), m.names.intern("x")));
    values.push_back(m.add_initializer(m.main(), "c", m.make_int64(3)));
    for (int i = 0; i < 25; ++i) append();
    const std::array<ValueId, 1> condition{values[0]};
    owner = m.add_node_like(m.main(), choose, condition, 1, "chosen");
    body = m.add_graph(owner, m.names.intern("then_branch"), 0);
    Attr a;
    a.name = m.names.intern("then_branch");
    a.kind = AttrKind::Graph;
    const std::array<GraphId, 1> graphs{body};
    a.graphs = m.keep(std::span<const GraphId>(graphs));
    m.set_attr(owner, a);
    const std::array<ValueId, 2> captured{values[3], values[4]};
    const NodeId inner = m.add_node_like(body, add, captured, 1, "inner");
    m.add_initializer(body, "in_body", m.make_int64(1));
    const std::array<ValueId, 1> result{m.output(inner, 0)};
    m.set_graph_outputs(body, result);
    const std::array<ValueId, 2> outputs{values.back(), m.output(owner, 0)};
    m.set_graph_outputs(m.main(), outputs);
  }

  std::size_t below(std::size_t n) { return rng() % n; }
  ValueId any() { return values[below(values.size())]; }
  ValueId earlier(ValueId v) {  // alive, and defined before v
    for (int tries = 0; tries < 20; ++tries) {
      const ValueId u = any();
      if (!m.alive(u) || m.value(u).graph != m.main()) continue;
      if (!m.value(u).def || (m.value(v).def && m.before(m.value(u).def, m.value(v).def))) return u;
    }
    return values[0];
  }
  void append() {
    const std::array<ValueId, 2> in{any(), any()};
    if (!m.alive(in[0]) || !m.alive(in[1])) return;
    values.push_back(m.output(m.add_node_like(m.main(), add, in, 1, "n"), 0));
  }

  void change() {
    const ValueId v = any();
    if (!m.alive(v) || !m.value(v).def || m.value(v).graph != m.main()) return append();
    const NodeId n = m.value(v).def;
    switch (below(15)) {
      case 0: m.set_operand(n, below(std::max<std::size_t>(m.input_count(n), 1)), earlier(v)); break;
      case 1:
        if (const ValueId to = earlier(v); m.can_replace(v, to)) m.replace_all_uses(v, to);
        break;
      case 2:
        if (m.use_count(v) == 0) m.erase(n);
        break;
      case 3: {
        std::vector<ValueId> operands(1 + below(4));
        for (ValueId& o : operands) o = earlier(v);
        m.set_operands(n, operands);
        break;
      }
      case 4: m.set_overwrites(n, below(4)); break;
      case 5: m.set_op(n, below(2) != 0 ? relu : add); break;
      case 6:
        m.set_attr_int(n, m.names.intern("a" + std::to_string(below(3))), std::int64_t(below(9)));
        break;
      case 7: m.remove_attr(n, m.names.intern("a1")); break;
      case 8:
        if (!m.is_graph_output(v)) m.make_constant(v, m.make_int64(7));
        break;
      case 9: {
        const std::array<ValueId, 2> in{earlier(v), earlier(v)};
        values.push_back(m.output(m.add_node_like(m.main(), add, in, 1, "before", n), 0));
        break;
      }
      case 10:
        values.push_back(m.add_initializer(m.main(), "k", m.make_int64(std::int64_t(below(5)))));
        break;
      case 11: m.rename(n, m.names.intern("node" + std::to_string(below(99)))); break;
      case 12: m.retype(v, m.fresh_name("other")); break;
      case 13:
        if (m.alive(owner) && m.graph(body).alive && below(4) == 0) {
          NameHolders holders = m.count_names();
          const ValueId result = m.graph_output(body, 0);
          m.inline_subgraph(body, holders);
          values.push_back(result);
        }
        break;
      case 14:
        if (m.alive(owner) && m.use_count(m.output(owner, 0)) == 0) m.erase(owner);
        break;
    }
  }

  // All that readers see: the text, the order of uses, positions, marks and counts.
  std::string state() const {
    std::string out = print(m);
    for (std::size_t i = 0; i < m.value_count(); ++i) {
      const Value& v = m.value(ValueId{i});
      if (!v.alive) continue;
      out += "\nv" + std::to_string(i) + " " + std::string(m.text(v.name)) + (v.is_initializer ? " i" : "") +
             (m.is_overwritten(ValueId{i}) ? " w" : "") + (v.info_stale ? " s" : "");
      for (UseId u = v.first_use; u; u = m.next_use(u))
        out += " " + std::to_string(m.user(u).index()) + ":" + std::to_string(m.slot(u));
    }
    for (std::size_t i = 0; i < m.node_count(); ++i) {
      const Node& n = m.node(NodeId{i});
      if (!n.alive) continue;
      out += "\nn" + std::to_string(i) + " " + std::to_string(n.order) + (n.dirty ? " d" : "") + " " +
             std::string(m.text(n.name)) + " " + std::to_string(n.overwrites);
    }
    for (std::size_t g = 0; g < kGraphs; ++g) {
      out += "\ng" + std::to_string(g) + (m.graph(GraphId{g}).alive ? " " : " gone ") +
             std::to_string(m.graph(GraphId{g}).node_count);
      for (const ValueId v : m.graph(GraphId{g}).initializers) out += " " + std::to_string(v.index());
    }
    for (const OpKind k : {OpKind::Add, OpKind::Relu, OpKind::If})
      out += " " + std::to_string(m.live_node_count(k));
    return out + " " + std::to_string(m.live_node_count());
  }
};

TEST(Trial, UndoingLeavesTheModelAsItWas) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Changing c(seed);
    for (int trial = 0; trial < 40; ++trial) {
      for (std::size_t k = c.below(4); k > 0; --k) c.change();
      ASSERT_FALSE(verify(c.m)) << "seed " << seed << ": " << to_string(*verify(c.m));
      const std::string before = c.state();
      const std::size_t known = c.values.size();
      c.m.begin_trial();
      for (std::size_t k = 1 + c.below(12); k > 0; --k) c.change();
      const std::string after = c.state();
      c.m.swap_trial();
      c.m.swap_trial();
      ASSERT_EQ(c.state(), after) << "seed " << seed << " trial " << trial;
      if (c.below(3) == 0) {
        c.m.keep_trial();
        ASSERT_EQ(c.state(), after);
      } else {
        c.m.undo_trial();
        c.values.resize(known);
        ASSERT_EQ(c.state(), before) << "seed " << seed << " trial " << trial;
      }
      ASSERT_FALSE(verify(c.m)) << "seed " << seed << " trial " << trial << ": " << to_string(*verify(c.m));
    }
  }
}

TEST(Trial, ChangesAreToldApart) {
  Changing c(1);
  const NodeId second = c.m.next_node(c.m.first_node(c.m.main())), third = c.m.next_node(second);
  const NodeId fourth = c.m.next_node(third);
  c.m.begin_trial();
  c.m.set_op(second, c.relu);
  c.m.set_attr_int(second, c.m.names.intern("a"), 1);
  c.m.set_operand(third, 0, c.values[1]);
  c.m.rename(fourth, c.m.names.intern("another"));  // no change of what it computes
  const std::array<ValueId, 1> in{c.values[0]};
  const NodeId made = c.m.add_node_like(c.m.main(), c.relu, in, 1, "made");
  const NodeId unused = c.m.add_node_like(c.m.main(), c.relu, in, 1, "unused");
  c.m.erase(unused);
  const TrialChanges changes = c.m.trial_changes();
  EXPECT_EQ(changes.added, std::vector<NodeId>{made});
  EXPECT_EQ(changes.changed, std::vector<NodeId>{second});
  EXPECT_EQ(changes.rewired, std::vector<NodeId>{third});
  EXPECT_TRUE(changes.erased.empty());
  c.m.undo_trial();
  EXPECT_EQ(c.m.node(second).op, c.add);
  EXPECT_FALSE(c.m.alive(made));
}

TEST(Trial, ReadersOfANewConstantAreRewired) {
  Changing c(2);
  const NodeId first = c.m.first_node(c.m.main());
  const ValueId v = c.m.output(first, 0);
  const std::array<ValueId, 2> in{v, v};
  const NodeId reader = c.m.add_node_like(c.m.main(), c.add, in, 1, "reader");
  c.m.begin_trial();
  c.m.make_constant(v, c.m.make_int64(1));
  EXPECT_TRUE(std::ranges::count(c.m.trial_changes().rewired, reader) == 1);
  c.m.undo_trial();
  EXPECT_EQ(c.m.value(v).def, first);
}

}  // namespace
}  // namespace graphopt
