// When two nodes have the same attributes, when one has its default, and which operands a node writes.
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "ir/model.h"
#include "ops/node_facts.h"
#include "ops/same_attributes.h"

namespace graphopt {
namespace {

struct Bench {
  Bench() { m.opset_tables[0] = {{kEmptyName, 21}}; }

  NodeId node(OpKind kind, const std::vector<Attr>& attrs) {
    const ValueId out[] = {m.add_value(m.main(), m.fresh_name("result"))};
    const NodeId n = m.add_node(m.main(), standard_op(m, kind), {}, out);
    for (const Attr& a : attrs) m.set_attr(n, a);
    return n;
  }
  Attr attr(std::string_view name, AttrKind kind) {
    Attr a;
    a.name = m.names.intern(name);
    a.kind = kind;
    return a;
  }
  Attr of(std::string_view name, std::int64_t v) {
    Attr a = attr(name, AttrKind::Int);
    a.i = v;
    return a;
  }
  Attr of(std::string_view name, float v) {
    Attr a = attr(name, AttrKind::Float);
    a.f = v;
    return a;
  }
  Attr of(std::string_view name, std::string_view v) {
    Attr a = attr(name, AttrKind::String);
    a.s = m.keep(v);
    return a;
  }
  Attr ref(std::string_view name, AttrKind kind, std::string_view from) {
    Attr a = attr(name, kind);
    a.ref = m.names.intern(from);
    return a;
  }
  bool same(OpKind kind, const std::vector<Attr>& a, const std::vector<Attr>& b) {
    return same_attributes(m, node(kind, a), node(kind, b));
  }

  Model m;
};

TEST(SameAttributes, ReferencesAreTheSameByName) {
  Bench b;
  const Attr k = b.ref("axis", AttrKind::Int, "k"), l = b.ref("axis", AttrKind::Int, "l");
  EXPECT_TRUE(b.same(OpKind::Gather, {k}, {k}));
  EXPECT_FALSE(b.same(OpKind::Gather, {k}, {l}));
  EXPECT_FALSE(b.same(OpKind::Gather, {k}, {b.of("axis", std::int64_t{0})}));
  EXPECT_FALSE(b.same(OpKind::Gather, {b.of("axis", std::int64_t{0})}, {k}));
  EXPECT_FALSE(b.same(OpKind::Gather, {k}, {}));  // the caller may give another number than the default
}

TEST(SameAttributes, AnAbsentOneHasItsDefault) {
  Bench b;
  const auto zero = std::int64_t{0}, one = std::int64_t{1};
  EXPECT_TRUE(b.same(OpKind::Gather, {b.of("axis", zero)}, {}));
  EXPECT_TRUE(b.same(OpKind::Gather, {}, {b.of("axis", zero)}));
  EXPECT_FALSE(b.same(OpKind::Gather, {b.of("axis", one)}, {}));
  EXPECT_FALSE(b.same(OpKind::Gather, {}, {b.of("axis", one)}));
  EXPECT_FALSE(b.same(OpKind::Gather, {b.of("unheard", zero)}, {}));
  EXPECT_TRUE(b.same(OpKind::Elu, {b.of("alpha", 1.0f)}, {}));
  EXPECT_FALSE(b.same(OpKind::Elu, {b.of("alpha", 2.0f)}, {}));
  EXPECT_TRUE(b.same(OpKind::Gelu, {b.of("approximate", std::string_view("none"))}, {}));
  EXPECT_FALSE(b.same(OpKind::Gelu, {b.of("approximate", std::string_view("tanh"))}, {}));
}

// ONNX Runtime reads an attribute of another kind as no value of the one that it wants, or refuses it.
TEST(SameAttributes, ADefaultHasItsKind) {
  Bench b;
  const AttrFact number{.name = "a", .type = {}, .fallback = std::int64_t{0}};
  const AttrFact real{.name = "a", .type = {}, .fallback = 0.0f};
  const AttrFact text{.name = "a", .type = {}, .fallback = std::string_view()};
  const Attr i = b.of("a", std::int64_t{0}), f = b.of("a", 0.0f), s = b.of("a", std::string_view());
  EXPECT_TRUE(is_default_attribute(&number, i));
  EXPECT_FALSE(is_default_attribute(&number, f));
  EXPECT_FALSE(is_default_attribute(&number, s));
  EXPECT_TRUE(is_default_attribute(&real, f));
  EXPECT_FALSE(is_default_attribute(&real, i));
  EXPECT_FALSE(is_default_attribute(&real, b.of("a", -0.0f)));
  EXPECT_TRUE(is_default_attribute(&text, s));
  EXPECT_FALSE(is_default_attribute(&text, i));
  EXPECT_FALSE(is_default_attribute(&number, b.ref("a", AttrKind::Int, "k")));
  EXPECT_FALSE(is_default_attribute(nullptr, i));
}

TEST(WrittenOperands, GoByTheOneAttribute) {
  Bench b;
  const auto zero = std::int64_t{0}, one = std::int64_t{1};
  const auto written = [&](const std::vector<Attr>& attrs, OpKind kind = OpKind::BatchNormalization) {
    return written_operands(b.m, b.node(kind, attrs));
  };
  EXPECT_EQ(written({}), 0u);
  EXPECT_EQ(written({b.of("training_mode", zero)}), 0u);
  EXPECT_EQ(written({b.of("training_mode", one)}), 0b11000u);  // mean and variance
  EXPECT_EQ(written({b.ref("training_mode", AttrKind::Int, "k")}), 0b11000u);
  EXPECT_EQ(written({b.of("spatial", one)}), 0u);
  EXPECT_EQ(written({b.of("spatial", one), b.of("training_mode", zero)}), 0u);
  EXPECT_EQ(written({b.of("training_mode", one)}, OpKind::Dropout), 0u);
}

}  // namespace
}  // namespace graphopt
