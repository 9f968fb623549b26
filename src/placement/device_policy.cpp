#include "placement/device_policy.h"

#include <limits>

#include "ir/bodies.h"

namespace graphopt {

DevicePolicy::DevicePolicy(std::span<const Profile> devices, Model& model, const Inference& inference,
                           std::span<const DimId> fixed)
    : model_(model) {
  for (const Profile& device : devices) {
    if (device.host || accelerators_.size() == std::numeric_limits<DeviceSet>::digits) continue;
    const DeviceSet bit = DeviceSet{1} << accelerators_.size();
    accelerators_.emplace_back(bit, std::make_unique<Support>(device, model, inference, fixed));
    all_ |= bit;
  }
}

DeviceSet DevicePolicy::denying(NodeId n) {
  DeviceSet out = 0;
  for (auto& [bit, support] : accelerators_)
    if (support->check(n).refusal == DeviceRefusal::Denied) out |= bit;
  return out;
}

std::vector<std::pair<std::string_view, std::string>> DevicePolicy::reasons(NodeId n) {
  std::vector<std::pair<std::string_view, std::string>> out;
  for (auto& [bit, support] : accelerators_)
    out.emplace_back(support->profile().id, support->explain(n, support->check(n)));
  return out;
}

DeviceSet DevicePolicy::supporting(NodeId n) {
  const GraphId g = model_.node(n).graph;
  if (is_in_function(model_, g)) return 0;
  DeviceSet out = 0;
  for (auto& [bit, support] : accelerators_) {
    if (g != model_.main() && support->profile().control_flow == ControlFlow::None) continue;
    if (support->check(n).supported()) out |= bit;
  }
  return out;
}

}  // namespace graphopt
