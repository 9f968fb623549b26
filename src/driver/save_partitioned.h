// What a manifest says of one model of a run: OUT, or a bucket's.
#pragma once

#include <span>

#include "deploy/make_manifest.h"
#include "driver/partitioned.h"
#include "driver/run.h"
#include "onnx/writer.h"

namespace graphopt {

// All but what stands once in a manifest: version, options and ids of the network. `types`: what the parts
// state; `whole_types`: what the model's own file states.
deploy::ManifestSource manifest_source(const Run& run, Work& work, const PartitionedModel& cut,
                                       std::span<const TypeOverride> types,
                                       std::span<const TypeOverride> whole_types);

}  // namespace graphopt
