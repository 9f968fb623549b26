// Nodes made for every opset: onnx's checker accepts them, and they mean the parameters that were given.
#include "rewrite/build.h"

#include <gtest/gtest.h>
#include <onnx/checker.h>

#include <cmath>
#include <string>
#include <vector>

#include "infer_case.h"
#include "onnx/reader.h"
#include "onnx/writer.h"
#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/facts.h"
#include "saved_model.h"
#include "support/known_names.h"

namespace graphopt {
namespace {

using List = std::vector<std::int64_t>;

std::string header(int opset, int ir_version = 10) {
  return "<ir_version: " + std::to_string(ir_version) + ", opset_import: [\"\" : " + std::to_string(opset) +
         "]>";
}

class Build : public testing::Test {
 protected:
  // A model of x alone, whose result y is to become what `add` makes of x, at each opset from `first` on.
  template <class Add, class Check>
  void each_opset(int first, const std::string& type, const Add& add, const Check& check) {
    for (int opset = first; opset <= kNewestOpset; ++opset) {
      SCOPED_TRACE("opset " + std::to_string(opset));
      InferCase c("g (" + type + " x) => (float[] y) { y = Identity (x) }", {}, header(opset));
      Model& m = *c.model;
      const NodeId identity = c.node_of("y");
      const NodeId n = add(Site{m, m.main(), identity, "made"}, c.value("x"));
      ASSERT_TRUE(n);
      m.set_operand(identity, 0, m.output(n, 0));
      check(m, n, saved(m));
    }
  }
  // No opset below `first` can say it, and nothing is left of the attempt.
  template <class Add> void none_before(int first, const Add& add) {
    for (int opset = 1; opset < first; ++opset) {
      SCOPED_TRACE("opset " + std::to_string(opset));
      InferCase c("g (float[2,3,4] x) => (float[] y) { y = Identity (x) }", {}, header(opset));
      Model& m = *c.model;
      const std::size_t values = m.value_count(), tensors = m.tensor_count();
      EXPECT_FALSE(add(Site{m, m.main(), c.node_of("y"), "made"}, c.value("x")));
      EXPECT_EQ(m.value_count(), values);
      EXPECT_EQ(m.tensor_count(), tensors);
      EXPECT_EQ(m.live_node_count(), 1u);
    }
  }
  // The model as it is read from what is written. onnx's checker must accept that, with shape inference,
  // which refuses what contradicts the operators' schemas.
  std::unique_ptr<InferCase> saved(const Model& m) {
    const std::string bytes = saved_bytes(m);
    auto c = std::make_unique<InferCase>("g (float[1] x) => (float[] y) { y = Identity (x) }");
    std::vector<Warning> warnings;
    auto loaded = load_model_from_memory(bytes, "saved", "", warnings);
    EXPECT_TRUE(loaded.ok());
    c->facts.reset();
    *c->model = *std::move(loaded);
    c->facts = std::make_unique<Inference>(*c->model, InferOptions{});
    c->facts->run();
    check(bytes, *c);
    return c;
  }
  // Graph outputs need a rank: the inferred one, or that of x, which Split and Pad keep.
  static void check(const std::string& bytes, const InferCase& c) {
    onnx::ModelProto proto;
    EXPECT_TRUE(proto.ParseFromString(bytes));
    for (onnx::ValueInfoProto& output : *proto.mutable_graph()->mutable_output()) {
      const bool known = c.facts->has_rank(c.value(output.name()));
      auto* shape = output.mutable_type()->mutable_tensor_type()->mutable_shape();
      for (std::size_t i = c.facts->dims(c.value(known ? output.name() : "x")).size(); i > 0; --i)
        shape->add_dim();
    }
    try {
      onnx::checker::check_model(proto, true);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
};

std::string result_type(const InferCase& c, std::size_t k = 0) {
  const Model& m = *c.model;
  const ValueId y = m.input(c.node_of("y"), 0);
  return c.type(std::string(m.text(m.value(m.output(m.value(y).def, k)).name)));
}
// A parameter as the written model has it: the attribute, or the operand.
List list_of(const Model& m, NodeId n, NameId name, std::size_t slot) {
  const auto attribute = ints_attr(m, n, name);
  const auto operand = int_list(m, m.input(n, slot));
  EXPECT_NE(attribute.has_value(), operand.has_value());
  return attribute ? List(attribute->begin(), attribute->end()) : operand.value_or(List{});
}

TEST_F(Build, Split) {
  const List lengths = {1, 3};
  each_opset(
      1, "float[2,4]", [&](const Site& at, ValueId x) { return add_split(at, x, 1, lengths); },
      [&](const Model& m, NodeId n, const auto& c) {
        EXPECT_EQ(m.output_count(n), 2u);
        EXPECT_EQ(list_of(m, n, names::split, 1), lengths);
        EXPECT_EQ(int_attr(m, n, names::axis), 1);
        EXPECT_FALSE(has_attr(m, n, names::num_outputs));
        if (m.opset(n) < 2) return;  // inference knows no Split of opset 1
        EXPECT_EQ(result_type(*c), "float[2, 1]");
        EXPECT_EQ(result_type(*c, 1), "float[2, 3]");
      });
  none_before(11, [&](const Site& at, ValueId x) { return add_split(at, x, -1, lengths); });
  none_before(kNewestOpset, [&](const Site& at, ValueId x) { return add_split(at, x, 0, {}); });
}

TEST_F(Build, EvenSplit) {
  each_opset(
      1, "float[2,6]", [](const Site& at, ValueId x) { return add_even_split(at, x, 1, 3); },
      [](const Model& m, NodeId n, const auto& c) {
        EXPECT_EQ(m.output_count(n), 3u);
        EXPECT_EQ(m.input_count(n), 1u);
        EXPECT_EQ(int_attr(m, n, names::axis), 1);
        EXPECT_EQ(has_attr(m, n, names::num_outputs), m.opset(n) >= 18);
        if (m.opset(n) < 2) return;
        for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(result_type(*c, k), "float[2, 2]");
      });
  none_before(11, [](const Site& at, ValueId x) { return add_even_split(at, x, -1, 2); });
  none_before(kNewestOpset, [](const Site& at, ValueId x) { return add_even_split(at, x, 0, 0); });
}

TEST_F(Build, SqueezeAndUnsqueeze) {
  const List axes = {0, 2};
  each_opset(
      1, "float[1,3,1]", [&](const Site& at, ValueId x) { return add_squeeze(at, x, axes); },
      [&](const Model& m, NodeId n, const auto& c) {
        EXPECT_EQ(axes_of(m, n), axes);
        EXPECT_EQ(result_type(*c), "float[3]");
      });
  each_opset(
      1, "float[3]", [&](const Site& at, ValueId x) { return add_unsqueeze(at, x, axes); },
      [&](const Model& m, NodeId n, const auto& c) {
        EXPECT_EQ(axes_of(m, n), axes);
        EXPECT_EQ(result_type(*c), "float[1, 3, 1]");
      });
  const List last = {-1};
  each_opset(
      11, "float[3,1]", [&](const Site& at, ValueId x) { return add_squeeze(at, x, last); },
      [&](const Model&, NodeId, const auto& c) { EXPECT_EQ(result_type(*c), "float[3]"); });
  none_before(11, [&](const Site& at, ValueId x) { return add_squeeze(at, x, last); });
  none_before(11, [&](const Site& at, ValueId x) { return add_unsqueeze(at, x, last); });
  none_before(kNewestOpset, [](const Site& at, ValueId x) { return add_squeeze(at, x, {}); });
}

TEST_F(Build, Reductions) {
  const List axes = {0, 2};
  for (const OpKind kind : {OpKind::ReduceSum, OpKind::ReduceMean, OpKind::ReduceMax, OpKind::ReduceL2}) {
    SCOPED_TRACE(op_name(kind));
    each_opset(
        1, "float[2,3,4]", [&](const Site& at, ValueId x) { return add_reduction(at, kind, x, axes, false); },
        [&](const Model& m, NodeId n, const auto& c) {
          EXPECT_EQ(axes_of(m, n), axes);
          EXPECT_EQ(result_type(*c), "float[3]");
        });
    each_opset(
        1, "float[2,3,4]", [&](const Site& at, ValueId x) { return add_reduction(at, kind, x, axes, true); },
        [](const Model&, NodeId, const auto& c) { EXPECT_EQ(result_type(*c), "float[1, 3, 1]"); });
    each_opset(
        1, "float[2,3,4]", [&](const Site& at, ValueId x) { return add_reduction(at, kind, x, {}, true); },
        [](const Model& m, NodeId n, const auto& c) {
          EXPECT_FALSE(has_attr(m, n, names::axes) || m.input(n, 1));
          EXPECT_EQ(result_type(*c), "float[1, 1, 1]");
        });
  }
  const List last = {-1};
  none_before(11,
              [&](const Site& at, ValueId x) { return add_reduction(at, OpKind::ReduceSum, x, last, true); });
  for (const OpKind kind : {OpKind::ArgMax, OpKind::Relu, OpKind::Squeeze})
    none_before(kNewestOpset,
                [&](const Site& at, ValueId x) { return add_reduction(at, kind, x, {}, true); });
}

TEST_F(Build, Slice) {
  const List starts = {1, 0}, ends = {3, 2}, axes = {2, 1}, ones = {1, 1}, steps = {2, 1};
  each_opset(
      1, "float[2,3,4]",
      [&](const Site& at, ValueId x) { return add_slice(at, x, {starts, ends, axes, ones}); },
      [&](const Model& m, NodeId n, const auto& c) {
        EXPECT_EQ(list_of(m, n, names::starts, 1), starts);
        EXPECT_EQ(list_of(m, n, names::ends, 2), ends);
        EXPECT_EQ(axes_of(m, n), axes);
        EXPECT_FALSE(m.input(n, 4));
        EXPECT_EQ(result_type(*c), "float[2, 2, 2]");
      });
  each_opset(
      1, "float[4,3]", [&](const Site& at, ValueId x) { return add_slice(at, x, {starts, ends}); },
      [](const Model&, NodeId, const auto& c) { EXPECT_EQ(result_type(*c), "float[2, 2]"); });
  const auto stepped = [&](const Site& at, ValueId x) { return add_slice(at, x, {starts, ends, {}, steps}); };
  each_opset(10, "float[4,3]", stepped, [&](const Model& m, NodeId n, const auto& c) {
    EXPECT_EQ(int_list(m, m.input(n, 4)), steps);
    EXPECT_FALSE(m.input(n, 3));
    EXPECT_EQ(result_type(*c), "float[1, 2]");
  });
  none_before(10, stepped);
  const List one = {0}, last = {-1};
  none_before(11, [&](const Site& at, ValueId x) { return add_slice(at, x, {one, one, last}); });
  none_before(kNewestOpset, [&](const Site& at, ValueId x) { return add_slice(at, x, {starts, one}); });
  none_before(kNewestOpset, [&](const Site& at, ValueId x) { return add_slice(at, x, {starts, ends, one}); });
  none_before(kNewestOpset,
              [&](const Site& at, ValueId x) { return add_slice(at, x, {starts, ends, {}, one}); });
  none_before(kNewestOpset, [](const Site& at, ValueId x) { return add_slice(at, x, {{}, {}}); });
}

TEST_F(Build, Pad) {
  const List pads = {1, 0, 2, 3}, axes = {2, 0};
  each_opset(
      1, "float[2,3]", [&](const Site& at, ValueId x) { return add_pad(at, x, {.pads = pads}); },
      [&](const Model& m, NodeId n, const auto& c) {
        EXPECT_EQ(list_of(m, n, m.opset(n) < 2 ? names::paddings : names::pads, 1), pads);
        if (m.opset(n) >= 2) {
          EXPECT_EQ(result_type(*c), "float[5, 6]");
        }
      });
  each_opset(
      1, "float[2,3,4]",
      [&](const Site& at, ValueId x) { return add_pad(at, x, {.pads = pads, .axes = axes, .rank = 3}); },
      [&](const Model& m, NodeId n, const auto& c) {
        const bool named = m.opset(n) >= 18;
        EXPECT_EQ(list_of(m, n, m.opset(n) < 2 ? names::paddings : names::pads, 1),
                  named ? pads : (List{0, 0, 1, 3, 0, 2}));
        EXPECT_EQ(int_list(m, m.input(n, 3)), named ? std::optional(axes) : std::nullopt);
        if (m.opset(n) >= 2) {
          EXPECT_EQ(result_type(*c), "float[5, 3, 7]");
        }
      });
  none_before(18, [&](const Site& at, ValueId x) { return add_pad(at, x, {.pads = pads, .axes = axes}); });
  none_before(kNewestOpset, [&](const Site& at, ValueId x) {
    return add_pad(at, x, {.pads = pads, .axes = std::span(axes).first(1), .rank = 3});
  });
  none_before(kNewestOpset, [](const Site& at, ValueId x) { return add_pad(at, x, {}); });
  none_before(kNewestOpset,
              [&](const Site& at, ValueId x) { return add_pad(at, x, {.pads = std::span(pads).first(3)}); });
}

TEST_F(Build, PadModesAndValues) {
  const List pads = {1, 0, 1, 0};
  each_opset(
      1, "float[2,3]",
      [&](const Site& at, ValueId x) { return add_pad(at, x, {.pads = pads, .mode = "edge"}); },
      [](const Model& m, NodeId n, const auto&) { EXPECT_EQ(string_attr(m, n, names::mode), "edge"); });
  const auto wrap = [&](const Site& at, ValueId x) { return add_pad(at, x, {.pads = pads, .mode = "wrap"}); };
  each_opset(19, "float[2,3]", wrap, [](const Model& m, NodeId n, const auto&) {
    EXPECT_EQ(string_attr(m, n, names::mode), "wrap");
  });
  none_before(19, wrap);
  each_opset(
      1, "float[2,3]",
      [&](const Site& at, ValueId x) {
        return add_pad(at, x, {.pads = pads, .value = 2.5, .type = DType::Float});
      },
      [](const Model& m, NodeId n, const auto&) {
        if (m.opset(n) < 11) EXPECT_EQ(float_attr(m, n, names::value), 2.5f);
        else EXPECT_EQ(real_scalar(m, m.input(n, 2)), 2.5);
      });
  none_before(kNewestOpset, [&](const Site& at, ValueId x) {
    return add_pad(at, x, {.pads = pads, .value = 0.1, .type = DType::Float});
  });
}

TEST_F(Build, Clip) {
  each_opset(
      1, "float[2]", [](const Site& at, ValueId x) { return add_clip(at, x, DType::Float, -1, 6); },
      [](const Model& m, NodeId n, const auto& c) {
        const bool operands = m.opset(n) >= 11;
        if (operands) {
          EXPECT_EQ(real_scalar(m, m.input(n, 1)), -1.0);
          EXPECT_EQ(real_scalar(m, m.input(n, 2)), 6.0);
        } else {
          EXPECT_EQ(float_attr(m, n, names::min), -1.0f);
          EXPECT_EQ(float_attr(m, n, names::max), 6.0f);
        }
        EXPECT_EQ(m.attrs(n).size(), operands ? 0u : 2u);
        EXPECT_EQ(result_type(*c), "float[2]");
      });
  each_opset(
      1, "float[2]", [](const Site& at, ValueId x) { return add_clip(at, x, DType::Float, {}, 6); },
      [](const Model& m, NodeId n, const auto&) {
        EXPECT_FALSE(m.input(n, 1));
        EXPECT_FALSE(has_attr(m, n, names::min));
      });
  none_before(kNewestOpset, [](const Site& at, ValueId x) { return add_clip(at, x, DType::Float, 0.1, {}); });
  none_before(kNewestOpset, [](const Site& at, ValueId x) { return add_clip(at, x, DType::Float, {}, 0.1); });
}

TEST_F(Build, Operators) {
  const IntAttr along{names::axis, 1};
  const auto twice = [&](const Site& at, ValueId x) {
    const ValueId both[] = {x, x};
    return add_operator(at, OpKind::Concat, both, {&along, 1});
  };
  each_opset(4, "float[2,3]", twice, [](const Model& m, NodeId n, const auto& c) {
    EXPECT_EQ(m.attrs(n).size(), 1u);
    EXPECT_EQ(int_attr(m, n, names::axis), 1);
    EXPECT_EQ(m.text(m.value(m.output(n, 0)).name), "made");
    EXPECT_EQ(result_type(*c), "float[2, 6]");
  });
  none_before(kNewestOpset, [](const Site& at, ValueId x) {
    const ValueId three[] = {x, x, x};
    return add_operator(at, OpKind::Add, three);
  });
  none_before(kNewestOpset,
              [&](const Site& at, ValueId x) { return add_operator(at, OpKind::Neg, {&x, 1}, {&along, 1}); });
  none_before(9, [](const Site& at, ValueId x) { return add_operator(at, OpKind::Erf, {&x, 1}); });
}

TEST_F(Build, AnyNumberOfOperandsWhereTheOperatorTakesIt) {
  const IntAttr along{names::axis, 0};
  const auto many = [&](const Site& at, ValueId x) {
    return add_operator(at, OpKind::Concat, std::vector<ValueId>(300, x), {&along, 1});
  };
  each_opset(4, "float[2,3]", many,
             [](const Model&, NodeId, const auto& c) { EXPECT_EQ(result_type(*c), "float[600, 3]"); });
}

TEST_F(Build, SaysWhichListsAreOperands) {
  for (int opset = 1; opset <= kNewestOpset; ++opset) {
    SCOPED_TRACE("opset " + std::to_string(opset));
    InferCase c("g (float[2] x) => (float[] y) { y = Identity (x) }", {}, header(opset));
    const Model& m = *c.model;
    EXPECT_EQ(is_operand(m, m.main(), OpKind::Reshape, names::shape), opset >= 5);
    EXPECT_EQ(is_operand(m, m.main(), OpKind::Squeeze, names::axes), opset >= 13);
    EXPECT_EQ(is_operand(m, m.main(), OpKind::Split, names::split), opset >= 13);
  }
}

TEST_F(Build, Dropout) {
  each_opset(
      1, "float[2]", [](const Site& at, ValueId x) { return add_dropout(at, x, 0.3f); },
      [](const Model& m, NodeId n, const auto& c) {
        if (m.opset(n) < 12) EXPECT_EQ(float_attr(m, n, names::ratio), 0.3f);
        else EXPECT_EQ(real_scalar(m, m.input(n, 1)), static_cast<double>(0.3f));
        EXPECT_EQ(int_attr(m, n, names::is_test),
                  m.opset(n) < 7 ? std::optional<std::int64_t>(1) : std::nullopt);
        EXPECT_EQ(m.output_count(n), 1u);
        EXPECT_EQ(result_type(*c), "float[2]");
      });
}

TEST_F(Build, TopK) {
  each_opset(
      1, "float[2,5]", [](const Site& at, ValueId x) { return add_top_k(at, x, 3, 1); },
      [](const Model& m, NodeId n, const auto& c) {
        EXPECT_EQ(int_attr(m, n, names::axis), 1);
        EXPECT_EQ(has_attr(m, n, names::k), m.opset(n) < 10);
        EXPECT_EQ(result_type(*c), "float[2, 3]");
        EXPECT_EQ(result_type(*c, 1), "int64[2, 3]");
      });
  const auto smallest = [](const Site& at, ValueId x) { return add_top_k(at, x, 3, -1, false, false); };
  each_opset(11, "float[2,5]", smallest, [](const Model& m, NodeId n, const auto& c) {
    EXPECT_EQ(int_attr(m, n, names::largest), 0);
    EXPECT_EQ(int_attr(m, n, names::sorted), 0);
    EXPECT_EQ(result_type(*c), "float[2, 3]");
  });
  none_before(11, smallest);
}

TEST_F(Build, AGivenListIsReadWhereItIsAnOperand) {
  for (const int opset : {12, 13}) {
    InferCase c("g (float[2,4] x) => (float[] y) <int64[2] given = {1, 3}> { y = Identity (x) }", {},
                header(opset));
    Model& m = *c.model;
    const List lengths = {1, 3};
    const NodeId n =
        add_split({m, m.main(), c.node_of("y"), "parts", {}, c.value("given")}, c.value("x"), 1, lengths);
    ASSERT_TRUE(n);
    EXPECT_EQ(m.input(n, 1), opset == 13 ? c.value("given") : ValueId{});
    EXPECT_EQ(has_attr(m, n, names::split), opset == 12);
  }
}

TEST_F(Build, GivenResultsAreDefined) {
  InferCase c("g (float[2,4] x) => (float[] y) { s = Abs (x) y = Identity (s) }", {}, header(13));
  Model& m = *c.model;
  const NodeId abs = c.node_of("s");
  const ValueId s = m.detach_output(abs, 0), rest = m.add_value(m.main(), m.fresh_name("rest"));
  const ValueId results[] = {s, rest};
  const List lengths = {1, 3};
  const NodeId n = add_split({m, m.main(), abs, "parts", results}, c.value("x"), 1, lengths);
  ASSERT_TRUE(n);
  m.erase(abs);
  EXPECT_EQ(m.value(s).def, n);
  EXPECT_EQ(m.text(m.value(m.input(n, 1)).name), "parts_lengths");
  EXPECT_EQ(result_type(*saved(m)), "float[2, 1]");
  EXPECT_FALSE(add_squeeze({m, m.main(), {}, "parts", results}, c.value("x"), lengths)) << "two results";
  EXPECT_FALSE(add_squeeze({m, m.main(), {}, "parts"}, {}, lengths)) << "no operand";
  const ValueId both[] = {m.add_value(m.main(), m.fresh_name("kept")),
                          m.add_value(m.main(), m.fresh_name("mask"))};
  const NodeId dropout = add_dropout({m, m.main(), {}, "d", both}, c.value("x"), 0.5f);
  ASSERT_TRUE(dropout);
  EXPECT_EQ(m.output(dropout, 1), both[1]);
  (void)saved(m);
}

// The body of a function has its own opset, and a constant in it is written as a Constant node.
TEST_F(Build, InFunctions) {
  for (const int opset : {12, 13}) {
    InferCase c(
        "g (float[1,3] x) => (float[] y) { y = local.f (x) } <domain: \"local\", opset_import: [\"\" : " +
            std::to_string(opset) + "]> f (v) => (w) { w = Identity (v) }",
        {}, "<ir_version: 10, opset_import: [\"\" : 13, \"local\" : 1]>");
    Model& m = *c.model;
    const NodeId identity = c.node_of("w");
    const Site at{m, m.node(identity).graph, identity, "made"};
    const List axes = {0};
    const NodeId squeeze = add_squeeze(at, c.value("v"), axes);
    ASSERT_TRUE(squeeze);
    EXPECT_EQ(has_attr(m, squeeze, names::axes), opset == 12);
    const NodeId clip = add_clip(at, m.output(squeeze, 0), DType::Float, 0, {});
    ASSERT_TRUE(clip);
    m.set_operand(identity, 0, m.output(clip, 0));
    if (opset == 13) (void)saved(m);  // the checker admits no other opset of Squeeze beside the model's
  }
}

// Before IR version 4 a constant is written as a Constant node.
TEST_F(Build, WithoutInitializers) {
  InferCase c("g (float[1,3] x) => (float[] y) { y = Identity (x) }", {}, header(13, 3));
  Model& m = *c.model;
  const List axes = {0};
  const NodeId n = add_squeeze({m, m.main(), c.node_of("y"), "made"}, c.value("x"), axes);
  ASSERT_TRUE(n);
  m.set_operand(c.node_of("y"), 0, m.output(n, 0));
  EXPECT_EQ(result_type(*saved(m)), "float[3]");
}

TEST_F(Build, NoOpsetOrOneThatIsTooNew) {
  const List axes = {0};
  for (const int opset : {0, kNewestOpset + 1}) {
    Model m;
    if (opset > 0) m.opset_tables[0] = {{kEmptyName, opset}};
    const ValueId x = m.add_input(m.main(), m.names.intern("x"));
    EXPECT_FALSE(add_squeeze({m, m.main()}, x, axes)) << opset;
  }
}

TEST(MakeScalar, ExactlyOrNot) {
  Model m;
  const auto said = [&m](DType type, double x) -> bool {
    const TensorId t = make_scalar(m, type, x);
    if (!t) return false;
    EXPECT_TRUE(m.tensor(t).dims.empty());
    if (std::isnan(x)) EXPECT_TRUE(std::isnan(real_scalar(m, t).value_or(0)));
    else EXPECT_TRUE(holds(m, t, x)) << dtype_name(type) << " " << x;
    return true;
  };
  for (const DType type : {DType::Float16, DType::BFloat16, DType::Float, DType::Double}) {
    EXPECT_TRUE(said(type, -0.0));
    EXPECT_TRUE(said(type, INFINITY));
    EXPECT_TRUE(said(type, NAN));
    EXPECT_TRUE(said(type, 0.375));
    EXPECT_EQ(said(type, 0.1), type == DType::Double);
  }
  EXPECT_TRUE(said(DType::Float16, 65504));
  EXPECT_FALSE(said(DType::Float16, 65505));
  EXPECT_FALSE(said(DType::Float16, 1e6));
  EXPECT_TRUE(said(DType::BFloat16, 0x1p127));
  EXPECT_FALSE(said(DType::BFloat16, 257));
  EXPECT_TRUE(said(DType::Int8, -128) && said(DType::Int8, 127));
  EXPECT_FALSE(said(DType::Int8, -129) || said(DType::Int8, 128) || said(DType::Int8, 0.5));
  EXPECT_TRUE(said(DType::UInt8, 255));
  EXPECT_FALSE(said(DType::UInt8, 256) || said(DType::UInt8, -1));
  EXPECT_TRUE(said(DType::Int16, -32768) && said(DType::UInt16, 65535) && said(DType::UInt32, 4294967295.0));
  EXPECT_TRUE(said(DType::Int32, -2147483648.0));
  EXPECT_FALSE(said(DType::Int32, 2147483648.0));
  EXPECT_TRUE(said(DType::Int64, -0x1p63));
  EXPECT_FALSE(said(DType::Int64, 0x1p63) || said(DType::Int64, NAN));
  EXPECT_TRUE(make_scalar(m, DType::UInt64, 0x1p63));
  EXPECT_FALSE(make_scalar(m, DType::UInt64, 0x1p64));
  EXPECT_FALSE(make_scalar(m, DType::String, 1) || make_scalar(m, DType::Bool, 1));
}

}  // namespace
}  // namespace graphopt
