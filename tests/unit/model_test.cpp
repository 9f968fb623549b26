// The model's mutators keep use lists, order and ownership; the verifier sees when something is broken.

#include "ir/model.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "ir/print.h"
#include "ir/reader_access.h"
#include "ir/verify.h"

namespace graphopt {
namespace {

struct Small {
  Model m;
  OpId relu, add;
  ValueId x;

  Small() {
    m.ir_version = 8;
    relu = m.intern_op(OpKind::Relu, "", "Relu");
    add = m.intern_op(OpKind::Add, "", "Add");
    x = m.add_input(m.main(), m.names.intern("x"));
  }
  ValueId node(OpId op, std::vector<ValueId> in, std::string_view out, NodeId before = {}) {
    const ValueId outs[] = {m.add_value(m.main(), m.names.intern(out))};
    m.add_node(m.main(), op, in, outs, before);
    return outs[0];
  }
  void outputs(std::vector<ValueId> v) { m.set_graph_outputs(m.main(), v); }
  std::string name(ValueId v) const { return std::string(m.text(m.value(v).name)); }
};

#define EXPECT_SOUND(m) EXPECT_FALSE(verify(m)) << to_string(*verify(m))

TEST(Model, UsesFollowOperands) {
  Small s;
  const ValueId a = s.node(s.relu, {s.x}, "a");
  const ValueId b = s.node(s.add, {a, a}, "b");
  s.outputs({b});
  EXPECT_EQ(s.m.use_count(a), 2u);
  EXPECT_EQ(s.m.use_count(b), 1u);
  EXPECT_TRUE(s.m.is_graph_output(b));
  EXPECT_FALSE(s.m.single_user(a).valid());  // two uses, though by one node
  EXPECT_FALSE(s.m.single_user(b).valid());  // its only user is the return node
  EXPECT_SOUND(s.m);
  s.m.set_operand(s.m.value(b).def, 1, s.x);
  EXPECT_EQ(s.m.use_count(a), 1u);
  EXPECT_EQ(s.m.single_user(a), s.m.value(b).def);
  EXPECT_SOUND(s.m);
}

TEST(Model, ReplacingAnOutputKeepsItsName) {
  Small s;
  const ValueId a = s.node(s.relu, {s.x}, "a");
  const ValueId y = s.node(s.relu, {a}, "y");
  s.outputs({y});
  ASSERT_TRUE(s.m.can_replace(y, a));
  s.m.replace_all_uses(y, a);
  EXPECT_EQ(s.name(a), "y");
  EXPECT_EQ(s.m.graph_output(s.m.main(), 0), a);
  s.m.erase(s.m.value(y).def);
  EXPECT_SOUND(s.m);
  EXPECT_EQ(s.m.live_node_count(), 1u);
}

TEST(Model, CountsItsNodesByKind) {
  Small s;
  const ValueId a = s.node(s.relu, {s.x}, "a");
  const ValueId b = s.node(s.add, {a, a}, "b");
  const ValueId c = s.node(s.relu, {b}, "c");
  s.outputs({c});
  const auto counts = [&s] {
    return std::array{s.m.live_node_count(OpKind::Relu), s.m.live_node_count(OpKind::Add)};
  };
  using Counts = std::array<std::size_t, 2>;
  EXPECT_EQ(counts(), (Counts{2, 1}));
  s.m.set_op(s.m.value(b).def, s.add);
  EXPECT_EQ(counts(), (Counts{2, 1}));
  s.m.set_operands(s.m.value(b).def, std::array{a});
  s.m.set_op(s.m.value(b).def, s.relu);
  EXPECT_EQ(counts(), (Counts{3, 0}));
  s.outputs({b});
  s.m.erase(s.m.value(c).def);
  EXPECT_EQ(counts(), (Counts{2, 0}));
  EXPECT_SOUND(s.m);
}

TEST(Model, InterfaceNamesAreNotGivenAway) {
  Small s;
  const ValueId y = s.node(s.relu, {s.x}, "y");
  const ValueId z = s.node(s.relu, {s.x}, "z");
  s.outputs({y, z});
  EXPECT_FALSE(s.m.can_replace(y, s.x));  // an input cannot take an output's name
  EXPECT_FALSE(s.m.can_replace(y, z));    // nor can another output
  EXPECT_FALSE(s.m.can_replace(y, y));
  ReaderAccess::value(s.m, z).pinned = true;
  EXPECT_FALSE(s.m.can_replace(z, y));
}

TEST(Model, AnInnerValueCannotReplaceAnOuterOne) {
  Small s;
  const OpId op = s.m.intern_op(OpKind::If, "", "If");
  const ValueId a = s.node(s.relu, {s.x}, "a");
  const ValueId y = s.node(op, {s.x}, "y");
  s.outputs({y});
  const NodeId n = s.m.value(y).def;
  const GraphId g = s.m.add_graph(n, s.m.names.intern("then_branch"), 0);
  Attr attr;
  attr.name = s.m.names.intern("then_branch");
  attr.kind = AttrKind::Graph;
  attr.graphs = s.m.keep(std::span<const GraphId>(&g, 1));
  s.m.set_attr(n, attr);
  const ValueId t = s.m.add_value(g, s.m.names.intern("t"));
  s.m.add_node(g, s.relu, std::vector{a}, std::vector{t});
  s.m.set_graph_outputs(g, std::vector{t});
  EXPECT_SOUND(s.m);
  EXPECT_TRUE(s.m.is_captured(a));
  EXPECT_FALSE(s.m.can_replace(a, t));
  EXPECT_FALSE(s.m.can_replace(t, a));  // a branch computes its results itself
  EXPECT_EQ(s.m.ancestor_in(s.m.main(), s.m.value(t).def), n);
  EXPECT_EQ(graph_path(s.m, g), "main/#4294967295.then_branch");
  const std::uint32_t uses = s.m.use_count(a);
  s.m.set_graph_outputs(s.m.main(), std::vector{a});
  s.m.erase(n);
  EXPECT_EQ(s.m.use_count(a), uses);  // the capture went, the output came
  EXPECT_FALSE(s.m.graph(g).alive);
  EXPECT_SOUND(s.m);
}

TEST(Model, AConstantKeepsNameAndUses) {
  Small s;
  const ValueId a = s.node(s.relu, {s.x}, "a");
  const ValueId b = s.node(s.add, {a, a}, "b");
  s.outputs({b});
  const NodeId def = s.m.value(a).def;
  const std::int64_t two[] = {1, 2};
  s.m.make_constant(a, s.m.make_int64s(two));
  EXPECT_EQ(s.name(a), "a");
  EXPECT_EQ(s.m.use_count(a), 2u);
  EXPECT_TRUE(s.m.constant_of(a).valid());
  EXPECT_FALSE(s.m.output(def, 0).valid());
  s.m.erase(def);
  EXPECT_SOUND(s.m);
  ReaderAccess::value(s.m, a).is_input = true;  // an overridable default is no constant
  EXPECT_FALSE(s.m.constant_of(a).valid());
}

TEST(Model, FreshNamesNeverClash) {
  Small s;
  s.node(s.relu, {s.x}, "a");
  s.node(s.relu, {s.x}, "a_1");
  EXPECT_EQ(s.m.text(s.m.fresh_name("b")), "b");
  EXPECT_EQ(s.m.text(s.m.fresh_name("a")), "a_2");
  EXPECT_EQ(s.m.text(s.m.fresh_name("a")), "a_3");
  EXPECT_EQ(s.m.text(s.m.fresh_name("")), "v");
}

TEST(Model, ContentHashSeesTypeDimsAndBytes) {
  Small s;
  const std::int64_t two[] = {2}, one_two[] = {1, 2};
  const TensorId a = s.m.make_tensor(DType::Int32, two, std::string(8, 'a'));
  const TensorId same = s.m.make_tensor(DType::Int32, two, std::string(8, 'a'));
  const TensorId type = s.m.make_tensor(DType::Float, two, std::string(8, 'a'));
  const TensorId dims = s.m.make_tensor(DType::Int32, one_two, std::string(8, 'a'));
  const TensorId bytes = s.m.make_tensor(DType::Int32, two, std::string(8, 'b'));
  EXPECT_EQ(s.m.content_hash(a), s.m.content_hash(same));
  for (const TensorId other : {type, dims, bytes}) EXPECT_NE(s.m.content_hash(a), s.m.content_hash(other));
}

// Order keys: ten thousand insertions at one place use up every gap many times.
TEST(Model, OrderSurvivesInsertionAtOnePlace) {
  Small s;
  const ValueId a = s.node(s.relu, {s.x}, "a");
  const ValueId y = s.node(s.relu, {a}, "y");
  s.outputs({y});
  const NodeId last = s.m.value(y).def;
  NodeId previous = s.m.value(a).def;
  for (int i = 0; i < 10'000; ++i) {
    const NodeId n = s.m.add_node_like(s.m.main(), s.relu, std::vector{s.x}, 1, "i", last);
    ASSERT_TRUE(s.m.before(previous, n) && s.m.before(n, last));
    previous = n;
  }
  EXPECT_SOUND(s.m);
}

// Random changes against a plain model of the same graph: lists of operands, recomputed from scratch.
TEST(Model, RandomMutationsKeepTheInvariants) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 rng(seed);
    Small s;
    std::vector<ValueId> values{s.x};
    const auto pick = [&](std::size_t limit) { return values[rng() % std::min(limit, values.size())]; };
    for (int i = 0; i < 60; ++i)
      values.push_back(s.node(s.add, {pick(99), pick(99)}, "n" + std::to_string(i)));
    s.outputs({values.back()});
    for (int step = 0; step < 200; ++step) {
      const std::size_t at = 1 + rng() % (values.size() - 1);
      const ValueId v = values[at];
      if (!s.m.alive(v) || !s.m.value(v).def) continue;
      switch (rng() % 5) {
        case 0: {
          const ValueId to = pick(at);
          const std::size_t slots = s.m.input_count(s.m.value(v).def);
          if (s.m.alive(to) && slots > 0) s.m.set_operand(s.m.value(v).def, rng() % slots, to);
          break;
        }
        case 1: {
          const ValueId to = pick(at);
          if (s.m.alive(to) && s.m.can_replace(v, to)) s.m.replace_all_uses(v, to);
          break;
        }
        case 2:
          if (s.m.use_count(v) == 0) s.m.erase(s.m.value(v).def);
          break;
        case 3: {
          std::vector<ValueId> operands;
          for (auto k = rng() % 5; k > 0; --k)
            if (const ValueId to = pick(at); s.m.alive(to)) operands.push_back(to);
          s.m.set_operands(s.m.value(v).def, operands);
          break;
        }
        case 4: s.m.set_overwrites(s.m.value(v).def, rng() % 4); break;
      }
      ASSERT_FALSE(verify(s.m)) << "seed " << seed << " step " << step << ": " << to_string(*verify(s.m));
    }
  }
}

// Only builds that check them: the released one trusts its callers.
#ifndef NDEBUG
TEST(ModelDeathTest, PreconditionsOfMutatorsAreChecked) {
  Small s;
  const ValueId a = s.node(s.relu, {s.x}, "a"), y = s.node(s.relu, {a}, "y");
  s.outputs({y});
  const NodeId first = s.m.value(a).def, last = s.m.value(y).def;
  const TensorId one = s.m.make_int64(1);
  const ValueId w = s.m.add_initializer(s.m.main(), "w", one);
  const ValueId results[] = {a};
  const char* const kAssertion = "Assertion";
  EXPECT_DEATH(s.m.replace_all_uses(y, s.x), kAssertion) << "an input cannot take the name of an output";
  EXPECT_DEATH(s.m.erase(first), kAssertion) << "its result is read";
  EXPECT_DEATH(s.m.make_constant(s.x, one), kAssertion) << "no node makes it";
  EXPECT_DEATH(s.m.add_node(s.m.main(), s.relu, {}, results), kAssertion) << "another node makes it";
  EXPECT_DEATH(s.m.attach_output(last, 0, w), kAssertion) << "the slot is not empty";
  EXPECT_DEATH(s.m.set_operand(last, 1, w), kAssertion) << "there is no such operand";
  EXPECT_DEATH(s.m.move_before(first, first), kAssertion);
  s.m.set_operand(last, 0, w);
  EXPECT_DEATH(s.m.erase_initializer(w), kAssertion) << "it is read";
  s.m.erase(first);
  EXPECT_DEATH(s.m.erase(first), kAssertion) << "it is gone";
  EXPECT_DEATH(s.m.set_operand(last, 0, a), kAssertion) << "it is gone";
}
#endif

TEST(Verify, NamesWhatIsBroken) {
  Small s;
  const ValueId a = s.node(s.relu, {s.x}, "a");
  const ValueId b = s.node(s.relu, {a}, "b");
  s.outputs({b});
  s.m.move_before(s.m.value(b).def, s.m.value(a).def);
  ASSERT_TRUE(verify(s.m));
  EXPECT_NE(to_string(*verify(s.m)).find("before the definition of 'a'"), std::string::npos)
      << to_string(*verify(s.m));
  s.m.move_before(s.m.value(a).def, s.m.value(b).def);
  EXPECT_SOUND(s.m);
  ReaderAccess::value(s.m, a).use_count = 7;
  EXPECT_TRUE(verify(s.m));
}

TEST(Print, WritesOnnxText) {
  Small s;
  s.m.opset_tables[0].push_back({kEmptyName, 17});
  const std::int64_t dims[] = {2};
  const float values[] = {1.5f, -2.0f};
  const TensorId t =
      s.m.make_tensor(DType::Float, dims, std::string(reinterpret_cast<const char*>(values), 8));
  const ValueId w = s.m.add_initializer(s.m.main(), "w", t);
  const ValueId y = s.node(s.add, {s.x, w}, "y");
  s.outputs({y});
  s.m.set_attr_int(s.m.value(y).def, s.m.names.intern("axis"), -1);
  EXPECT_EQ(print(s.m),
            "<ir_version: 8, opset_import: [\"\" : 17]>\n"
            "g (x) => (y)\n"
            "<float[2] w = {1.5, -2}>\n"
            "{\n"
            "  y = Add <axis = -1> (x, w)\n"
            "}\n");
}

}  // namespace
}  // namespace graphopt
