// What operators are called outside of a mapping: by their first result that has a name, in bodies by
// OWNER/ATTRIBUTE/RESULT, in functions by CALL/FUNCTION/RESULT.
//
// Names of results are unique in a graph; those of nodes may be empty, or be there twice.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mapping/map_graphs.h"

namespace graphopt::mapping {

// Returns "#N", with the number of the operator, where none of its results has a name.
std::string name_of(const Side& side, Index op);

// Returns what names of operators say of a body: the attribute, with "[k]" for a graph of a list but the
// first.
std::string body_name(std::string_view attribute, std::size_t k);

// By side and scope: what comes before the names of its operators and values; empty for the main graph.
std::array<std::vector<std::string>, 2> prefixes_of(const Mapping& mapping);

// Returns the node whose result has this name; none where there is none. Results other than the first are
// names, too.
NodeId find_operator(const Model& m, std::string_view name);

// Reads "A=B", where names may have '=': the first place at which both sides are operators.
std::optional<GivenPair> find_pair(const Model& a, const Model& b, std::string_view text);

}  // namespace graphopt::mapping
