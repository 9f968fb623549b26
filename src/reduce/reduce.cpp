#include "reduce/reduce.h"

#include <span>

#include "reduce/strategies.h"

namespace graphopt {
namespace {

struct Strategy {
  std::string_view name;
  void (*run)(Session&);
};

// Those that make the graph small, in the order in which they find the most.
constexpr Strategy kGraph[] = {
    {"outputs", drop_outputs},
    {"nodes", cut_nodes},
    {"constants", lift_constants},
    {"functions", inline_functions},
    {"bodies", unfold_bodies},
    {"nodes of bodies", cut_bodies},
    {"results of branches", drop_branch_results},
    {"ways", bypass_nodes},
    {"operands", rewire_operands},
    {"outputs", drop_outputs},
    {"inputs", merge_inputs},
    {"details", drop_details},
};
// Those that make simple what is left.
constexpr Strategy kContent[] = {
    {"texts", drop_texts},
    {"symbols", bind_symbols},
    {"numbers", clear_constants},
    {"extents", shrink_extents},
};

void run_until_stable(Session& s, std::span<const Strategy> strategies,
                      const std::function<void(std::string_view)>& begin) {
  for (bool smaller = true; smaller && !s.ended();) {
    const Measure before = s.measure();
    for (const Strategy& strategy : strategies) {
      if (s.ended()) return;
      begin(strategy.name);
      strategy.run(s);
    }
    smaller = s.measure() < before;
  }
}

}  // namespace

void reduce_model(Session& s, const std::function<void(std::string_view)>& begin) {
  s.drop_unused();
  for (bool smaller = true; smaller && !s.ended();) {
    const Measure before = s.measure();
    run_until_stable(s, kGraph, begin);
    run_until_stable(s, kContent, begin);
    smaller = s.measure() < before;
  }
}

}  // namespace graphopt
