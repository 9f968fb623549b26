// The devices that the nodes of a model name themselves (--assignment given).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "devices/profile.h"
#include "graphopt/error.h"
#include "graphopt/stages/partition.h"
#include "placement/assignment.h"

namespace graphopt {

// Keys of nodes' metadata. ONNX Runtime assigns nodes with the last one: its option
// session.layer_assignment_settings names these texts (docs/annotated_partitioning of microsoft/onnxruntime).
inline constexpr std::string_view kSubgraphKey = "graphopt.subgraph", kDeviceKey = "graphopt.device",
                                  kLayerKey = "layer_ann";

struct GivenDevices {
  Assignments nodes;  // a node of the main graph that names no device of the run is not assigned
  bool any = false;   // some node names a device
  std::vector<std::string> unmatched;  // texts of nodes that name none, each once, in the order of the graph
};

// A node names a device by layer_ann in its metadata, or by its pipeline stage. Without rules the text is a
// device's id, what a former run wrote as graphopt.device, or the name that the configuration has for the
// stage; with rules it is what a rule names. ErrorKind::Input: no node names a device of the run.
Result<GivenDevices> given_devices(const Model& m, const PartitionStage::Options& options,
                                   std::span<const Profile> devices);

// ErrorKind::Usage: a rule names a device that is not in the run.
Status check_layer_rules(const PartitionStage::Options& options, std::span<const Profile> devices);

}  // namespace graphopt
