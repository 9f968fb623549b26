// Makes the manifest of a partitioned model (deploy/manifest.h).
//
// Linear in nodes, operands and parts, up to sorting. The model does not change but for expressions in its
// pool of dims: sizes are products of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "deploy/manifest.h"
#include "deploy/network_id.h"
#include "devices/profile.h"
#include "graphopt/error.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "ir/part.h"
#include "onnx/writer.h"
#include "partition/result.h"
#include "placement/placement.h"

namespace graphopt::deploy {

// What the manifest is made of. All are kept by reference or copied while it is made.
struct ManifestSource {
  Model& model;
  const Inference& inference;
  std::span<const graphopt::Profile> devices;
  const Placement& placement;
  const partition::Partition& partition;
  std::span<const ModelPart> parts;
  std::span<const TypeOverride> types;        // that the parts state
  std::span<const TypeOverride> whole_types;  // that OUT states

  Algorithm algorithm = Algorithm::None;
  bool connected = false;
  bool least_memory = false;  // the order of the subgraphs: one with a low peak, and not the file's
  std::vector<std::optional<std::uint64_t>> budgets;  // by device, bytes for one request
  std::string version;                                // of graphopt
  std::map<std::string, Option> options;              // those that change the result
  std::string source_id;                              // of the model as it was loaded; empty: not known
  PayloadHashes* hashes = nullptr;                    // shared by OUT and the models of its buckets
};

// Returns why nodes moved; none where a group of them has no better device that takes all of it.
std::optional<MoveReason> move_reason(partition::Reason reason);
// Returns everything but files and buckets: they are known when all is written, resp. specialized.
Manifest make_manifest(const ManifestSource& source);
// Returns the model of a bucket without its file. `at`: its sizes by symbol; `peak_bytes`: see below.
BucketModel make_bucket_model(const ManifestSource& source, std::span<const std::int64_t> at,
                              std::optional<std::uint64_t> peak_bytes);
// Returns the most bytes of activations that a run of the whole model needs at once; none where a size is not
// a number.
std::optional<std::uint64_t> peak_bytes(const ManifestSource& source);

// Returns the launch of a subgraph and the times of its nodes; none where its device has no costs.
std::optional<std::uint64_t> subgraph_ns(const Placement& placement, Index device, const ModelPart& part);

// Returns the name of the i-th subgraph: "s0", "s1" ...
std::string subgraph_name(std::size_t i);

}  // namespace graphopt::deploy
