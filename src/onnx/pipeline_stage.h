// The stages of a pipeline that a model states: ModelProto.configuration and NodeProto.device_configurations
// (onnx.proto, from IR version 11 on), which the IR keeps as bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/model.h"

namespace graphopt {

struct PipelineStage {
  std::string_view configuration;  // a view of the model's bytes, as all texts here
  std::int32_t number = 0;
};

// Returns the first stage that the node states.
std::optional<PipelineStage> pipeline_stage(const Model& m, NodeId n);

// The names of the devices that each configuration of a model lists.
class Configurations {
 public:
  explicit Configurations(const Model& m);
  // Returns the name at the stage's number; empty when the configuration has none there.
  std::string_view device(PipelineStage stage) const;

 private:
  std::vector<std::pair<std::string_view, std::vector<std::string_view>>> devices_;  // by configuration
};

}  // namespace graphopt
