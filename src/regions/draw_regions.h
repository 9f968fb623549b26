// A drawing of the main graph and its regions, for Graphviz.
#pragma once

#include <cstddef>
#include <string>

#include "infer/infer.h"
#include "ir/model.h"
#include "regions/region_list.h"

namespace graphopt {

// Returns Graphviz text of the main graph with a box per region. Nodes with ids from `file_nodes` on, which
// passes made, are filled.
std::string draw_regions(const Model& m, const Inference& inference, const RegionList& list,
                         std::size_t file_nodes);

}  // namespace graphopt
