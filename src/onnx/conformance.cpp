#include "onnx/conformance.h"

#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <exception>

namespace graphopt {

Conformance conformance_of(std::string_view model) {
  Conformance reached = Conformance::Broken;
  try {  // both report by exceptions of several types
    onnx::ModelProto proto;
    if (!proto.ParseFromArray(model.data(), static_cast<int>(model.size()))) return reached;
    onnx::checker::check_model(proto);
    reached = Conformance::Checked;
    const onnx::ShapeInferenceOptions strict(/*check_type=*/true, /*strict_mode=*/1, /*data_prop=*/false);
    onnx::shape_inference::InferShapes(proto, onnx::OpSchemaRegistry::Instance(), strict);
    reached = Conformance::Typed;
  } catch (const std::exception&) {
    return reached;
  }
  return reached;
}

}  // namespace graphopt
