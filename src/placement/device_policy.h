// What the accelerators of a run support, for rewrites that ask (rewrite/support_policy.h).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "devices/profile.h"
#include "devices/support.h"
#include "rewrite/support_policy.h"

namespace graphopt {

class DevicePolicy final : public SupportPolicy {
 public:
  // The devices, the model and the inference are kept by reference. Of more accelerators than a set has bits
  // only the first are asked. `fixed` as in Support: symbols that will be numbers.
  DevicePolicy(std::span<const Profile> devices, Model& model, const Inference& inference,
               std::span<const DimId> fixed = {});

  // Nodes in the body of a function run wherever the call does, so no device supports them by themselves;
  // those in other bodies only a device that runs bodies at all.
  DeviceSet supporting(NodeId n) override;
  DeviceSet all() const override { return all_; }
  // Returns the accelerators whose profiles deny the node by its name.
  DeviceSet denying(NodeId n);
  // Returns why the profile of each accelerator that is asked refuses the node, by the devices' ids; "" where
  // it supports the node.
  std::vector<std::pair<std::string_view, std::string>> reasons(NodeId n);

 private:
  const Model& model_;
  std::vector<std::pair<DeviceSet, std::unique_ptr<Support>>> accelerators_;  // the device's bit
  DeviceSet all_ = 0;
};

}  // namespace graphopt
