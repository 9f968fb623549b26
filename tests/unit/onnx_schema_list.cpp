// onnx_schema_list.inc is made from onnx's headers when the project is built: every class in it gives the
// schema that its line says, and none that onnx registers is missing.
#include <gtest/gtest.h>
#include <onnx/defs/operator_sets.h>
#include <onnx/defs/operator_sets_ml.h>
#include <onnx/defs/operator_sets_preview.h>

#include <cstddef>
#include <iterator>
#include <string>

namespace {

struct Row {
  const char* domain;  // as the class name has it: Onnx, OnnxML, OnnxPreview
  int version;
  const char* name;
  onnx::OpSchema (*make)();
};

#define GRAPHOPT_SCHEMA(domain, version, name) \
  {#domain, version, #name,                    \
   &onnx::GetOpSchema<onnx::ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME(domain, version, name)>},
constexpr Row kRows[] = {
#include "onnx_schema_list.inc"
};
#undef GRAPHOPT_SCHEMA

// A class name says "OnnxPreview" for both preview domains; the schema itself says which.
bool domain_fits(const std::string& of_class, const std::string& domain) {
  if (of_class == "Onnx") return domain.empty();
  if (of_class == "OnnxML") return domain == "ai.onnx.ml";
  if (of_class == "OnnxPreview") return domain == "ai.onnx.preview" || domain == "ai.onnx.preview.training";
  return false;
}

TEST(OnnxSchemaList, EveryLineGivesTheSchemaThatItNames) {
  for (const Row& row : kRows) {
    const onnx::OpSchema schema = row.make();
    EXPECT_EQ(schema.Name(), row.name);
    EXPECT_EQ(schema.SinceVersion(), row.version) << row.name;
    EXPECT_TRUE(domain_fits(row.domain, schema.domain())) << row.name << ": " << schema.domain();
  }
}

TEST(OnnxSchemaList, HoldsWhatTheRegistryHolds) {
  EXPECT_EQ(std::size(kRows), onnx::OpSchemaRegistry::get_all_schemas_with_history().size());
}

}  // namespace
