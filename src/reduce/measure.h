// How large a model is, as a reader sees it who wants to understand it.
//
// Every change that is kept makes the measure smaller. It is a tuple of natural numbers in lexicographic
// order, so the reduction ends, whatever the test answers.
#pragma once

#include <compare>
#include <cstdint>

#include "ir/model.h"

namespace graphopt {

struct Measure {
  std::uint64_t nodes = 0;     // of the main graph and of bodies; a call is a node and counts its body, too
  std::uint64_t borders = 0;   // inputs and outputs of the main graph
  std::uint64_t details = 0;   // operands, results and attributes of nodes, functions
  std::uint64_t symbols = 0;   // dims of inputs that are no numbers
  std::uint64_t elements = 0;  // of inputs and constants
  std::uint64_t bytes = 0;     // of the file and its data
  std::uint64_t nonzero = 0;   // bytes of constants that are not 0
  friend auto operator<=>(const Measure&, const Measure&) = default;
};

Measure measure_of(const Model& m);

// The nodes that a file has: those of the main graph, of bodies, and of each function once.
std::uint64_t written_nodes(const Model& m);

}  // namespace graphopt
