// Regions as model-local functions, and functions as regions again (methods/rewrites.md, part d;
// docs/regions.md).
//
// Problem: compilers that take one function as one kernel want each region as a call; whoever reads the model
// sees the same block twelve times. And a model that was written so must be an ordinary graph again for the
// next run.
// Method: a region's nodes are put in an order that depends on the region alone, and its body is written as a
// text of operators, attributes and wiring. Equal texts share a function; its name ends in a hash of the
// text. The call stands where the quotient's order has the region.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hoist/regions/region_list.h"
#include "ir/model.h"

namespace graphopt {

inline constexpr std::string_view kRegionDomain = "graphopt.region";
inline constexpr std::int64_t kFunctionIrVersion = 8;  // the first with functions in models

// Every region becomes a call. The graph's other nodes follow the order of the list. Raises the IR version
// where it must. The functions' names, by region.
std::vector<std::string> make_region_functions(Model& m, GraphId graph, const RegionList& list);

// Calls of functions of our domain become the nodes of their bodies, in all graphs; the functions go. A
// function that we would not have made (parameters, bodies in bodies, another opset) stays. How many calls
// went.
std::size_t inline_region_functions(Model& m);

}  // namespace graphopt
