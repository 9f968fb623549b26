// Which nodes may vanish when nobody reads their results, and a sweeper that removes them as they become
// dead.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/model.h"

namespace graphopt {

// May `n` be removed once its results are unused? Yes for pure operators, random draws (a draw that nobody
// reads changes no distribution), control flow and function calls whose bodies hold only such nodes. No for
// operators that nobody knows outside the standard domains: they may print, count or store. An error that a
// dead node would raise
// (an index out of range) does not count as an effect.
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
  // Erases everything that died since the last call; returns how many nodes went.
  std::uint64_t sweep();

 private:
  Model& m_;
  std::vector<NodeId> candidates_;
};

}  // namespace graphopt
