// Partitions as sequences of devices.
//
// A partition whose subgraphs need not be connected is a sequence of blocks, and a block may as well take
// everything that is ready on its device. So the fewest subgraphs are the shortest sequence of devices that
// finishes the graph; for three and more devices this is a shortest common supersequence without equal
// neighbours, which is NP-complete (Lagoutte and Tavenas, arXiv 1309.0422).
//
// A lower bound for the rest of a sequence: each device is needed as often as it comes up on one path.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "partition/levels.h"

namespace graphopt::partition {

// The device of the next block of a greedy sequence, among those with ready units.
enum class NextDevice : std::uint8_t {
  Longest,     // the one from which the most blocks follow
  HostLast,    // the same, but the host only when nothing else is ready
  HostFirst,   // the same, but the host as soon as it is ready
  RoundRobin,  // the next one by number
};
inline constexpr std::array kNextDevices{NextDevice::Longest, NextDevice::HostLast, NextDevice::HostFirst,
                                         NextDevice::RoundRobin};
Blocks greedy_blocks(const UnitGraph& graph, NextDevice next);

// Returns the blocks with the fewest accelerator blocks and, among these, the fewest blocks; nothing if more
// than `states` sets of finished units would have to be looked at.
std::optional<Blocks> fewest_blocks(const UnitGraph& graph, std::size_t states);

// Returns the best of what keeping the `width` best sequences at each length finds. `host_first`: whatever is
// ready on the host runs before the next accelerator's block.
Blocks beam_blocks(const UnitGraph& graph, std::size_t width, bool host_first);

}  // namespace graphopt::partition
