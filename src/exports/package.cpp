#include "exports/package.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "deploy/manifest_json.h"
#include "exports/layers.h"
#include "onnx/node_metadata.h"

namespace graphopt {
namespace {

using nlohmann::json;

constexpr const char* kSchemaVersion = "1.0";
constexpr const char* kCpuProvider = "CPUExecutionProvider";

bool has_provider(const deploy::Device& device) { return device.ep && !device.ep->name.empty(); }

// The devices of each provider other than the CPU's. Sessions tell devices of one provider not apart.
using Providers = std::map<std::string_view, std::vector<deploy::Index>>;

Providers providers_of(const deploy::Manifest& manifest) {
  Providers out;
  for (deploy::Index d = 0; d < manifest.devices.size(); ++d) {
    const deploy::Device& device = manifest.devices[d];
    if (has_provider(device) && device.ep->name != kCpuProvider) out[device.ep->name].push_back(d);
  }
  return out;
}

const deploy::Device& host_of(const deploy::Manifest& manifest) {
  return *std::ranges::find(manifest.devices, true, &deploy::Device::host);
}

// A session of the default path has this provider and the CPU's: rules for others would match nothing, which
// ONNX Runtime logs as an error. Devices of kind cpu have the CPU provider's rule, which would take their
// nodes away from their own. Without a rule for the provider there is none: it takes what it can.
std::string setting_of(const deploy::Manifest& manifest, const deploy::PartitionedNetwork& network,
                       std::span<const deploy::Index> devices) {
  std::vector<bool> chosen(manifest.devices.size());
  for (const deploy::Index d : devices) {
    if (manifest.devices[d].kind == DeviceKind::Cpu) return {};
    chosen[d] = true;
  }
  if (layer_setting(manifest.devices, network.subgraphs, chosen).empty()) return {};
  for (deploy::Index d = 0; d < manifest.devices.size(); ++d) {
    const deploy::Device& device = manifest.devices[d];
    if (device.host ||
        (device.kind == DeviceKind::Cpu && has_provider(device) && device.ep->name == kCpuProvider))
      chosen[d] = true;
  }
  return layer_setting(manifest.devices, network.subgraphs, chosen);
}

json variant(std::string_view provider, const std::string& file) {
  return {{"variant_directory", kPackageModels},
          {"ep", provider},
          {"executor_info", {{"ort", {{"model_file", file}}}}}};
}

// ONNX Runtime has no variant for several providers, and none for any.
json variants(const deploy::Manifest& manifest, const deploy::PartitionedNetwork& network,
              const std::string& file) {
  json out = {{host_of(manifest).id, variant(kCpuProvider, file)}};
  for (const auto& [provider, devices] : providers_of(manifest)) {
    json one = variant(provider, file);
    if (manifest.network.ir_version >= kNodeMetadataIrVersion)
      if (const std::string setting = setting_of(manifest, network, devices); !setting.empty())
        one["executor_info"]["ort"]["session_options"] = {{kLayerOption, setting}};
    json told = json::array();
    for (const deploy::Index d : devices) {
      const deploy::Device& device = manifest.devices[d];
      json& of = told.emplace_back(json{{"id", device.id}, {"kind", word(device.kind)}});
      if (!device.ep->options.empty()) of["provider_options"] = device.ep->options;
    }
    one["additional_metadata"] = {{"devices", std::move(told)}};
    out[manifest.devices[devices.front()].id] = std::move(one);
  }
  return out;
}

}  // namespace

std::vector<std::string> package_warnings(const deploy::Manifest& manifest) {
  std::vector<std::string> out;
  for (const deploy::Device& device : manifest.devices)
    if (!device.host && !has_provider(device))
      out.push_back("the profile '" + device.id +
                    "' names no execution provider (\"ep\"): there is no variant for it");
  if (manifest.network.ir_version < kNodeMetadataIrVersion && !providers_of(manifest).empty())
    out.push_back("nodes have annotations from IR version 10 on, and the model has " +
                  std::to_string(manifest.network.ir_version) +
                  ": execution providers take the nodes that they can run, not those of their subgraphs");
  return out;
}

std::string package_text(const deploy::Manifest& manifest, std::string_view name,
                         std::span<const std::string> components, std::span<const std::string> files) {
  json all = json::object();
  all[components.front()] = {{"variants", variants(manifest, manifest, files.front())}};
  for (std::size_t i = 1; i < components.size(); ++i) {
    const deploy::BucketModel& bucket = manifest.buckets->models[i - 1];
    json sizes = json::object();
    for (std::size_t s = 0; s < bucket.at.size(); ++s)
      sizes[manifest.buckets->symbols[s].name] = bucket.at[s];
    all[components[i]] = {{"variants", variants(manifest, bucket, files[i])},
                          {"additional_metadata", {{"sizes", std::move(sizes)}}}};
  }
  return deploy::document_text({{"schema_version", kSchemaVersion},
                                {"package_name", name},
                                {"layout", "portable"},
                                {"components", std::move(all)},
                                {"additional_metadata", {{"network", manifest.network.id}}}});
}

}  // namespace graphopt
