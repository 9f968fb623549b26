// What the state machine of requests (scheduler.h) looks up about a partitioned model, computed once.
//
// A schedule::Problem says which subgraph reads which value. While requests run, the questions are others:
// which copies of a value are there, one for each device that makes or reads it; how many subgraphs hold a
// copy; and what has to be on a device before a subgraph starts. A copy is a number, so that the state of a
// request is a few arrays. Outside of all devices there is one copy more of a value, in the memory from which
// inputs come, through which devices pass values to each other, and where spilled values wait.
//
//   in -> a (npu) -> t -> b (npu), c (cpu)    =>    copies: t on npu, read once, and t on cpu, read once;
//                                                   a stores t outside, since c reads it elsewhere
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schedule/memory.h"
#include "schedule/problem.h"

namespace graphopt::execution {

using schedule::Index;

struct Copy {
  Index value = 0, device = 0;
  std::uint64_t bytes = 0;
  std::vector<Index> reads;  // places in the order of the subgraphs of this device that read it, ascending
};

struct PlannedSubgraph {
  Index device = 0;
  Index place = 0;               // in the order
  std::vector<Index> inputs;     // copies on the device, each once
  std::vector<Index> outputs;    // the same
  std::vector<Index> stores;     // values that are stored outside when it has run
  std::vector<Index> consumers;  // subgraphs that read its results, each once
  std::uint64_t producers = 0;   // subgraphs whose results it reads
  std::uint64_t workspace = 0;   // bytes of a run, beyond inputs and outputs
  std::uint64_t needed = 0;      // bytes of inputs, outputs and workspace together
};

struct PlannedValue {
  bool network_input = false, network_output = false;
  std::uint64_t reads = 0;  // subgraphs of all devices that read it
  std::vector<Index> copies;
};

// Sizes together are below this, so that sums over many requests do not overflow.
inline constexpr std::uint64_t kMostPlanBytes = std::uint64_t{1} << 50;

class Plan {
 public:
  // `order` holds each subgraph of the problem once, producers first. A size that is not known counts as 0,
  // and has_sizes() tells. Returns nothing where all sizes together are kMostPlanBytes or more. Linear in
  // subgraphs, values and readers, up to a logarithm.
  static std::optional<Plan> make(const schedule::Problem& problem, const schedule::Order& order,
                                  schedule::Retain retain);

  std::span<const PlannedSubgraph> subgraphs() const { return subgraphs_; }
  std::span<const PlannedValue> values() const { return values_; }
  std::span<const Copy> copies() const { return copies_; }
  const schedule::Order& order() const { return order_; }
  Index devices() const { return devices_; }
  bool has_sizes() const { return has_sizes_; }
  bool uses(Index device) const { return uses_[device]; }

  // Returns the first subgraph, in the order, that needs more than its device's budget, or whose device has
  // one while sizes are not known.
  std::optional<Index> misfit(std::span<const std::optional<std::uint64_t>> budgets) const;
  // Returns the subgraphs on the longest way from an input to an output.
  std::size_t longest_way() const;

 private:
  std::vector<PlannedSubgraph> subgraphs_;
  std::vector<PlannedValue> values_;
  std::vector<Copy> copies_;
  schedule::Order order_;
  std::vector<bool> uses_;  // by device
  Index devices_ = 0;
  bool has_sizes_ = true;
};

}  // namespace graphopt::execution
