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
}  // namespace

std::string layer_designator(DeviceKind kind) {
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

std::string layer_setting(std::span<const deploy::Device> devices,
                          std::span<const deploy::Subgraph> subgraphs, const std::vector<bool>& chosen) {
  std::vector<std::pair<std::string, std::string>> rules;  // designator, annotations
  for (deploy::Index d = 0; d < devices.size(); ++d) {
    if (!chosen[d]) continue;
    const std::string designator = layer_designator(devices[d].kind);
    for (const deploy::Subgraph& subgraph : subgraphs) {
      if (subgraph.device != d) continue;
      auto rule = std::ranges::find(rules, designator, &std::pair<std::string, std::string>::first);
      if (rule == rules.end()) rule = rules.insert(rule, {designator, {}});
      rule->second += (rule->second.empty() ? "=" : ",=") + subgraph.id;
    }
  }
  std::string setting;
  for (const auto& [designator, annotations] : rules)
    setting += (setting.empty() ? "" : "; ") + designator + "(" + annotations + ")";
  return setting;
}

std::string layers_text(const deploy::Manifest& manifest, const SetFile& out) {
  json devices = json::array();
  for (deploy::Index d = 0; d < manifest.devices.size(); ++d) {
    const deploy::Device& device = manifest.devices[d];
    json one = {{"id", device.id},
                {"kind", word(device.kind)},
                {"designator", layer_designator(device.kind)},
                {"annotations", json::array()}};
    if (device.ep) one["ep"] = deploy::to_json(*device.ep);
    for (const deploy::Subgraph& subgraph : manifest.subgraphs)
      if (subgraph.device == d) one["annotations"].push_back(subgraph.id);
    devices.push_back(std::move(one));
  }
  const std::string setting =
      layer_setting(manifest.devices, manifest.subgraphs, std::vector<bool>(manifest.devices.size(), true));
  return deploy::document_text({{"format", kLayersFormat},
                                {"version", kLayersVersion},
                                {"model", {{"path", out.name}, {"bytes", out.bytes}, {"sha256", out.sha256}}},
                                {"network", manifest.network.id},
                                {"session_options", {{kLayerOption, setting}}},
                                {"devices", std::move(devices)}});
}

bool is_layers_text(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  const auto format = document.find("format");
  return format != document.end() && *format == kLayersFormat;
}

}  // namespace graphopt
