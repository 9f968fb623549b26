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
    for (const TypeOverride& t : coming_types(options, work, bound))
      stated.push_back({t.value, t.type, t.keeps_dims});
    const LoadQuestion question{.stated = stated, .whole = bound, .can_hide = [&](NodeId n, ValueId v) {
                                  return can_hide(m, infer, n, v);
                                }};
    const std::vector<RefusedNode> refused = refused_at_load(m, infer, question);
    for (const RefusedNode& n : refused)
      if (bound && (n.fails || n.hide.empty()))
        return Error{ErrorKind::Input, place_of(m, n.node),
                     "the node cannot work with the numbers that the dims have now",
                     "give --dim, --shape or --bucket other numbers"};
    if (!hide_types(m, infer, refused)) break;
    infer.update();
    changed = true;
  }
  return Done{};
}

bool can_keep_loading(Work& work) {
  Model& m = work.model;
  const Inference& infer = *work.inference;
  if (!any_body_may_be_refused(m, infer)) return true;
  const auto all_can_be_hidden = [&](GraphId g) {
    for (NodeId n = m.first_node(g); n; n = m.next_node(n))
      for (std::size_t i = 0; i < m.input_count(n); ++i) {
        const ValueId v = m.input(n, i);
        if (v && infer.type_of(v).kind == TypeKind::Tensor && !can_hide(m, infer, n, v)) return false;
      }
    return true;
  };
  for (std::size_t i = 0; i < m.graph_count(); ++i) {
    const GraphId g(static_cast<std::uint32_t>(i));
    if (g != m.main() && !all_can_be_hidden(g) && certainly_fails(m, infer, g)) return false;
  }
  return true;
}

bool loads_as_it_stands(Work& work) {
  const LoadQuestion question{.stated = {}, .least = true, .can_hide = [](NodeId, ValueId) { return false; }};
  return refused_at_load(work.model, *work.inference, question).empty();
}

}  // namespace graphopt
