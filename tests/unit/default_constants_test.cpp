// Inputs with defaults that are taken for constants.
#include "onnx/default_constants.h"

#include <gtest/gtest.h>

#include "ir/verify.h"
#include "saved_model.h"

namespace graphopt {
namespace {

Model with_defaults(int ir_version) {
  return loaded(parse_model("<ir_version: " + std::to_string(ir_version) + R"(, opset_import: ["" : 8]>
    g (float[2] w, float[N] x, float[2] v) => (float[N] y) <float[2] v = {1, 2}, float[2] w = {3, 4}> {
      a = Add (x, w)
      y = Add (a, v)
    })"));
}

TEST(DefaultConstants, LeaveTheInterface) {
  Model m = with_defaults(3);
  EXPECT_EQ(count_defaults(m), 2u);
  EXPECT_EQ(take_defaults_for_constants(m), 2u);
  EXPECT_FALSE(verify(m));
  EXPECT_EQ(m.ir_version, 4);
  ASSERT_EQ(m.graph_inputs(m.main()).size(), 1u);
  const onnx::ModelProto saved = [&] {
    onnx::ModelProto out;
    EXPECT_TRUE(out.ParseFromString(saved_bytes(m)));
    return out;
  }();
  ASSERT_EQ(saved.graph().input_size(), 1);
  EXPECT_EQ(saved.graph().input(0).name(), "x");
  EXPECT_EQ(saved.graph().initializer_size(), 2);
  EXPECT_EQ(saved.graph().value_info_size(), 0);
  EXPECT_EQ(saved.ir_version(), 4);
  EXPECT_TRUE(m.constant_of(m.input(m.first_node(m.main()), 1)));
}

TEST(DefaultConstants, KeepAModelWithoutThem) {
  Model m = with_defaults(9);
  EXPECT_EQ(take_defaults_for_constants(m), 2u);
  EXPECT_EQ(m.ir_version, 9);
  EXPECT_EQ(take_defaults_for_constants(m), 0u);
  Model plain = loaded(parse_model(R"(<ir_version: 3, opset_import: ["" : 8]>
    g (float[N] x) => (float[N] y) { y = Neg (x) })"));
  const std::string before = saved_bytes(plain);
  EXPECT_EQ(take_defaults_for_constants(plain), 0u);
  EXPECT_EQ(plain.ir_version, 3);
  EXPECT_EQ(saved_bytes(plain), before);
}

}  // namespace
}  // namespace graphopt
