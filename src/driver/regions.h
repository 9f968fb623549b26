// Regions in the report, in `inspect` and in the drawing of --dot.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "graphopt/options.h"
#include "graphopt/stages/regions.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "regions/region_list.h"

namespace graphopt {

struct Work;  // driver/run.h

// Removes what a former run wrote about regions, where this one may change the nodes that it names. Call it
// when the model is loaded.
void drop_old_regions(const Options& options, Work& work);

// Returns whether regions become functions, unless the model is left alone (Work::left_alone): a runtime may
// not see the rank of what a call returns, so that types are stated of values that follow from it.
bool writes_region_functions(const Options& options);

// Writes the regions of the main graph in the form that the options name, and tells nothing.
void write_regions(const Options& options, Work& work);

nlohmann::ordered_json to_json(const std::vector<RegionsStage::Region>& regions);

// Returns the regions of the main graph with the names of their values. Does not set `form` and `function`.
RegionsStage::Report describe_regions(const Model& m, const RegionList& list);

// Returns Graphviz text of the main graph with a box per region. Nodes with ids from `file_nodes` on, which
// passes made, are filled.
std::string draw_regions(const Model& m, const Inference& inference, const RegionList& list,
                         std::size_t file_nodes);

}  // namespace graphopt
