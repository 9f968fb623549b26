// A partitioned model as a model package of ONNX Runtime: the text of its manifest.json.
//
// Problem: a package has components, which are models, and of each component variants, of which ONNX Runtime
// takes the one for the first execution provider of a session. It has no word for subgraphs, for the order in
// which models run, or for sizes of inputs. Method: a component is a model that is run as a whole, OUT or
// that of a bucket. Its variants name one file, so that weights are there once: one for each execution
// provider of the profiles, with the session option that says which nodes it gets (exports/layers.h), and one
// for the CPU, where all nodes run. Sizes of buckets are metadata, for who opens the package. Rules:
// model_package/README.md and onnxruntime/core/session/model_package/README.md of microsoft/onnxruntime,
// schema version 1.0, and release 1.32, which refuses a key that it does not know, a variant without a
// provider, and options of providers that the session has by their name alone. Linear in the subgraphs, times
// the devices.
//
//   "model": {"variants": {"cpu": {"ep": "CPUExecutionProvider", "variant_directory": "models", ...}, ...}}
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deploy/manifest.h"

namespace graphopt {

inline constexpr const char* kPackageModels = "models";  // the folder of the files

// What the package cannot do that the partition says.
std::vector<std::string> package_warnings(const deploy::Manifest& manifest);
// Returns the text. `name`: of the package. `components` and `files`: names of OUT's and of those of buckets,
// in the manifest's order. Equal manifests and names give equal bytes.
std::string package_text(const deploy::Manifest& manifest, std::string_view name,
                         std::span<const std::string> components, std::span<const std::string> files);

}  // namespace graphopt
