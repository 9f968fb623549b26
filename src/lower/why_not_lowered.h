// Why a node was not lowered, for --explain.
//
// Method: each expansion of the node's operator is tried alone. It does not fit, and says why; or what it
// writes is looked at in a trial of the model, and the first node that a device refuses is the reason of that
// device. What is written is not expanded in turn, as the search does (lower.h): a reason names what was in
// the way first.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "devices/profile.h"
#include "rewrite/context.h"

namespace graphopt {

struct NotLowered {
  std::string_view expansion;  // its name; empty: there is none for the operator
  std::string reason;
};

class LoweringReasons {
 public:
  // Both are kept by reference. Inference is up to date.
  LoweringReasons(PassContext& c, std::span<const Profile> devices);
  ~LoweringReasons();
  // Returns whether an accelerator supports the node.
  bool is_supported(NodeId n);
  // Returns the reasons for a node of the main graph that no accelerator supports, in the order of the
  // expansions. The model and inference are as before afterwards, but for ids that were used up.
  std::vector<NotLowered> of(NodeId n);

 private:
  struct State;
  std::unique_ptr<State> s_;
};

}  // namespace graphopt
