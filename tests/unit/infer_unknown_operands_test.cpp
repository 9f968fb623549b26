// Every operator of every version, on operands of which nothing is known: inference must come back. onnx's
// own functions, which are asked where there is no rule, read types and dims that are not there.
#include <cstddef>
#include <string>

#include "infer/infer.h"
#include "infer_case.h"
#include "onnx/reader.h"

namespace graphopt {
namespace {

struct Row {
  std::string domain;  // as the list has it: Onnx, OnnxML, OnnxPreview
  int version;
  std::string name;
};

#define GRAPHOPT_SCHEMA(domain, version, name) {#domain, version, #name},
const Row kRows[] = {
#include "onnx_schema_list.inc"
};
#undef GRAPHOPT_SCHEMA

TEST(InferUnknownOperands, EveryOperatorComesBack) {
  constexpr std::size_t kMostOperands = 6;
  for (const Row& row : kRows) {
    if (row.domain != "Onnx" && row.domain != "OnnxML") continue;
    const bool ml = row.domain == "OnnxML";
    const std::string header = R"(<ir_version: 10, opset_import: ["" : )" +
                               std::to_string(ml ? 21 : row.version) + R"(, "ai.onnx.ml" : )" +
                               std::to_string(ml ? row.version : 4) + R"(, "nobody" : 1]>)";
    std::string operands;
    for (std::size_t count = 0; count <= kMostOperands; ++count) {
      if (count > 0) operands += count > 1 ? ", u" : "u";
      const std::string text =
          "g (float[2,3] x) => (y) { u = nobody.Unknown (x) y = " + (ml ? "ai.onnx.ml." : std::string()) +
          row.name + " (" + operands + ") }";
      SCOPED_TRACE(text);
      const InferCase c(text, {}, header);
      EXPECT_TRUE(c.model);
    }
  }
}

}  // namespace
}  // namespace graphopt
