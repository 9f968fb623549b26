// The mapping of two graphs, from what is certain to what is not.
//
// Method: value numbers from both ends, contents of constants, colours of neighbourhoods, percolation from
// pair to pair, alignment of the canonical lines across what was rewritten, assignment within small blocks of
// equal operators; then groups by corresponding values. Each step is about linear in operators and edges.
#pragma once

#include <span>

#include "mapping/map_graphs.h"

namespace graphopt::mapping {

// Maps the operators of scope.a and scope.b, whose ends are known: sets its pairs, groups and mates. Adds to
// `refused` what is given and contradicted by constants.
void map_scope(Scope& scope, const MapOptions& options, Labels& labels,
               std::vector<Mapping::Refused>& refused);

// The same by the literal method (literal.h), which has no groups. Results of pairs correspond.
void map_scope_literally(Scope& scope, const MapOptions& options);

}  // namespace graphopt::mapping
