// Entries of metadata_props that are set at many nodes in one go.
#include "onnx/node_metadata.h"

#include <gtest/gtest.h>

#include "saved_model.h"

namespace graphopt {
namespace {

TEST(NodeMetadata, IsSetAtManyNodesInOneGo) {
  onnx::ModelProto p = parse_model(
      "<ir_version: 10, opset_import: [\"\" : 21]> g (float x) => (float y) { a = Relu(x) b = Relu(a) y = "
      "Relu(b) }");
  const auto entry = [](onnx::NodeProto* n, const std::string& key, const std::string& value) {
    auto* e = n->add_metadata_props();
    e->set_key(key);
    e->set_value(value);
  };
  entry(p.mutable_graph()->mutable_node(0), "k", "old");
  entry(p.mutable_graph()->mutable_node(0), "other", "stays");
  entry(p.mutable_graph()->mutable_node(1), "k", "gone");
  Model m = loaded(p);
  std::vector<NodeText> entries;
  const std::string long_text(300, 'x');
  const std::optional<std::string_view> texts[] = {long_text, std::nullopt, std::nullopt};
  for (NodeId n = m.first_node(m.main()); n; n = m.next_node(n))
    entries.push_back({n, texts[entries.size()]});
  EXPECT_EQ(set_node_metadata(m, "k", entries), 2u);
  EXPECT_EQ(set_node_metadata(m, "k", entries), 0u);
  onnx::ModelProto out;
  ASSERT_TRUE(out.ParseFromString(saved_bytes(m)));
  onnx::NodeProto* first = p.mutable_graph()->mutable_node(0);
  first->clear_metadata_props();
  entry(first, "other", "stays");
  entry(first, "k", long_text);
  p.mutable_graph()->mutable_node(1)->clear_metadata_props();
  EXPECT_EQ(out.SerializeAsString(), p.SerializeAsString());
}

}  // namespace
}  // namespace graphopt
