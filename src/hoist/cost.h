// The one cost of graph moves: (C', F + D), compared in this order (methods/rewrites.md, part c).
//
//   C'  nodes that are neither deformations nor absorbed elementwise nodes
//   F   elementwise nodes in no anchored region and not absorbed (regions.h)
//   D   deformation nodes
// Nodes that compute shapes only do not count. A move is kept iff the cost falls, so every run of moves ends.
#pragma once

#include <cstdint>
#include <vector>

#include "hoist/draft/draft.h"
#include "hoist/regions/regions.h"

namespace graphopt {

struct Cost {
  std::int64_t compute = 0;   // C'
  std::int64_t free = 0;      // F
  std::int64_t deform = 0;    // D
  std::int64_t absorbed = 0;  // E in epilogues: no part of the cost, but says why it rose
  std::int64_t nodes() const { return compute + deform + absorbed; }
  friend bool operator<(const Cost& a, const Cost& b) {
    return a.compute != b.compute ? a.compute < b.compute : a.free + a.deform < b.free + b.deform;
  }
};

// Keeps the cost of a draft up to date over moves that are tried, kept or undone.
class CostKeeper {
 public:
  explicit CostKeeper(Draft& d) : d_(d), regions_(d) {}

  // Everything, once: absorbed nodes, regions, the sum.
  void start();
  const Cost& cost() const { return total_; }
  // The cost after the changes since the last keep(): looks at what was touched and around it. The draft's
  // marks
  // (absorbed, region) follow, logged like any change.
  Cost price();
  // The changes that price() looked at are kept.
  void keep();
  std::span<const DNode> regrown() const {
    return regions_.updated();
  }  // whose region the last price() asked for

 private:
  enum Share : std::uint8_t { kNothing, kCompute, kFree, kDeform, kAbsorbed };
  Share share(DNode n) const;
  static void add(Cost& c, Share s, std::int64_t sign);
  bool absorbed_now(DNode n) const;
  void update_absorbed();

  Draft& d_;
  Regions regions_;
  Cost total_, priced_;
  std::vector<std::uint8_t> counted_;  // by node: its share in total_
  std::vector<DNode> changed_;         // looked at by the last price()
  std::vector<DNode> work_;            // of update_absorbed()
  std::vector<std::uint32_t> seen_;
  std::uint32_t epoch_ = 0;
};

}  // namespace graphopt
