// The mapping of two graphs, from what is certain to what is not.
//
// Method: value numbers from both ends, contents of constants, colours of neighbourhoods, percolation from
// pair to pair, alignment of the canonical lines across what was rewritten, assignment within small blocks of
// equal operators; then groups by corresponding values. Each step is about linear in operators and edges.
#pragma once

#include <span>

#include "mapping/ends.h"
#include "mapping/map_graphs.h"

namespace graphopt::mapping {

// Maps the operators of scope.a and scope.b: sets its pairs, groups and mates. Adds to `refused` what is
// given and contradicted by constants.
void map_scope(Scope& scope, Ends ends, const MapOptions& options, Labels& labels,
               std::vector<Mapping::Refused>& refused);

}  // namespace graphopt::mapping
