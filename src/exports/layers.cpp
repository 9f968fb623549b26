#include "exports/layers.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "deploy/manifest_json.h"

namespace graphopt {
namespace {

using nlohmann::json;

constexpr const char* kLayersFormat = "graphopt.layers";
constexpr const char* kLayersVersion = "1.0";
constexpr const char* kOption = "session.layer_assignment_settings";

// ONNX Runtime's name for devices of a kind (its document on annotated partitioning). Those for which it has
// none are "accelerator": any that is no CPU.
std::string designator_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::Cpu:
    case DeviceKind::Gpu:
    case DeviceKind::Npu:
    case DeviceKind::Fpga: return std::string(word(kind));
    case DeviceKind::Dsp:
    case DeviceKind::Other: break;
  }
  return "accelerator";
}

}  // namespace

// Devices of one kind share a rule: ONNX Runtime cannot tell them apart.
std::string layers_text(const deploy::Manifest& manifest, const SetFile& out) {
  json devices = json::array();
  std::vector<std::pair<std::string, std::string>> rules;  // designator, annotations
  for (deploy::Index d = 0; d < manifest.devices.size(); ++d) {
    const deploy::Device& device = manifest.devices[d];
    const std::string designator = designator_of(device.kind);
    json one = {{"id", device.id},
                {"kind", word(device.kind)},
                {"designator", designator},
                {"annotations", json::array()}};
    if (device.ep) one["ep"] = deploy::to_json(*device.ep);
    for (const deploy::Subgraph& subgraph : manifest.subgraphs) {
      if (subgraph.device != d) continue;
      one["annotations"].push_back(subgraph.id);
      auto rule = std::ranges::find(rules, designator, &std::pair<std::string, std::string>::first);
      if (rule == rules.end()) rule = rules.insert(rule, {designator, {}});
      rule->second += (rule->second.empty() ? "=" : ",=") + subgraph.id;
    }
    devices.push_back(std::move(one));
  }
  std::string setting;
  for (const auto& [designator, annotations] : rules)
    setting += (setting.empty() ? "" : "; ") + designator + "(" + annotations + ")";
  return deploy::document_text({{"format", kLayersFormat},
                                {"version", kLayersVersion},
                                {"model", {{"path", out.name}, {"bytes", out.bytes}, {"sha256", out.sha256}}},
                                {"network", manifest.network.id},
                                {"session_options", {{kOption, setting}}},
                                {"devices", std::move(devices)}});
}

bool is_layers_text(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  const auto format = document.find("format");
  return format != document.end() && *format == kLayersFormat;
}

}  // namespace graphopt
