#include "driver/load_check.h"

#include <vector>

#include "driver/shapes.h"
#include "infer/refused_nodes.h"
#include "rewrite/hide_types.h"

namespace graphopt {
namespace {

// Hiding an operand may leave another one by which the node is refused; each round hides one more.
constexpr int kMostRounds = 8;

}  // namespace

Status keep_loading(const Options& options, Work& work, bool bound, bool& changed) {
  Model& m = work.model;
  Inference& infer = *work.inference;
  bound = bound || specializes(bindings_of(options.infer));
  changed = false;
  for (int round = 0; round < kMostRounds; ++round) {
    std::vector<StatedAs> stated;
    for (const TypeOverride& t : bound ? saved_types_of_bound(options, work) : saved_types(options, work))
      stated.push_back({t.value, t.type, t.keeps_dims});
    const LoadQuestion question{.stated = stated, .whole = bound, .can_hide = [&](NodeId n, ValueId v) {
                                  return can_hide(m, infer, n, v);
                                }};
    const std::vector<RefusedNode> refused = refused_at_load(m, infer, question);
    for (const RefusedNode& n : refused)
      if (n.fails && bound)
        return Error{ErrorKind::Input, place_of(m, n.node),
                     "the node cannot work with the numbers that the dims have now",
                     "give --dim, --shape or --bucket other numbers"};
    if (!hide_types(m, infer, refused)) break;
    infer.update();
    changed = true;
  }
  return Done{};
}

bool loads_as_it_stands(Work& work) {
  const LoadQuestion question{.stated = {}, .least = true, .can_hide = [](NodeId, ValueId) { return false; }};
  return refused_at_load(work.model, *work.inference, question).empty();
}

}  // namespace graphopt
