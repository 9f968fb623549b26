// Which devices support nodes of a draft (rewrite/support_policy.h).
#pragma once

#include <span>
#include <vector>

#include "draft/draft.h"
#include "rewrite/context.h"

namespace graphopt {

// Returns the devices that support each of these nodes, which are alive, as they are in the draft now. The
// nodes are made in the model for that, in a trial that is undone. Precondition: c.support.
std::vector<DeviceSet> supporting(const Draft& d, std::span<const DNode> nodes, PassContext& c);

}  // namespace graphopt
