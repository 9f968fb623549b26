// A model that is partitioned for devices, and its drawing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "devices/profile.h"
#include "infer/infer.h"
#include "ir/part.h"
#include "partition/result.h"
#include "placement/placement.h"

namespace graphopt {

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

// Returns Graphviz text of the main graph with a box per subgraph, or of the subgraphs alone.
std::string draw_partition(const Model& m, const Inference& inference, const Partitioned& p);

}  // namespace graphopt
