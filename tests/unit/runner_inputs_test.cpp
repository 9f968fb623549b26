// Which inputs of a request a network takes, and what is said of others.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runner/input_check.h"
#include "unit/runner_values.h"

namespace graphopt::runner {
namespace {

using namespace test;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::vector<std::string> input_problems(const deploy::Network& network,
                                        const std::vector<NamedValue>& inputs) {
  const auto checked = check_inputs(network, inputs);
  std::vector<std::string> out;
  if (checked.ok()) return out;
  for (const Error& e : checked.errors()) {
    EXPECT_EQ(e.kind, ErrorKind::Usage);
    EXPECT_FALSE(e.remedy.empty());
    out.push_back(e.what);
  }
  return out;
}

deploy::Network checked_network() {
  deploy::Network n;
  n.inputs.push_back(
      network_value("x", DType::Int8, std::vector<deploy::ValueDim>{std::string("N"), std::int64_t{2}}));
  n.inputs.push_back(network_value("y", DType::Int8, std::vector<deploy::ValueDim>{std::string("N")}));
  n.inputs.push_back(network_value("shift", DType::Float, std::nullopt));
  n.inputs.back().optional = true;
  n.symbols["N"] = {.min = 0, .max = 6, .multiple_of = 2};
  return n;
}

TEST(RunnerInputs, RightInputsAreTaken) {
  const deploy::Network n = checked_network();
  const auto found =
      check_inputs(n, std::vector<NamedValue>{{"y", bytes({2}, {1, 2})}, {"x", bytes({2, 2}, {1, 2, 3, 4})}});
  ASSERT_TRUE(found.ok()) << problem(found);
  EXPECT_EQ(*found, (Extents{{"N", 2}}));
  EXPECT_EQ(input_problems(n, {{"x", bytes({0, 2}, {})},
                               {"y", bytes({0}, {})},
                               {"shift", tensor<float>(DType::Float, {1, 1, 1}, {std::nanf("")})}}),
            std::vector<std::string>{});
}

TEST(RunnerInputs, WrongInputsAreNamed) {
  const deploy::Network n = checked_network();
  const NamedValue x{"x", bytes({2, 2}, {1, 2, 3, 4})}, y{"y", bytes({2}, {1, 2})};
  using Texts = std::vector<std::string>;
  EXPECT_EQ(input_problems(n, {x}), Texts{"input 'y' is not given"});
  EXPECT_EQ(input_problems(n, {x, y, y}), Texts{"input 'y' is given twice"});
  EXPECT_EQ(input_problems(n, {x, y, {"Y", y.value}}), Texts{"input 'Y' is none of the network's"});
  EXPECT_EQ(input_problems(n, {x, {"y", tensor<float>(DType::Float, {2}, {1, 2})}}),
            Texts{"input 'y' takes int8, and float is given"});
  EXPECT_EQ(input_problems(n, {x, {"y", bytes({2, 1}, {1, 2})}}),
            Texts{"input 'y' takes 1 dims, and 2 are given"});
  EXPECT_EQ(input_problems(n, {x, {"y", bytes({3}, {1, 2})}}),
            Texts{"input 'y' has other elements than its dims say"});
  EXPECT_EQ(input_problems(n, {x, {"y", bytes({-2}, {1, 2})}}),
            Texts{"input 'y' has other elements than its dims say"});
  EXPECT_EQ(input_problems(n, {x, {"y", bytes({4}, {1, 2, 3, 4})}}),
            Texts{"input 'y', axis 0: 'N' is 2, as input 'x', axis 0 has it, and 4 is given"});
  EXPECT_EQ(input_problems(n, {{"x", bytes({2, 3}, {1, 2, 3, 4, 5, 6})}, y}),
            Texts{"input 'x', axis 1: the extent is 2, and 3 is given"});
  EXPECT_EQ(input_problems(n, {{"x", bytes({8, 2}, std::vector<std::int8_t>(16))},
                               {"y", bytes({8}, std::vector<std::int8_t>(8))}}),
            Texts{"input 'x', axis 0: 'N' is from 0 to 6, and 8 is given"});
  EXPECT_EQ(
      input_problems(n, {{"x", bytes({3, 2}, std::vector<std::int8_t>(6))}, {"y", bytes({3}, {1, 2, 3})}}),
      Texts{"input 'x', axis 0: 'N' is a multiple of 2, and 3 is given"});
  EXPECT_EQ(input_problems(n, {x, {"y", HostValue{}}}),
            Texts{"input 'y' takes a tensor, and nothing is given"});
  HostValue huge = bytes({kMost, kMost}, {});
  EXPECT_EQ(input_problems(n, {{"x", huge}, y}), Texts{"input 'x' has other elements than its dims say"});
  std::vector<NamedValue> many;
  for (int i = 0; i < 30; ++i) many.push_back({"z" + std::to_string(i), y.value});
  EXPECT_EQ(input_problems(n, many).size(), kMaxErrors);
}

TEST(RunnerInputs, FormulasOfDimsAreEvaluated) {
  deploy::Network n;
  n.inputs.push_back(network_value(
      "sum", DType::Int8, std::vector<deploy::ValueDim>{std::string("a + 2*b"), std::string("a-b name")}));
  n.inputs.push_back(
      network_value("a", DType::Int8, std::vector<deploy::ValueDim>{std::string("a"), std::string("b")}));
  n.symbols["a"] = {};
  n.symbols["b"] = {};
  EXPECT_EQ(input_problems(n, {{"sum", empty(DType::Int8, {4, 0})}, {"a", empty(DType::Int8, {4, 0})}}),
            std::vector<std::string>{});
  EXPECT_EQ(input_problems(n, {{"sum", empty(DType::Int8, {5, 0})}, {"a", empty(DType::Int8, {4, 0})}}),
            std::vector<std::string>{
                "input 'sum', axis 0: 'a + 2*b' is 4 with a = 4, a-b name = 0, b = 0, and 5 is given"});
}

TEST(RunnerInputs, SequencesMapsAndOptionals) {
  deploy::Network n;
  deploy::NetworkValue v = network_value("s", DType::Undefined, std::nullopt);
  const deploy::ValueType element =
      network_value("", DType::Int8, std::vector<deploy::ValueDim>{std::string("N")}).type;
  v.type.kind = deploy::ValueKind::Sequence;
  v.type.elem = {element};
  n.inputs.push_back(v);
  v.name = "o";
  v.type.kind = deploy::ValueKind::Optional;
  n.inputs.push_back(v);
  v.name = "m";
  v.type.kind = deploy::ValueKind::Map;
  v.type.dtype = DType::Int64;
  v.type.elem = {network_value("", DType::Float, std::nullopt).type};
  n.inputs.push_back(v);
  HostValue sequence, map;
  sequence.kind = HostValue::Kind::Sequence;
  sequence.items = {bytes({1}, {1}), bytes({1}, {2})};
  map.kind = HostValue::Kind::Map;
  map.items = {tensor<std::int64_t>(DType::Int64, {1}, {-5}), tensor<float>(DType::Float, {1}, {2})};
  using Texts = std::vector<std::string>;
  EXPECT_EQ(input_problems(n, {{"s", sequence}, {"o", HostValue{}}, {"m", map}}), Texts{});
  EXPECT_EQ(input_problems(n, {{"s", sequence}, {"o", bytes({1}, {1})}, {"m", map}}), Texts{});
  EXPECT_EQ(input_problems(n, {{"s", map}, {"o", sequence}, {"m", sequence}}),
            (Texts{"input 's' takes a sequence, and a map is given",
                   "input 'o' takes a tensor, and a sequence is given",
                   "input 'm' takes a map, and a sequence is given"}));
  sequence.items[1] = tensor<float>(DType::Float, {1}, {2});
  map.items[1].dims = {1, 1};
  EXPECT_EQ(input_problems(n, {{"s", sequence}, {"o", HostValue{}}, {"m", map}}),
            (Texts{"input 's', element 1 takes int8, and float is given",
                   "input 'm' takes a map, and its keys and values are not as many as each other"}));
}

}  // namespace
}  // namespace graphopt::runner
