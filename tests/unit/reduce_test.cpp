// Reducing models: what is left when something is cut off, the measure, the test command, and the strategies
// with a function in place of the user's command.

#include "reduce/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "onnx/conformance.h"
#include "reduce/command.h"
#include "reduce/edit.h"
#include "reduce/measure.h"
#include "reduce/strategies.h"
#include "saved_model.h"

namespace graphopt {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kHeader = "<ir_version: 10, opset_import: [\"\" : 21]>\n";

Model model_of(const std::string& text) { return loaded(parse_model(kHeader + text)); }

Names names(const Model& m, const std::vector<ValueId>& values) {
  Names out;
  for (const ValueId v : values) out.emplace_back(m.text(m.value(v).name));
  return out;
}

// The node that makes this value, and that value.
NodeId maker(const Model& m, const std::string& name) {
  for (std::size_t i = 0; i < m.value_count(); ++i)
    if (m.text(m.value(ValueId{i}).name) == name) return m.value(ValueId{i}).def;
  ADD_FAILURE() << name;
  return {};
}

// --- what is left ------------------------------------------------------------------------------------------

struct Left {
  Names inputs, outputs, initializers;
  std::size_t nodes = 0;
};

Left cut(const std::string& text, const Names& results, bool leaves = true, bool keep_unused = false) {
  Model m = model_of(text);
  Inference inference(m, {});
  inference.run();
  Edit e(m);
  e.leaves_are_outputs = leaves;
  for (const std::string& name : results) e.cut[maker(m, name).index()] = true;
  const Candidate c = settle(e, inference, keep_unused);
  return {names(e.model, c.part.inputs), names(e.model, c.part.outputs), names(e.model, c.part.initializers),
          c.part.nodes.size()};
}

constexpr const char* kChain = R"(
g (float[n, 4] x, float[4] unused) => (float[n, 4] y) <float[4] w = {1, 2, 3, 4}> {
  a = Add (x, w)
  b = Exp (a)
  c = Mul (b, w)
  y = Neg (c)
})";

TEST(ReduceEdit, CutsBecomeInputsAndOutputs) {
  const Left middle = cut(kChain, {"b"});
  EXPECT_EQ(middle.inputs, (Names{"x", "b"}));
  EXPECT_EQ(middle.outputs, (Names{"y", "a"}));
  EXPECT_EQ(middle.initializers, Names{"w"});
  EXPECT_EQ(middle.nodes, 3u);
  EXPECT_EQ(cut(kChain, {"c", "y"}).outputs, Names{"b"});
  EXPECT_EQ(cut(kChain, {"a", "b", "c"}).inputs, Names{"c"});
  EXPECT_EQ(cut(kChain, {"a", "b", "c"}).initializers, Names{});
  EXPECT_EQ(cut(kChain, {"a", "b", "c"}, true, true).inputs, (Names{"c", "x", "unused"}));
}

TEST(ReduceEdit, WithoutLeavesOnlyWhatTheOutputsNeedIsLeft) {
  const Left left = cut(kChain, {"b"}, false);
  EXPECT_EQ(left.outputs, Names{"y"});
  EXPECT_EQ(left.inputs, Names{"b"});
  EXPECT_EQ(left.nodes, 2u);
}

TEST(ReduceEdit, ANodeThatNothingReadStaysUnlessItIsCut) {
  const std::string text = "g (float[4] x) => (float[4] y) { dead = Exp (x) a = Neg (x) y = Abs (a) }";
  EXPECT_EQ(cut(text, {"a"}).nodes, 2u);
  EXPECT_EQ(cut(text, {"a"}, false).nodes, 2u);
  EXPECT_EQ(cut(text, {"a"}).outputs, Names{"y"});
  EXPECT_EQ(cut(text, {"dead"}).nodes, 2u);
}

TEST(ReduceEdit, AValueWithoutRankIsNoInput) {
  // The rank of r depends on a value.
  const std::string text = R"(
g (float[4] x, int64[k] shape) => (float[n] y) {
  r = Reshape (x, shape)
  e = Exp (r)
  y = Reshape (e, flat)
})";
  const std::string with_flat = std::string(text).insert(text.find('{'), "<int64[1] flat = {-1}> ");
  const Left left = cut(with_flat, {"r"});
  EXPECT_EQ(left.inputs, (Names{"x", "shape"}));
  EXPECT_EQ(left.nodes, 3u);
  EXPECT_EQ(cut(with_flat, {"r", "e"}).nodes, 3u);  // e has no rank either
  EXPECT_EQ(cut(with_flat, {"y", "e"}).nodes, 0u);  // and r is no output
}

TEST(ReduceEdit, KnownElementsBecomeConstants) {
  const Left shape =
      cut("g (float[2, 3] x, float[6] z) => (float[2, 3] y) { s = Shape (x) y = Reshape (z, s) }", {"s"});
  EXPECT_EQ(shape.inputs, Names{"z"});
  EXPECT_EQ(shape.initializers, Names{"s"});
}

TEST(ReduceEdit, BodiesReadWhatIsCut) {
  const Left left = cut(R"(
g (float[4] x, bool c) => (float[4] y) {
  a = Exp (x)
  y = If (c) <then_branch = t () => (float[4] p) { p = Neg (a) },
          else_branch = e () => (float[4] q) { q = Abs (x) }>
})",
                        {"a"});
  EXPECT_EQ(left.inputs, (Names{"x", "c", "a"}));
}

// --- the measure -------------------------------------------------------------------------------------------

TEST(ReduceMeasure, CountsNodesOfBodiesAndOfCalls) {
  const Measure m = measure_of(loaded(parse_model(R"(
<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
g (float[n, 4] x, bool c) => (float[n, 4] y) <float[2] w = {0, 1}> {
  a = own.f (x)
  b = own.f (a)
  y = If (c) <then_branch = t () => (float[n, 4] p) { p = Neg (b) },
          else_branch = e () => (float[n, 4] q) { q = Abs (b) }>
}
<opset_import: ["" : 21], domain: "own"> f (p) => (q) { h = Exp (p) q = Neg (h) })")));
  EXPECT_EQ(m.nodes, 2u * 3 + 1 + 2);
  EXPECT_EQ(m.borders, 3u);
  EXPECT_EQ(m.symbols, 1u);
  EXPECT_EQ(m.elements, 4u + 1 + 2);
  EXPECT_EQ(m.nonzero, 2u);  // 1.0f has two bytes that are not 0
}

TEST(ReduceMeasure, NodesCountBeforeEverythingElse) {
  const Measure few{.nodes = 1, .borders = 9, .details = 9, .symbols = 9, .elements = 9, .bytes = 9};
  const Measure many{.nodes = 2};
  EXPECT_LT(few, many);
}

// --- the command -------------------------------------------------------------------------------------------

TestStatus run(const std::string& command, double seconds = 0) {
  const Result<TestStatus> status = run_command(command, seconds, [] { return false; });
  EXPECT_TRUE(status.ok());
  return status ? *status : -9;
}

TEST(ReduceCommand, NamesTheModelQuoted) {
  EXPECT_EQ(command_for("test", "/a b"), "test '/a b'");
  EXPECT_EQ(command_for("x {} y {}", "/it's"), "x '/it'\\''s' y '/it'\\''s'");
}

TEST(ReduceCommand, TellsHowItEnded) {
  EXPECT_EQ(run("true"), 0);
  EXPECT_EQ(run("exit 7"), 7);
  EXPECT_EQ(run("kill -SEGV $$"), 139);
  EXPECT_EQ(run("no_such_command_anywhere"), 127);
  EXPECT_EQ(run("sleep 100", 0.05), kHung);
  EXPECT_EQ(*run_command("sleep 100", 0, [] { return true; }), kStopped);
  EXPECT_EQ(run("read line; test -z \"$line\""), 0);  // it has no input
  EXPECT_EQ(to_string(3), "status 3");
  EXPECT_EQ(to_string(139), "signal 11 (status 139)");
  EXPECT_EQ(to_string(kHung), "a hang");
}

// --- sessions ----------------------------------------------------------------------------------------------

// A session on a model in a file, whose test looks at the candidate; each candidate is tested once.
class ReduceSession : public testing::Test {
 protected:
  void open(const std::string& text, std::function<bool(const onnx::ModelProto&)> fails) {
    Result<TemporaryFolder> folder = TemporaryFolder::create();
    ASSERT_TRUE(folder.ok());
    path_ = folder->path();
    const std::string input = path_ + "/in.onnx";
    std::ofstream(input, std::ios::binary) << parse_model(text).SerializeAsString();
    const TestModel test = [this, fails](const std::string& path) -> Result<bool> {
      std::stringstream bytes;
      bytes << std::ifstream(path, std::ios::binary).rdbuf();
      EXPECT_TRUE(seen_.insert(bytes.str()).second) << "tested twice";
      onnx::ModelProto m;
      EXPECT_TRUE(m.ParseFromString(bytes.str()));
      EXPECT_EQ(conformance_of(bytes.str()), Conformance::Typed);
      ++tests_;
      return fails(m);
    };
    auto session = Session::open(input, {}, *std::move(folder), test, [this] { return tests_ >= most_; });
    ASSERT_TRUE(session.ok()) << to_string(session.error());
    s_ = *std::move(session);
  }
  onnx::ModelProto result() {
    onnx::ModelProto out;
    EXPECT_TRUE(out.ParseFromString(saved_bytes(s_->model())));
    return out;
  }
  static bool has(const onnx::GraphProto& g, const std::string& type) {
    return std::ranges::any_of(g.node(), [&](const auto& n) { return n.op_type() == type; });
  }

  std::unique_ptr<Session> s_;
  std::set<std::string> seen_;
  std::string path_;
  int tests_ = 0, most_ = 1000;
};

const std::string kModel = std::string(kHeader) + R"(
g (float[n, 4] x, float[n, 4] z, float unused) => (float[n, 4] y, float[n, 4] r)
    <float[4] w = {1, 2, 3, 4}, float[4] v = {5, 6, 7, 8}> {
  a = Add (x, w)
  b = Elu <alpha = 0.5> (a)
  c = Mul (b, v)
  y = Clip (c, low, high)
  r = Sub (z, v)
})";

TEST_F(ReduceSession, ReducesToOneNode) {
  std::string text = kModel;
  text.insert(text.find("float[4] v ="), "float low = {0}, float high = {1}, ");
  open(text, [](const auto& m) { return has(m.graph(), "Clip"); });
  reduce_model(*s_, [](std::string_view) {});
  const onnx::ModelProto m = result();
  ASSERT_EQ(m.graph().node_size(), 1);
  EXPECT_EQ(m.graph().node(0).input_size(), 1);
  EXPECT_EQ(m.graph().input_size(), 1);
  EXPECT_EQ(m.graph().input(0).type().tensor_type().shape().dim(0).dim_value(), 1);
  EXPECT_EQ(m.graph().initializer_size(), 0);
  EXPECT_EQ(s_->tried(), static_cast<std::uint64_t>(tests_));
}

TEST_F(ReduceSession, EndsWhenItIsTold) {
  most_ = 2;
  open(kHeader + std::string(kChain), [](const auto&) { return true; });
  reduce_model(*s_, [](std::string_view) {});
  EXPECT_LE(tests_, 2);
}

TEST_F(ReduceSession, UnusedInputsGoFirst) {
  open(kHeader + std::string(kChain), [](const auto& m) { return m.graph().node_size() == 4; });
  s_->drop_unused();
  EXPECT_EQ(result().graph().input_size(), 1);
}

TEST_F(ReduceSession, UnusedInputsStayWhereTheTestNeedsThem) {
  open(kHeader + std::string(kChain), [](const auto& m) {
    return std::ranges::any_of(m.graph().input(), [](const auto& v) { return v.name() == "unused"; }) &&
           has(m.graph(), "Exp");
  });
  reduce_model(*s_, [](std::string_view) {});
  const onnx::ModelProto m = result();
  EXPECT_EQ(m.graph().node_size(), 1);
  EXPECT_TRUE(has(m.graph(), "Exp"));
}

TEST_F(ReduceSession, BridgesWhatConnects) {
  open(kHeader + std::string(kChain), [](const auto& m) {
    std::set<std::string> after;
    for (const auto& n : m.graph().node()) {
      const bool reads =
          std::ranges::any_of(n.input(), [&](const std::string& i) { return after.contains(i); });
      if (n.op_type() == "Neg" && reads) return true;
      if (n.op_type() == "Add" || reads) after.insert(n.output(0));
    }
    return false;
  });
  cut_nodes(*s_);
  EXPECT_EQ(result().graph().node_size(), 2);
}

TEST_F(ReduceSession, NothingIsLeftBehind) {
  open(kHeader + std::string(kChain), [](const auto& m) { return has(m.graph(), "Exp"); });
  reduce_model(*s_, [](std::string_view) {});
  s_.reset();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace graphopt
