// Regions in the report, in `inspect` and in the drawing of --dot.
#pragma once

#include <string>

#include "graphopt/report.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "regions/region_list.h"

namespace graphopt {

// Returns the regions of the main graph with the names of their values. Does not set `form` and `function`.
Report::Regions describe_regions(const Model& m, const RegionList& list);

// Returns Graphviz text of the main graph with a box per region. Nodes with ids from `file_nodes` on, which
// passes made, are filled.
std::string draw_regions(const Model& m, const Inference& inference, const RegionList& list,
                         std::size_t file_nodes);

}  // namespace graphopt
