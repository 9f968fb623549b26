// Models as text: what is printed, what is refused, and what is read as protobuf's text format.
#include "onnx/text_form.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "saved_model.h"

namespace graphopt {
namespace {

onnx::ModelProto small() {
  return parse_model(R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[N] x) => (float[N] y) <float[2] w = {0.1, -0}> { y = LeakyRelu <alpha = 0.3> (x) })");
}

Result<std::string> text(const onnx::ModelProto& m, TextForm form) {
  const std::string bytes = m.SerializeAsString();
  return text_of({{bytes.data(), bytes.size()}}, form, "out");
}

TEST(TextForm, IsToldByTheName) {
  EXPECT_EQ(text_form("a/m.onnx"), TextForm::None);
  EXPECT_EQ(text_form("m.txt"), TextForm::None);
  EXPECT_EQ(text_form("-"), TextForm::None);
  EXPECT_EQ(text_form("m.onnxtxt"), TextForm::Onnx);
  EXPECT_EQ(text_form("m.onnxtext"), TextForm::Onnx);
  for (const char* name : {"m.textproto", "m.txtpb", "m.pbtxt", "m.prototxt"})
    EXPECT_EQ(text_form(name), TextForm::Proto) << name;
}

TEST(TextForm, BeginsWithAFieldOfAModel) {
  EXPECT_TRUE(looks_like_message_text("ir_version: 10"));
  EXPECT_TRUE(looks_like_message_text("# made by hand\n\n  graph {"));
  EXPECT_TRUE(looks_like_message_text("producer_name : \"x\""));
  EXPECT_FALSE(looks_like_message_text("<ir_version: 10>"));
  EXPECT_FALSE(looks_like_message_text("graph (float[N] x) => (float[N] y) {}"));
  EXPECT_FALSE(looks_like_message_text("node {"));  // of a graph
  EXPECT_FALSE(looks_like_message_text("#"));
  EXPECT_FALSE(looks_like_message_text(""));
}

TEST(TextForm, MessageTextGivesTheSameBytes) {
  const onnx::ModelProto m = small();
  const Result<std::string> printed = text(m, TextForm::Proto);
  ASSERT_TRUE(printed.ok());
  EXPECT_TRUE(looks_like_message_text(*printed));
  std::string binary;
  EXPECT_FALSE(message_text_to_binary(*printed, binary));
  EXPECT_EQ(binary, m.SerializeAsString());
}

TEST(TextForm, OnnxTextIsReadAgain) {
  const Result<std::string> printed = text(small(), TextForm::Onnx);
  ASSERT_TRUE(printed.ok()) << to_string(printed.error());
  EXPECT_EQ(parse_model(*printed).SerializeAsString(), small().SerializeAsString()) << *printed;
}

TEST(TextForm, RefusesWhatWouldBeLost) {
  onnx::ModelProto m = small();
  m.mutable_graph()->mutable_node(0)->set_doc_string("why");
  ASSERT_FALSE(text(m, TextForm::Onnx).ok());
  EXPECT_NE(text(m, TextForm::Onnx).error().what.find("graph.node[0].doc_string"), std::string::npos)
      << text(m, TextForm::Onnx).error().what;
  EXPECT_TRUE(text(m, TextForm::Proto).ok());
}

TEST(TextForm, KeepsNaNAndRefusesItsPayload) {
  onnx::ModelProto m = small();
  onnx::AttributeProto& a = *m.mutable_graph()->mutable_node(0)->mutable_attribute(0);
  a.set_f(std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(text(m, TextForm::Proto).ok());
  a.set_f(std::copysign(std::numeric_limits<float>::quiet_NaN(), -1.0F));
  for (const TextForm form : {TextForm::Proto, TextForm::Onnx}) {
    const Result<std::string> printed = text(m, form);
    if (printed.ok()) continue;  // a printer that writes the sign may
    EXPECT_NE(printed.error().what.find("cannot hold this model"), std::string::npos);
  }
}

TEST(TextForm, SaysWhereTextIsWrong) {
  std::string binary;
  const auto wrong = message_text_to_binary("ir_version: 10\ngraph { nod { } }", binary);
  ASSERT_TRUE(wrong);
  EXPECT_NE(wrong->find("line 2"), std::string::npos) << *wrong;
  std::string deep;
  for (int i = 0; i < 100000; ++i)
    deep += i == 0 ? "graph { node { attribute { g {" : "node { attribute { g {";
  EXPECT_TRUE(message_text_to_binary(deep, binary));
}

}  // namespace
}  // namespace graphopt
