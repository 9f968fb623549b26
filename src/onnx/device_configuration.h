// Pipeline stages in the form of the ONNX standard (IR version 11): ModelProto.configuration names the
// devices, and NodeProto.device_configurations the stage of a node.
//
// The IR does not model either of them, so they are fields in the bytes of the model and of its nodes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/model.h"

namespace graphopt {

inline constexpr std::int64_t kDeviceConfigurationIrVersion = 11;  // the first version that has them

struct NodeStage {
  NodeId node;
  std::uint32_t stage = 0;  // from 0
};

// Adds the configuration of this id, with one device for each stage, and puts nodes into its stages, each
// node at most once. What the model says of this id goes; other configurations stay. A model of a lower IR
// version gets version 11. Linear in the nodes' bytes.
void set_pipeline_stages(Model& m, std::string_view id, std::span<const std::string> devices,
                         std::span<const NodeStage> stages);

// Removes the configuration of this id, and the stages of it that nodes of the main graph state.
void drop_pipeline_stages(Model& m, std::string_view id);

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

// Returns true if the bytes are a ModelProto with a configuration of this id; false for anything else.
bool has_configuration(std::string_view model, std::string_view id);

}  // namespace graphopt
