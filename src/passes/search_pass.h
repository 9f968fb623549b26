// A pass that is a search over moves of some kinds.
#pragma once

#include <array>

#include "hoist/search.h"
#include "passes/pass.h"

namespace graphopt {

template <MoveKinds kKinds> class SearchPass final : public Pass {
 public:
  bool run(PassContext& c) override {
    const SearchResult r = search_moves(c, kKinds);
    counters_[0].value += r.kept;
    counters_[1].value = r.refused;
    return r.kept > 0;
  }
  std::span<const Counter> counters() const override { return counters_; }

 private:
  std::array<Counter, 2> counters_{
      {{"kept", "moves kept"}, {"refused", "candidates refused, in the last sweep"}}};
};

}  // namespace graphopt
