#include "mapping/assignment.h"

#include <limits>

namespace graphopt::mapping {

// Rows and columns count from 1; column 0 holds the row that looks for a column.
std::vector<std::size_t> best_assignment(const std::vector<std::vector<double>>& gains) {
  const std::size_t rows = gains.size(), columns = rows == 0 ? 0 : gains[0].size();
  std::vector<double> row_price(rows + 1), column_price(columns + 1);
  std::vector<std::size_t> row_of(columns + 1), from(columns + 1);
  for (std::size_t row = 1; row <= rows; ++row) {
    row_of[0] = row;
    std::size_t column = 0;
    std::vector<double> least(columns + 1, std::numeric_limits<double>::infinity());
    std::vector<bool> is_reached(columns + 1);
    while (row_of[column] != 0) {
      is_reached[column] = true;
      const std::size_t at = row_of[column];
      double step = std::numeric_limits<double>::infinity();
      std::size_t next = 0;
      for (std::size_t c = 1; c <= columns; ++c) {
        if (is_reached[c]) continue;
        const double cost = -gains[at - 1][c - 1] - row_price[at] - column_price[c];
        if (cost < least[c]) {
          least[c] = cost;
          from[c] = column;
        }
        if (least[c] < step) {
          step = least[c];
          next = c;
        }
      }
      for (std::size_t c = 0; c <= columns; ++c) {
        if (is_reached[c]) {
          row_price[row_of[c]] += step;
          column_price[c] -= step;
        } else {
          least[c] -= step;
        }
      }
      column = next;
    }
    while (column != 0) {
      row_of[column] = row_of[from[column]];
      column = from[column];
    }
  }
  std::vector<std::size_t> out(rows);
  for (std::size_t c = 1; c <= columns; ++c)
    if (row_of[c] != 0) out[row_of[c] - 1] = c - 1;
  return out;
}

}  // namespace graphopt::mapping
