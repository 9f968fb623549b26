// What a schedule is made of: subgraphs that run one after the other or at once, and the values between them.
//
// Plain numbers: no graph, no names. The same code serves the compiler, which knows extents as numbers or not
// at all, and a runner, which knows those of a request.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace graphopt::schedule {

using Index = std::uint32_t;

// A tensor that one subgraph makes, or that goes into the network.
struct Value {
  std::optional<Index> from;           // the subgraph; none: an input of the network
  std::vector<Index> to;               // subgraphs that read it, each once, ascending
  std::optional<std::uint64_t> bytes;  // none: not known before a run
  bool network_output = false;
};

struct Subgraph {
  Index device = 0;
  std::vector<Index> inputs, outputs;  // values, each once
  std::uint64_t workspace_bytes = 0;   // of a run, beyond its inputs and outputs
  std::optional<std::uint64_t> ns;     // of a run; none: not known
};

struct Problem {
  std::vector<Subgraph> subgraphs;
  std::vector<Value> values;
  Index devices = 0;  // their number; the last one is the host
};

using Order = std::vector<Index>;  // subgraphs, producers first

}  // namespace graphopt::schedule
