// What the partition stage knows and save writes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "devices/profile.h"
#include "graphopt/error.h"
#include "infer/infer.h"
#include "ir/part.h"
#include "partition/result.h"
#include "placement/placement.h"

namespace graphopt {

class Run;
struct Options;
struct Work;

// Keys of nodes' metadata. ONNX Runtime assigns nodes with the last one: its option
// session.layer_assignment_settings names these texts (docs/annotated_partitioning of microsoft/onnxruntime).
inline constexpr std::string_view kSubgraphKey = "graphopt.subgraph", kDeviceKey = "graphopt.device",
                                  kLayerKey = "layer_ann";

// How a model is cut for devices: OUT, or the model of a bucket.
struct PartitionedModel {
  Placement placement;
  partition::Partition partition;
  std::vector<ModelPart> parts;  // by subgraph
};

struct Partitioned : PartitionedModel {
  // From before load on, so that a mistake in a profile is told first. Without --devices the host alone.
  std::vector<Profile> devices;
  std::string source_id;  // of the model as it was loaded; empty when no manifest is written
};

// Reads the profiles into run.partitioned.
Status open_devices(Run& run);
// The same for a run that has buckets and no devices.
void open_host(Run& run);
// Cuts a model: nodes get unique names, and with --devices say in their metadata where they belong. Without
// effect on anything but the model and `out`, so that threads may cut models of their own.
Status partition_model(const Options& options, std::span<const Profile> devices, Work& work,
                       PartitionedModel& out);
// Reads which nodes name a device of the run into work.assigned, when the options ask for it. Before
// drop_old_partition, which may remove the names. Returns the texts that name no device.
Result<std::vector<std::string>> read_given_devices(const Run& run, Work& work);
// Removes what a former run with devices wrote about nodes, where this run may change them.
void drop_old_partition(const Options& options, Work& work);
// Returns Graphviz text of the main graph with a box per subgraph, or of the subgraphs alone.
std::string draw_partition(const Model& m, const Inference& inference, const Partitioned& p);
// Saves OUT, the models of the buckets, the parts, the manifest and the exports as one set of files.
Status save_partitioned(Run& run);

}  // namespace graphopt
