// Rewrites and the devices that are to run the model.
//
// Problem: passes choose the form of a computation by the number of its nodes. A device that runs the old
// form may refuse the new one, and then the model falls apart into subgraphs.
// Method: a rewrite is carried out in a trial of the model (ir/model.h). It is undone where some device
// supports every node that goes, and none of these devices supports every node that comes. Without devices
// nobody asks. The policy knows devices as bits; passes and rules know nothing of it.
#pragma once

#include <cstdint>

#include "ir/model.h"

namespace graphopt {

using DeviceSet = std::uint64_t;

class SupportPolicy {
 public:
  virtual ~SupportPolicy() = default;
  // Returns the accelerators that support the node by itself, in the model as it is now. Inference knows the
  // types of its operands and results.
  virtual DeviceSet supporting(NodeId n) = 0;
  // All accelerators of the run.
  virtual DeviceSet all() const = 0;
};

// Who supports the nodes that a rewrite replaces, and those that replace them.
class SupportChange {
 public:
  explicit SupportChange(const SupportPolicy& policy) : before_(policy.all()), after_(policy.all()) {}
  void goes(DeviceSet supporting) { before_ &= supporting; }
  void comes(DeviceSet supporting) { after_ &= supporting; }
  // A node that stays, with other operands: it counts where that changes who supports it.
  void stays(DeviceSet before, DeviceSet after) {
    if (before == after) return;
    goes(before);
    comes(after);
  }
  bool nothing_to_lose() const { return before_ == 0; }
  bool suits() const { return before_ == 0 || (before_ & after_) != 0; }

 private:
  DeviceSet before_, after_;
};

// Of a rewrite that does not suit.
inline constexpr const char* kNoDevice = "no device that supports the old nodes supports all new ones";

}  // namespace graphopt
