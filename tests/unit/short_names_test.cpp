// Short names, and texts that are left out.
#include "onnx/short_names.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "ir/verify.h"
#include "onnx/strip.h"
#include "saved_model.h"

namespace graphopt {
namespace {

onnx::ModelProto written(const Model& m) {
  onnx::ModelProto out;
  EXPECT_TRUE(out.ParseFromString(saved_bytes(m)));
  return out;
}

onnx::ModelProto nested() {
  return parse_model(R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[N] v1, bool c) => (float[N] y) <float[1] weight = {1}> {
      long_one = Add (v1, weight)
      y = If (c) <then_branch = t () => (float[N] then_out) { deep = Neg (long_one) then_out = Relu (deep) },
                  else_branch = e () => (float[N] else_out) { else_out = Identity (long_one) }>
    })");
}

TEST(ShortNames, AreNumberedInTheOrderOfTheFile) {
  Model m = loaded(nested());
  shorten_names(m);
  EXPECT_FALSE(verify(m));
  const onnx::GraphProto g = written(m).graph();
  EXPECT_EQ(g.initializer(0).name(), "v0");
  EXPECT_EQ(g.node(0).output(0), "v2");  // v1 is an input
  EXPECT_EQ(g.node(0).input(0), "v1");
  EXPECT_EQ(g.node(0).input(1), "v0");
  EXPECT_EQ(g.node(1).output(0), "y");
  const onnx::GraphProto& then_branch = g.node(1).attribute(0).g();
  EXPECT_EQ(then_branch.node(0).input(0), "v2");
  EXPECT_EQ(then_branch.node(0).output(0), "v3");
  EXPECT_EQ(then_branch.node(1).output(0), "then_out");
  EXPECT_EQ(then_branch.output(0).name(), "then_out");
}

TEST(ShortNames, AreTheSameASecondTime) {
  Model m = loaded(nested());
  shorten_names(m);
  const std::string first = saved_bytes(m);
  Model again = loaded(written(m));
  shorten_names(again);
  EXPECT_EQ(saved_bytes(again), first);
}

TEST(Strip, CopiesNothingWhereThereIsNoText) {
  Model m = loaded(nested());
  const std::string before = saved_bytes(m);
  const std::size_t tensors = m.tensor_count();
  strip_texts(m, {.doc = true, .metadata = true});
  EXPECT_EQ(m.tensor_count(), tensors);
  for (NodeId n = m.first_node(m.main()); n; n = m.next_node(n)) EXPECT_FALSE(m.node(n).dirty);
  EXPECT_EQ(saved_bytes(m), before);
}

TEST(Strip, TellsDocAndMetadataApart) {
  onnx::ModelProto m = nested();
  m.set_doc_string("of the model");
  onnx::StringStringEntryProto& entry = *m.mutable_graph()->mutable_node(0)->add_metadata_props();
  entry.set_key("k");
  Model doc = loaded(m), metadata = loaded(m), neither = loaded(m);
  strip_texts(doc, {.doc = true, .metadata = false});
  EXPECT_FALSE(written(doc).has_doc_string());
  EXPECT_EQ(written(doc).graph().node(0).metadata_props_size(), 1);
  strip_texts(metadata, {.doc = false, .metadata = true});
  EXPECT_TRUE(written(metadata).has_doc_string());
  EXPECT_EQ(written(metadata).graph().node(0).metadata_props_size(), 0);
  strip_texts(neither, {});
  EXPECT_EQ(written(neither).SerializeAsString(), m.SerializeAsString());
}

}  // namespace
}  // namespace graphopt
