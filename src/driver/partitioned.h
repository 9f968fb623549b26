// What the partition stage knows and save writes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deploy/partitioned.h"
#include "devices/profile.h"
#include "graphopt/error.h"
#include "graphopt/stages/partition.h"
#include "partition/partition.h"

namespace graphopt {

class Run;
struct Options;
struct Work;

// Reads the profiles into run.partitioned.
Status open_devices(Run& run);
// The same for a run that has buckets and no devices.
void open_host(Run& run);
// How the options ask for a partition.
partition::Options partition_options(const PartitionStage::Options& options);
// Cuts a model: nodes get unique names, and with --devices say in their metadata where they belong. Without
// effect on anything but the model and `out`, so that threads may cut models of their own.
Status partition_model(const Options& options, std::span<const Profile> devices, Work& work,
                       PartitionedModel& out);
// Returns how many more nodes of a model devices take about if the user gives its inputs sizes, and the
// options that give them: "npu takes about 3 more nodes (--dim 'seq=SIZE')". Empty when there are none.
std::string for_fixed_shapes(Work& work, std::span<const Profile> devices, const PartitionedModel& cut);
// Reads which nodes name a device of the run into work.assigned, when the options ask for it. Before
// drop_old_partition, which may remove the names. Returns the texts that name no device.
Result<std::vector<std::string>> read_given_devices(const Run& run, Work& work);
// Removes what a former run with devices wrote about nodes, where this run may change them.
void drop_old_partition(const Options& options, Work& work);
// Saves OUT, the models of the buckets, the parts, the manifest and the exports as one set of files.
Status save_partitioned(Run& run);

}  // namespace graphopt
