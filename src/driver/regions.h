// Regions in the report, and in `inspect`.
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

}  // namespace graphopt
