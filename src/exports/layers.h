// OUT.layers.json: what ONNX Runtime needs to put the nodes of OUT on the devices of their subgraphs.
//
// Problem: the nodes of OUT name their subgraphs (metadata `layer_ann`); which device that is, ONNX Runtime
// learns from a session option, and its execution providers from the caller. Method: both stand in one small
// document, with the name and the SHA-256 of the OUT that they are for. docs/exports.md has each key.
//
//   "session_options": {"session.layer_assignment_settings": "npu(=s0,=s2); cpu(=s1)"}
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deploy/manifest.h"
#include "support/output_set.h"

namespace graphopt {

inline constexpr const char* kLayerOption = "session.layer_assignment_settings";

// Returns ONNX Runtime's name for devices of a kind (its document on annotated partitioning). Those for which
// it has none are "accelerator": any that is no CPU.
std::string layer_designator(DeviceKind kind);
// Returns the value of the option for the subgraphs of the devices in `chosen` (by device). Devices of one
// kind share a rule: ONNX Runtime cannot tell them apart.
std::string layer_setting(std::span<const deploy::Device> devices,
                          std::span<const deploy::Subgraph> subgraphs, const std::vector<bool>& chosen);

// Returns the text. `out`: OUT, its name as seen from the folder of this document. Equal manifests give equal
// bytes.
std::string layers_text(const deploy::Manifest& manifest, const SetFile& out);
// Returns true if the text is one that layers_text made.
bool is_layers_text(std::string_view text);

}  // namespace graphopt
