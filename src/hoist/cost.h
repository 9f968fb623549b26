// The cost of a graph: (C', F + D), compared in this order (docs/hoisting.md, "Cost").
//
//   C'  nodes that are neither deformations nor absorbed elementwise nodes
//   F   elementwise nodes that are in no region and not absorbed (regions/regions.h)
//   D   deformation nodes
// Shape computations do not count. A move is kept only if the cost falls; -O1, `tiles` and `fork` require
// more, and more nodes have to pay: saves_launches(). `clean-up` may also keep the cost: it runs once per
// draft, and each of its steps removes a node, shortens a chain of deformations or turns a Transpose into a
// deformation. So every search ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draft/draft.h"
#include "regions/regions.h"

namespace graphopt {

struct Cost {
  std::int64_t compute = 0;   // C'
  std::int64_t free = 0;      // F
  std::int64_t deform = 0;    // D
  std::int64_t absorbed = 0;  // absorbed nodes: not part of the cost, but the reason when it rose
  // Elementwise nodes that no runtime executes together with a Conv or product: not absorbed, and not in the
  // region of a heavy anchor.
  std::int64_t apart = 0;
  std::int64_t nodes() const { return compute + deform + absorbed; }
  friend bool operator<(const Cost& a, const Cost& b) {
    return a.compute != b.compute ? a.compute < b.compute : a.free + a.deform < b.free + b.deform;
  }
};

// Returns whether more nodes than before are worth it: C' falls, or each new node brings two into the region
// of a Conv or product. A region of another anchor (a Concat, a reduction) saves no launch in any runtime
// that was measured.
inline bool saves_launches(const Cost& before, const Cost& after) {
  return after.compute < before.compute || before.apart - after.apart >= 2 * (after.nodes() - before.nodes());
}

// Keeps the cost of a draft up to date over moves that are tried, kept or undone.
class CostKeeper {
 public:
  explicit CostKeeper(Draft& d) : d_(d), regions_(d) {}

  // Computes absorbed nodes, regions and the cost of the whole draft. Call it once, before the others.
  void start();
  const Cost& cost() const { return total_; }
  // Compares what is kept with the draft, counted anew: the cost, each node's share in it, which nodes are
  // absorbed, and each region with its definition. (Not with regions that grow from the start: those join
  // nodes in another order, and where a cycle forbids one of two joins the result may differ.) Takes as long
  // as the draft is large. Returns the first difference as a sentence, or an empty string. Call it after
  // start() or keep().
  std::string difference();
  // Returns the cost after the changes since the last keep(), from the nodes that were touched and their
  // neighbours. Updates `absorbed` and `region` of the draft's nodes, logged like any change.
  Cost price();
  // Makes the cost that the last price() returned the current one.
  void keep();
  // The nodes whose region the last price() decided anew.
  std::span<const DNode> regrown() const { return regions_.updated(); }

 private:
  enum Share : std::uint8_t { kNothing, kCompute, kApart, kFree, kDeform, kAbsorbed };
  Share share(DNode n) const;
  static void add(Cost& c, Share s, std::int64_t sign);
  bool absorbed_now(DNode n) const;
  void update_absorbed();

  Draft& d_;
  Regions regions_;
  Cost total_, priced_;
  std::vector<std::uint8_t> counted_;  // by node: its share in total_
  std::vector<DNode> changed_;         // nodes whose share the last price() counted anew
  std::vector<DNode> work_;            // of update_absorbed()
  std::vector<std::uint32_t> seen_;
  std::uint32_t epoch_ = 0;
};

}  // namespace graphopt
