// The canonical lines of two graphs, and their alignment: pairs across regions that were rewritten.
//
// Problem: behind a decomposed normalization nothing has a pair next to it. Method: each graph becomes a line
// of its operators, depth first from the outputs, slot by slot, that depends neither on names nor on the
// order of the file. Pairs are fixed points: of those that follow each other on both lines the most are kept.
// Between two fixed points the lines are aligned by the heaviest common subsequence, in which operators of
// equal labels match. A gap of more than kMostCells cells is left alone.
// Source: Needleman and Wunsch, 1970, for the table; the fixed points keep it small.
#pragma once

#include <array>
#include <vector>

#include "mapping/ends.h"
#include "mapping/scores.h"

namespace graphopt::mapping {

inline constexpr std::size_t kMostCells = std::size_t{1} << 25;

class Alignment {
 public:
  // `shapes`: dims count (colours.h). All outlive it.
  Alignment(const Matching& m, const Ends& ends, const Scores& scores, bool shapes);

  // Returns the operator of B at the place of each operator of A; kNone: none. For ties: what has no pair
  // yet.
  std::vector<Index> places();
  // The same as proposals whose scores are good enough, with their totals.
  struct Aligned {
    double score = 0;
    Index a = 0, b = 0;
  };
  std::vector<Aligned> proposals();

 private:
  void make_lines();
  std::vector<Index> line(std::size_t s) const;
  void align_gap(std::size_t a_begin, std::size_t a_end, std::size_t b_begin, std::size_t b_end,
                 std::vector<Index>& places) const;
  float weight(Index a, Index b) const;
  bool are_alike(Index a, Index b) const;

  const Matching& m_;
  const Ends& ends_;
  const Scores& scores_;
  const bool shapes_;
  std::array<std::vector<Index>, 2> lines_;  // operators
  std::array<std::vector<Index>, 2> at_;     // by operator: its place; kNone: no output needs it
};

}  // namespace graphopt::mapping
