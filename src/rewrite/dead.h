// The rule which nodes may be erased when no consumer is left, and a sweeper that erases them as they become
// dead.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/model.h"

namespace graphopt {

// Returns true if `n` may be erased once its results have no uses: pure operators, random draws (an unused
// draw changes no distribution), control flow and function calls whose bodies contain only such nodes.
// Returns false for operators outside the standard domains that have no row in the fact table: they may
// print, count or store. An error that a dead node would raise (an index out of range) is not an effect.
bool removable(const Model& m, NodeId n);

// Collects values that lost their last use and erases what became dead, iteratively, newest first.
class DeadSweeper final : public Listener {
 public:
  explicit DeadSweeper(Model& m) : m_(m) { m_.add_listener(this); }
  ~DeadSweeper() override { m_.remove_listener(this); }
  DeadSweeper(const DeadSweeper&) = delete;
  DeadSweeper& operator=(const DeadSweeper&) = delete;

  void uses_changed(ValueId v) override;
  void node_changed(NodeId n) override;
  void trial_undone() override { candidates_.clear(); }  // which is empty before a trial
  // Erases everything that became dead since the last call; returns the number of nodes.
  std::uint64_t sweep();

 private:
  Model& m_;
  std::vector<NodeId> candidates_;
};

}  // namespace graphopt
