// Models for the tests of src/runtime, written as ONNX text.
#pragma once

#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <memory>
#include <string>

#include "infer/infer.h"
#include "onnx/reader.h"
#include "runtime/inputs.h"
#include "runtime/model_source.h"

namespace graphopt::test {

// Bytes of the model; empty when the text does not parse.
inline std::string model_bytes(const std::string& text) {
  onnx::ModelProto proto;
  const auto status = onnx::OnnxParser::Parse(proto, text.c_str());
  return status.IsOK() ? proto.SerializeAsString() : std::string();
}

// The head of a model of the newest opset that ONNX Runtime 1.21 certainly supports.
inline std::string with_head(const std::string& graph) {
  return "<ir_version: 9, opset_import: [\"\": 20, \"ai.onnx.ml\": 3, \"custom\": 1, \"local\": 1]>\n" +
         graph;
}

inline ModelSource source(const std::string& bytes) {
  return {.path = {}, .bytes = bytes, .external_folder = {}};
}

// Loaded, inferred, planned.
struct Planned {
  std::string bytes, problem;
  std::unique_ptr<Model> model;
  std::unique_ptr<Inference> infer;
  InputPlan plan;

  explicit Planned(const std::string& graph) : bytes(model_bytes(with_head(graph))) {
    std::vector<Warning> warnings;
    auto loaded = load_model_from_memory(bytes, "test", "", warnings);
    if (!loaded) {
      problem = to_string(loaded.error());
      return;
    }
    model = std::make_unique<Model>(*std::move(loaded));
    infer = std::make_unique<Inference>(*model, InferOptions{});
    infer->run();
    plan = plan_inputs(*model, *infer);
  }
};

}  // namespace graphopt::test
