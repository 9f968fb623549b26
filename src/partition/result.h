// A partition: subgraphs in execution order, and why nodes were moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "partition/problem.h"

namespace graphopt::partition {

enum class Reason : std::uint8_t {
  Atomic,        // the node's group has no better device that takes all of it
  Cost,          // saves time
  MinNodes,      // the subgraph had fewer nodes than its device asks for
  MaxSubgraphs,  // the device had more subgraphs than it takes
  Memory,        // the unit does not fit into the device's memory
  MinGain,       // saves less time than asked for
};

// Nodes that went to a lower device than the first one that takes them.
struct Move {
  Reason reason = Reason::Atomic;
  Index from = 0, to = 0;
  std::vector<Index> nodes;      // in canonical execution order
  std::int64_t saved_ns = 0;     // in all, as estimated; only that of Cost is above 0 for certain
  std::uint64_t need_bytes = 0;  // of Memory
  GroupKind kind = {};           // of Atomic: of the first group of the unit, in canonical order
  friend bool operator==(const Move&, const Move&) = default;
};

// A subgraph that its device's memory did not hold, and the subgraphs that it became.
struct Cut {
  Index device = 0;
  std::uint64_t need_bytes = 0;  // of the whole
  std::vector<Index> subgraphs;
  friend bool operator==(const Cut&, const Cut&) = default;
};

// No partition with these devices of the nodes has fewer.
struct LowerBound {
  Index accelerator = 0, all = 0;
  friend bool operator==(const LowerBound&, const LowerBound&) = default;
};

struct Partition {
  // Subgraphs in execution order. By subgraph:
  std::vector<Index> devices;
  Rows nodes;                             // in canonical execution order: by depth, then rank
  Rows depends;                           // subgraphs that it reads from, ascending
  std::vector<Index> stages;              // the number of subgraphs on the longest path that ends before it
  std::vector<std::uint64_t> need_bytes;  // weights and peak of activations; empty without memory limits

  std::vector<Index> subgraph_of;   // by node
  Index accelerator_count = 0;      // subgraphs that are not on the host
  std::uint64_t border_bytes = 0;   // of all transfers: one for each value and reading subgraph
  std::uint64_t border_values = 0;  // the number of these transfers
  LowerBound bound;                 // for the devices that the nodes ended up on
  bool proven = false;              // no partition with these devices has fewer subgraphs
  // Times of one sequential run, of this partition and of the host alone, as far as devices state them; none
  // where no device does.
  std::optional<std::int64_t> run_ns, host_ns;
  std::vector<Move> moves;  // in the order in which they were made
  std::vector<Cut> cuts;

  std::size_t size() const { return devices.size(); }
  friend bool operator==(const Partition&, const Partition&) = default;
};

}  // namespace graphopt::partition
