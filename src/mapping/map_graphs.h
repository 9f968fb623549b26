// The mapping of the operators of two graphs: which one became which.
//
// Problem: two exporters, two versions or an optimizer write one model in two ways; names differ, and
// operators are fused, decomposed, moved or left out. Method, from what is certain to what is not: value
// numbers from both ends, contents of constants, colours of neighbourhoods, percolation from pair to pair,
// alignment of the canonical lines across what was rewritten, assignment within small blocks of equal
// operators; then groups by corresponding values. Each step is about linear in operators and edges.
#pragma once

#include <memory>
#include <vector>

#include "infer/infer.h"
#include "ir/model.h"
#include "mapping/groups.h"
#include "mapping/matching.h"

namespace graphopt::mapping {

struct MapOptions {
  bool weights = true;  // contents of constants count
};

struct Mapping {
  std::unique_ptr<Labels> labels;
  std::unique_ptr<Side> a, b;
  std::vector<Pair> pairs;  // in the order of A's operators
  std::vector<Group> groups;
  // Shares of the operators of either side that are in a pair or in a group with both sides. There are no
  // groups where the graphs are not one model.
  double mapped_a = 0, mapped_b = 0;
  bool is_one_model = false;
};

inline constexpr double kLeastMapped = 0.3;  // of both sides: below, the graphs are not one model

// Maps the main graphs. The models and their inferences outlive the result.
Mapping map_graphs(const Model& a, const Inference& of_a, const Model& b, const Inference& of_b,
                   const MapOptions& options);

}  // namespace graphopt::mapping
