// The phase "regions" of a run, and what `inspect` says about regions.
#pragma once

#include <string>

#include "graphopt/report.h"
#include "hoist/regions/region_list.h"
#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

// The main graph's regions by name. Form and functions are left open.
Report::Regions describe_regions(const Model& m, const RegionList& list);

// Graphviz text of the main graph: a box per region; nodes from `file_nodes` on (those that passes made) are
// filled.
std::string draw_regions(const Model& m, const Inference& inference, const RegionList& list,
                         std::size_t file_nodes);

}  // namespace graphopt
