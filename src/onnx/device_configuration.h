// Pipeline stages in the form of the ONNX standard (IR version 11): ModelProto.configuration names the
// devices, and NodeProto.device_configurations the stage of a node.
//
// The IR does not model either of them, so they are fields in the bytes of the model and of its nodes.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/model.h"

namespace graphopt {

struct PipelineStage {
  std::string_view configuration;  // a view of the model's bytes, as all texts here
  std::int32_t number = 0;
};

// Returns the stages that the node states, one for each configuration, in the order of the file.
std::vector<PipelineStage> pipeline_stages(const Model& m, NodeId n);

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
