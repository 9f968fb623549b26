// See given_devices.h. Rules are those of ONNX Runtime's option session.layer_assignment_settings
// (docs/annotated_partitioning of microsoft/onnxruntime): a text begins with a pattern, or equals one behind
// '='; patterns for beginnings come before others, and of one sort the first that matches counts.
#include "placement/given_devices.h"

#include <algorithm>
#include <optional>
#include <set>

#include "onnx/device_configuration.h"
#include "onnx/node_metadata.h"

namespace graphopt {
namespace {

std::string ids_of(std::span<const Profile> devices) {
  std::string out;
  for (const Profile& p : devices) out += (out.empty() ? "" : ", ") + p.id;
  return out;
}

std::optional<Assignment> device_of_id(std::span<const Profile> devices, std::string_view id) {
  const auto found = std::ranges::find(devices, id, &Profile::id);
  if (found == devices.end()) return std::nullopt;
  return static_cast<Assignment>(found - devices.begin());
}

class Reader {
 public:
  Reader(const Model& m, const PartitionStage::Options& options, std::span<const Profile> devices)
      : m_(m), options_(options), devices_(devices), configurations_(m) {}

  GivenDevices read() {
    out_.nodes.assign(m_.node_count(), kNotKnown);
    for (NodeId n = m_.first_node(m_.main()); n; n = m_.next_node(n)) {
      const std::optional<Assignment> device = device_of(n);
      out_.nodes[n.index()] = device.value_or(kNotAssigned);
      out_.any |= device.has_value();
    }
    return std::move(out_);
  }

 private:
  std::optional<Assignment> device_of(NodeId n) {
    const auto layer = node_metadata(m_, n, kLayerKey);
    const std::vector<PipelineStage> stages = pipeline_stages(m_, n);
    if (const auto device = options_.layers.empty() ? named(n, layer, stages) : ruled(layer, stages))
      return device;
    if (layer) note(std::string(*layer));
    else if (!stages.empty()) note(std::to_string(stages.front().number));
    return std::nullopt;
  }

  // The subgraphs of a former run may be named like devices of this one.
  std::optional<Assignment> named(NodeId n, std::optional<std::string_view> layer,
                                  std::span<const PipelineStage> stages) const {
    const auto device = node_metadata(m_, n, kDeviceKey);
    const bool former = device && (!layer || layer == node_metadata(m_, n, kSubgraphKey));
    if (former)
      if (const auto found = device_of_id(devices_, *device)) return found;
    if (layer)
      if (const auto found = device_of_id(devices_, *layer)) return found;
    for (const PipelineStage& stage : stages)
      if (const auto found = device_of_id(devices_, configurations_.device(stage))) return found;
    return std::nullopt;
  }

  std::optional<Assignment> ruled(std::optional<std::string_view> layer,
                                  std::span<const PipelineStage> stages) const {
    if (layer)
      if (const auto found = matched(*layer)) return found;
    for (const PipelineStage& stage : stages)
      if (const auto found = matched(std::to_string(stage.number))) return found;
    return std::nullopt;
  }

  std::optional<Assignment> matched(std::string_view text) const {
    for (const bool exact : {false, true})
      for (const PartitionStage::LayerRule& rule : options_.layers)
        if (rule.exact == exact && (exact ? text == rule.text : text.starts_with(rule.text)))
          return device_of_id(devices_, rule.device);
    return std::nullopt;
  }

  void note(std::string text) {
    if (seen_.insert(text).second) out_.unmatched.push_back(std::move(text));
  }

  const Model& m_;
  const PartitionStage::Options& options_;
  std::span<const Profile> devices_;
  const Configurations configurations_;
  std::set<std::string> seen_;
  GivenDevices out_;
};

}  // namespace

Result<GivenDevices> given_devices(const Model& m, const PartitionStage::Options& options,
                                   std::span<const Profile> devices) {
  GivenDevices given = Reader(m, options, devices).read();
  if (!given.any)
    return Error{ErrorKind::Input,
                 {m.file, {}, {}, {}, {}},
                 "--assignment given: no node names one of the devices " + ids_of(devices) +
                     (given.unmatched.empty() ? ", by layer_ann or a pipeline stage"
                                              : "; the first one names '" + given.unmatched[0] + "'"),
                 "map the names, as in --assignment 'given=npu(=s0,=s2); cpu(=s1)', or leave it out"};
  return given;
}

Status check_layer_rules(const PartitionStage::Options& options, std::span<const Profile> devices) {
  for (const PartitionStage::LayerRule& rule : options.layers)
    if (!device_of_id(devices, rule.device))
      return Error{
          ErrorKind::Usage,
          {},
          "--assignment given: '" + rule.device + "' is none of the devices of the run: " + ids_of(devices),
          "name one of them, or add it to --devices"};
  return Done{};
}

}  // namespace graphopt
