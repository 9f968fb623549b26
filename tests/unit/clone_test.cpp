// A clone is the same model under the same ids, and what is done to one is not seen in the other.

#include <gtest/gtest.h>

#include <string>

#include "infer/infer.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "onnx/reader.h"
#include "saved_model.h"
#include "support/string_pool.h"

namespace graphopt {
namespace {

Model load(const std::string& text) {
  return loaded(parse_model("<ir_version: 10, opset_import: [\"\" : 21, \"own\" : 1]>\n" + text));
}

constexpr const char* kModel = R"(
g (float[N,4] x, bool c) => (float[P,4] y) <float[4] w = {1, 2, 3, 4}, string[2] s = {"a", "b"}> {
  a = Add (x, w)
  b = own.twice (a)
  y = If (c) <then_branch = t () => (float[N,4] u) { u = Mul (b, w) },
              else_branch = e () => (float[N,4] v) { v = LeakyRelu <alpha = 0.5> (b) }>
}
<opset_import: ["" : 21], domain: "own"> twice (p) => (q) { q = Add (p, p) }
)";

ValueId named(const Model& m, std::string_view name) {
  for (std::size_t i = 0; i < m.value_count(); ++i)
    if (m.alive(ValueId{i}) && m.text(m.value(ValueId{i}).name) == name) return ValueId{i};
  return {};
}

TEST(Clone, IsTheSameModel) {
  const Model m = load(kModel);
  const Model copy = m.clone();
  EXPECT_EQ(print(copy), print(m));
  EXPECT_FALSE(verify(copy)) << to_string(*verify(copy));
  EXPECT_EQ(copy.live_node_count(), m.live_node_count());
}

TEST(Clone, SharesTheBytesOfWeightsAndNothingThatIsWritten) {
  const Model m = load(kModel);
  const TensorId read = m.value(named(m, "w")).tensor;
  ASSERT_TRUE(m.raw(read));
  const Model copy = m.clone();
  EXPECT_EQ(copy.raw(read)->data(), m.raw(read)->data());
  for (const char* name : {"w", "s"}) {
    const TensorId t = m.value(named(m, name)).tensor;
    EXPECT_NE(&m.tensor(t), &copy.tensor(t)) << name;
    copy.content_hash(t);
    EXPECT_TRUE(copy.tensor(t).hash && !m.tensor(t).hash) << name;
  }
}

TEST(Clone, OutlivesTheOriginalWithWhatItMade) {
  Model copy;
  {
    Model m = load(kModel);
    const NodeId a = m.first_node(m.main());
    m.set_attr_ints(a, m.names.intern("made_here"), std::vector<std::int64_t>{7, 8, 9});
    copy = m.clone();
  }
  const Attr* made = copy.find_attr(copy.first_node(copy.main()), copy.names.find("made_here"));
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(std::vector<std::int64_t>(made->ints.begin(), made->ints.end()),
            (std::vector<std::int64_t>{7, 8, 9}));
  EXPECT_EQ(copy.strings(copy.value(named(copy, "s")).tensor)->at(1), "b");
}

TEST(Clone, ChangesStayApart) {
  Model m = load(kModel);
  const std::string before = print(m);
  Model copy = m.clone();
  const NodeId a = copy.first_node(copy.main());
  copy.set_operand(a, 1, copy.input(a, 0));
  copy.add_initializer(copy.main(), "more", copy.make_int64s(std::vector<std::int64_t>{5}));
  EXPECT_EQ(print(m), before);
  const std::string changed = print(copy);
  m.set_operand(m.next_node(m.first_node(m.main())), 0, m.graph_inputs(m.main())[0]);
  m.add_initializer(m.main(), "other", m.make_int64s(std::vector<std::int64_t>{6}));
  EXPECT_EQ(print(copy), changed);
  EXPECT_FALSE(verify(m)) << to_string(*verify(m));
  EXPECT_FALSE(verify(copy)) << to_string(*verify(copy));
}

TEST(Clone, ASymbolThatIsBoundInOneStaysOpenInTheOther) {
  Model m = load(kModel);
  Model copy = m.clone();
  Inference bound(copy, {.ranges = {{"N", {3, 3}}}, .shapes = {}});
  bound.run();
  Inference open(m, {});
  open.run();
  const ValueId y = named(m, "y");
  EXPECT_EQ(copy.dims.value(bound.dims(y)[0]), 3);
  EXPECT_FALSE(m.dims.value(open.dims(y)[0]).has_value());
  EXPECT_EQ(m.dims.print(open.dims(y)[0]), "N");
}

TEST(Clone, FreshNamesGoOnInBoth) {
  Model m = load(kModel);
  EXPECT_EQ(m.text(m.fresh_name("a")), "a_1");
  Model copy = m.clone();
  EXPECT_EQ(copy.text(copy.fresh_name("a")), "a_2");
  EXPECT_EQ(m.text(m.fresh_name("a")), "a_2");
}

TEST(Clone, PoolsGrowApart) {
  StringPool names;
  for (int i = 0; i < 5000; ++i) names.intern("name" + std::to_string(i));  // more than one chunk
  StringPool copy = names.clone();
  const NameId here = names.intern("only here"), there = copy.intern("only there");
  EXPECT_EQ(here, there);  // the same place in two pools
  EXPECT_EQ(names.text(here), "only here");
  EXPECT_EQ(copy.text(there), "only there");
  EXPECT_FALSE(names.find("only there").valid());
  EXPECT_EQ(copy.find("name4999"), names.find("name4999"));

  DimPool dims;
  TypePool types;
  const DimId n = dims.symbol("N"), k = dims.symbol("K");
  for (std::int64_t i = 0; i < 3000; ++i) types.tensor(DType::Float, std::vector<DimId>{n, dims.constant(i)});
  TypePool more_types = types.clone();
  DimPool more_dims = dims.clone();
  const TypeId t = types.tensor(DType::Int8), u = more_types.tensor(DType::Double);
  EXPECT_EQ(t, u);
  EXPECT_EQ(types[t].elem, DType::Int8);
  EXPECT_EQ(more_types[u].elem, DType::Double);
  EXPECT_EQ(more_types.tensor(DType::Int8), TypeId{u.index() + 1});
  EXPECT_EQ(more_dims.find_symbol("K"), k);
  EXPECT_TRUE(dims.assert_equal(n, k));
  EXPECT_EQ(dims.equal(n, k), Tri::Yes);
  EXPECT_EQ(more_dims.equal(n, k), Tri::Unknown);
  EXPECT_EQ(more_dims.symbol("M").index(), dims.symbol("M").index());
}

}  // namespace
}  // namespace graphopt
