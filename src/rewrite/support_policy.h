// Rewrites and the devices that are to run the model.
//
// Problem: passes choose the form of a computation by the number of its nodes. A device that runs the old
// form may refuse the new one, and then the model falls apart into subgraphs.
// Method: a rewrite is carried out in a trial of the model (ir/model.h). It is undone where some device
// supports every removed node, and none of these devices supports every written one; and where every device
// that supports a part of what is removed would refuse more nodes than before. Without devices nobody asks.
// The policy knows devices as bits; passes and rules know nothing of it.
#pragma once

#include <array>
#include <bit>
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
  explicit SupportChange(const SupportPolicy& policy)
      : all_(policy.all()), before_(policy.all()), after_(policy.all()) {}
  void removed(DeviceSet supporting) {
    some_ |= supporting;
    before_ &= supporting;
    count(supporting, -1);
  }
  void written(DeviceSet supporting) {
    after_ &= supporting;
    count(supporting, 1);
  }
  // A node that stays, with other operands: it counts where that changes who supports it.
  void stays(DeviceSet before, DeviceSet after) {
    if (before == after) return;
    removed(before);
    written(after);
  }
  bool nothing_to_lose() const { return some_ == 0; }
  // Returns whether some device that supported all removed nodes supports all written ones and, where none
  // supported all, whether of those that supported a part one need not refuse more nodes than before.
  bool suits() const {
    if (before_ != 0) return (before_ & after_) != 0;
    if (some_ == 0) return true;
    for (std::size_t d = 0; d < refused_.size(); ++d)
      if ((some_ >> d & 1) != 0 && refused_[d] <= 0) return true;
    return false;
  }

 private:
  void count(DeviceSet supporting, int by) {
    for (DeviceSet refused = all_ & ~supporting; refused != 0; refused &= refused - 1)
      refused_[static_cast<std::size_t>(std::countr_zero(refused))] += by;
  }

  DeviceSet all_, before_, after_, some_ = 0;
  std::array<int, 64> refused_{};  // by device: how many more nodes it refuses
};

// Of a rewrite that does not suit.
inline constexpr const char* kNoDevice = "no device that supports the old nodes supports all new ones";

}  // namespace graphopt
