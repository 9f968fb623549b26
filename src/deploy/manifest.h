// The manifest: one JSON document that says what a partitioned model is, so that a runner needs nothing else
// (docs/manifest.md has every key, share/graphopt/schemas/manifest.schema.json the schema).
//
// Equal inputs, options and version give equal bytes: keys are sorted, numbers are integers, and there is no
// time, host or absolute path in it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "devices/profile.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "ir/part.h"
#include "deploy/network_id.h"
#include "onnx/writer.h"
#include "partition/result.h"
#include "placement/placement.h"
#include "support/output_set.h"

namespace graphopt {

using ManifestOption = std::variant<std::string, std::int64_t, bool>;

// What the manifest is made of. All are kept by reference or copied while it is made.
struct ManifestSource {
  Model& model;
  const Inference& inference;
  std::span<const Profile> devices;
  const Placement& placement;
  const partition::Partition& partition;
  std::span<const ModelPart> parts;
  std::span<const TypeOverride> types;        // that the parts state
  std::span<const TypeOverride> whole_types;  // that OUT states

  std::string algorithm;  // "grow", "fewest", "depth", "given"; "none" where the host alone is asked
  bool connected = false;
  std::string version;                            // of graphopt
  std::map<std::string, ManifestOption> options;  // those that change the result
  std::string source_id;                          // of the model as it was loaded; empty: not known
  PayloadHashes* hashes = nullptr;                // shared by OUT and the models of its buckets
};

// Everything but files and buckets: they are known when all is written, resp. specialized.
nlohmann::json manifest_of(const ManifestSource& source);
// The entry of a bucket's model in `buckets.models`, without `file`, `at` and `peak_bytes`.
nlohmann::json bucket_model_of(const ManifestSource& source);
// Returns the most bytes of activations that a run of the whole model needs at once; none where a size is not
// a number.
std::optional<std::uint64_t> peak_bytes(const ManifestSource& source);

// The files of one model: OUT, or a bucket's.
struct ManifestFiles {
  SetFile model;
  // By subgraph. Without a file each, and with one subgraph that is the whole, this is the model's file.
  std::vector<SetFile> parts;
  bool is_one_part = false;
};
// Adds OUT, the models of the buckets in their order, and the data file. Names are relative to the manifest's
// folder.
void add_files(nlohmann::json& manifest, const ManifestFiles& out, std::span<const ManifestFiles> buckets,
               const std::optional<SetFile>& data);
// Returns the text: sorted keys, one space of indent, a newline at the end.
std::string manifest_text(const nlohmann::json& manifest);
// Returns the files that a manifest lists, without OUT, which the user named: subgraphs, models of buckets
// and external data. Nothing for a text that is no manifest.
std::optional<std::vector<SetFile>> read_manifest_files(std::string_view text);

// Returns the name of the i-th subgraph: "s0", "s1" ...
std::string subgraph_name(std::size_t i);

}  // namespace graphopt
