// What the file loses when a rewrite takes reads of values away: the other side of the bill for new
// constants, which --fold-limit bounds.
#pragma once

#include <cstdint>
#include <span>

#include "ir/model.h"

namespace graphopt {

// Returns the bytes of the constants that nothing reads any more when these reads are gone, one entry for
// each read, and with them the nodes of graph g that are then dead, but for those beyond the first 64.
// Constants in the bodies of these nodes count, too.
std::uint64_t bytes_freed(const Model& m, GraphId g, std::span<const ValueId> reads);

// The same when n goes, whatever its results are needed for.
std::uint64_t bytes_freed_with(const Model& m, NodeId n);

}  // namespace graphopt
