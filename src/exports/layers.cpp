#include "exports/layers.h"

#include <algorithm>
#include <vector>

#include "deploy/manifest.h"

namespace graphopt {
namespace {

using nlohmann::json;

constexpr const char* kLayersFormat = "graphopt.layers";
constexpr const char* kLayersVersion = "1.0";
constexpr const char* kOption = "session.layer_assignment_settings";

// ONNX Runtime's name for devices of a kind (its document on annotated partitioning). Those for which it has
// none are "accelerator": any that is no CPU.
std::string designator_of(const std::string& kind) {
  constexpr std::string_view known[] = {"cpu", "gpu", "npu", "fpga"};
  return std::ranges::find(known, kind) == std::end(known) ? "accelerator" : kind;
}

}  // namespace

// Devices of one kind share a rule: ONNX Runtime cannot tell them apart.
std::string layers_text(const json& manifest, const SetFile& out) {
  json devices = json::array();
  std::vector<std::pair<std::string, std::string>> rules;  // designator, annotations
  for (const json& device : manifest.at("devices")) {
    json one = {{"id", device.at("id")}, {"kind", device.at("kind")}, {"annotations", json::array()}};
    if (const auto ep = device.find("ep"); ep != device.end()) one["ep"] = *ep;
    const std::string designator = designator_of(device.at("kind").get<std::string>());
    one["designator"] = designator;
    for (const json& subgraph : manifest.at("subgraphs")) {
      if (subgraph.at("device") != device.at("id")) continue;
      one["annotations"].push_back(subgraph.at("id"));
      auto rule = std::ranges::find(rules, designator, &std::pair<std::string, std::string>::first);
      if (rule == rules.end()) rule = rules.insert(rule, {designator, {}});
      rule->second += (rule->second.empty() ? "=" : ",=") + subgraph.at("id").get<std::string>();
    }
    devices.push_back(std::move(one));
  }
  std::string setting;
  for (const auto& [designator, annotations] : rules)
    setting += (setting.empty() ? "" : "; ") + designator + "(" + annotations + ")";
  return manifest_text({{"format", kLayersFormat},
                        {"version", kLayersVersion},
                        {"model", {{"path", out.name}, {"bytes", out.bytes}, {"sha256", out.sha256}}},
                        {"network", manifest.at("network").at("id")},
                        {"session_options", {{kOption, setting}}},
                        {"devices", std::move(devices)}});
}

bool is_layers_text(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  const auto format = document.find("format");
  return format != document.end() && *format == kLayersFormat;
}

}  // namespace graphopt
