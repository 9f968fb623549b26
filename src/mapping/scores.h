// How well two operators fit each other, given the pairs so far.
//
// Method: a sum of terms. Labels: type, attributes, dims of the results and of the largest constant.
// Evidence: equal constants, producers that are pairs slot by slot, readers that are pairs, equal colours.
// Against it count producers and readers that are pairs with others, a constant operand where the other has a
// computed one, and the distance of their places between the inputs and the outputs. Equal names count where
// they are asked for; one that is a number, which exporters give anew, decides nothing. Operators of two
// families do not fit. The weights come from pairs of graphs whose mapping is known.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "mapping/colours.h"
#include "mapping/ends.h"
#include "mapping/matching.h"
#include "mapping/view.h"

namespace graphopt::mapping {

struct Score {
  double total = 0, evidence = 0;
};

inline constexpr double kMisfit = -9;  // the total of operators of two families

class Scores {
 public:
  Scores(const Matching& m, const View& view, const Ends& ends, bool weights, bool names)
      : m_(m), view_(view), ends_(ends), weights_(weights), names_(names) {}

  // Colours that count from now on.
  void set_colours(std::vector<Colours> colours) { colours_ = std::move(colours); }
  std::span<const Colours> colours() const { return colours_; }
  // By operator of A: the operator of B at its place of the canonical lines, which breaks ties; kNone: none.
  void set_hint(std::vector<Index> hint) { hint_ = std::move(hint); }
  bool has_hint() const { return !hint_.empty(); }

  Score of(Index a, Index b) const;

 private:
  struct Source {
    enum class Kind : std::uint8_t { Open, Constant, Known } kind = Kind::Open;
    std::uint64_t what = 0;  // of Known: a pair and its result, or a graph input
    friend auto operator<=>(const Source&, const Source&) = default;
  };
  using Words = std::vector<std::uint64_t>;  // sorted

  double labels(Index a, Index b) const;
  double names(Index a, Index b) const;
  double constants(Index a, Index b) const;
  double producers(Index a, Index b) const;
  double readers(Index a, Index b) const;
  Source source(std::size_t s, Index value) const;
  Words known_readers(std::size_t s, Index op) const;

  const Matching& m_;
  const View& view_;
  const Ends& ends_;
  const bool weights_, names_;
  std::vector<Colours> colours_;
  std::vector<Index> hint_;
};

}  // namespace graphopt::mapping
