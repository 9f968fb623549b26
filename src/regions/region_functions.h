// Regions as model-local functions, and back (docs/regions.md).
//
// Problem: compilers that take one function as one kernel need each region as a call, and readers of the
// model should see that the same block occurs twelve times. A model written so must be an ordinary graph
// again for the next run. Method: the nodes of a region are put in an order that depends on the region alone,
// and its body is written as a text of operators, attributes and wiring. Regions with equal texts share a
// function, whose name ends in a hash of the text. Calls are in the order of the quotient (region_list.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/model.h"
#include "regions/region_list.h"

namespace graphopt {

inline constexpr std::string_view kRegionDomain = "graphopt.region";
inline constexpr std::int64_t kFunctionIrVersion = 8;  // the first with functions in models

// Replaces every region by a call, puts the other nodes of the graph in the order of the list, and raises the
// IR version to kFunctionIrVersion if it is lower. Returns the functions' names, by region.
std::vector<std::string> make_region_functions(Model& m, GraphId graph, const RegionList& list);

// Inlines all calls of functions of kRegionDomain, in all graphs, and removes the functions. A function that
// make_region_functions() cannot have made (with parameters, nested bodies, another opset) stays. Returns the
// number of calls that were inlined.
std::size_t inline_region_functions(Model& m);

}  // namespace graphopt
