// The assignment of rows to columns with the greatest sum.
//
// Method: the Hungarian method with potentials, O(n^3) for n rows and columns together.
// Source: Kuhn, 1955; Jonker and Volgenant, 1987.
#pragma once

#include <cstddef>
#include <vector>

namespace graphopt::mapping {

// `gains`: by row, then by column; as many rows as there are columns at most. Returns the column of each row.
// The first of equal sums is taken.
std::vector<std::size_t> best_assignment(const std::vector<std::vector<double>>& gains);

}  // namespace graphopt::mapping
