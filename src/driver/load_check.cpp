#include "driver/load_check.h"

#include <algorithm>
#include <vector>

#include "driver/shapes.h"
#include "infer/appearing_numbers.h"
#include "infer/merged_branches.h"
#include "infer/refused_nodes.h"
#include "ir/type_text.h"
#include "rewrite/hide_types.h"

namespace graphopt {
namespace {

// Hiding an operand may leave another one by which the node is refused; each round hides one more.
constexpr int kMostRounds = 8;

std::vector<StatedAs> stated_types(const Options& options, Work& work, bool bound) {
  std::vector<StatedAs> out;
  for (const TypeOverride& t : coming_types(options, work, bound))
    out.push_back({t.value, t.type, t.keeps_dims});
  return out;
}

bool in_main(const Model& m, NodeId n) { return m.node(n).graph == m.main(); }

bool hides_nothing(NodeId, ValueId) { return false; }

// Returns a node that a runtime certainly refuses with the types that the saved model states; none where
// there is no such node.
NodeId certainly_refused(const Options& options, Work& work, bool bound) {
  const std::vector<StatedAs> stated = stated_types(options, work, bound);
  const auto refused = refused_at_load(work.model, *work.inference,
                                       {.stated = stated, .least = true, .can_hide = hides_nothing});
  return refused.empty() ? NodeId{} : refused.front().node;
}

Error cannot_work(const Model& m, const Inference& infer, NodeId n) {
  constexpr std::size_t kShown = 4;
  std::string operands;
  for (std::size_t i = 0; i < std::min(m.input_count(n), kShown); ++i)
    if (const ValueId v = m.input(n, i))
      operands += (operands.empty() ? "" : " and ") + type_text(m, infer.type(v));
  if (m.input_count(n) > kShown) operands += " and more";
  return Error{ErrorKind::Input, place_of(m, n), "with the given sizes it cannot run: it gets " + operands,
               "give --dim, --shape or --bucket sizes that the model takes"};
}

bool is_refused_as_it_stands(Work& work, bool folded) {
  const LoadQuestion question{.stated = {}, .folds = folded, .least = true, .can_hide = hides_nothing};
  return !refused_at_load(work.model, *work.inference, question).empty();
}

bool can_keep_loading(Work& work) {
  Model& m = work.model;
  const Inference& infer = *work.inference;
  if (branches_may_disagree(m, infer)) return false;
  // Bodies with operands that cannot be hidden. No pass touches one that its reader overwrites.
  const auto holds_exposed = [&](GraphId g, bool overwritten) {
    for (NodeId n = m.first_node(g); n; n = m.next_node(n))
      for (std::size_t k = 0; k < m.input_count(n); ++k)
        if (const ValueId v = m.input(n, k); v && infer.type_of(v).kind == TypeKind::Tensor &&
                                             !can_hide(m, infer, n, v) && (overwritten || !m.is_fixed(v)))
          return true;
    return false;
  };
  std::vector<GraphId> exposed;
  for (std::size_t i = 0; i < m.graph_count(); ++i)
    if (const GraphId g{i}; m.graph(g).alive && g != m.main() && holds_exposed(g, true)) exposed.push_back(g);
  if (!exposed.empty()) {
    const std::vector<bool> may_appear = graphs_where_numbers_may_appear(m, infer);
    for (const GraphId g : exposed)
      if (may_appear[g.index()] && holds_exposed(g, false)) return false;
  }
  if (!any_may_be_refused(m, infer)) return true;
  const auto hides = [&](NodeId n, ValueId v) { return can_hide(m, infer, n, v); };
  for (const RefusedNode& n : refused_at_load(m, infer, {.stated = {}, .whole = true, .can_hide = hides}))
    if (in_main(m, n.node) && !n.fails && n.hide.empty()) return false;
  if (std::ranges::any_of(exposed, [&](GraphId g) { return certainly_fails(m, infer, g); })) return false;
  return true;
}

}  // namespace

Status keep_loading(const Options& options, Work& work, bool bound, bool& changed) {
  Model& m = work.model;
  Inference& infer = *work.inference;
  bound = bound || specializes(bindings_of(options.infer));
  changed = false;
  for (int round = 0; round < kMostRounds; ++round) {
    const std::vector<StatedAs> stated = stated_types(options, work, bound);
    const LoadQuestion question{
        .stated = stated, .whole = bound, .folds = work.loads_folded, .can_hide = [&](NodeId n, ValueId v) {
          return can_hide(m, infer, n, v);
        }};
    const std::vector<RefusedNode> refused = refused_at_load(m, infer, question);
    bool some_stay = false;
    for (const RefusedNode& n : refused) {
      if (bound && (n.fails || (in_main(m, n.node) && n.hide.empty() && !work.left_alone)))
        return cannot_work(m, infer, n.node);
      some_stay = some_stay || n.hide.empty();
    }
    // What the question takes for known, a runtime need not know.
    if (some_stay && (bound || options.infer.write_types) && certainly_refused(options, work, bound)) {
      work.states_less = true;
      const NodeId n = certainly_refused(options, work, bound);
      if (n && bound) return cannot_work(m, infer, n);
    }
    if (!hide_types(m, infer, refused)) break;
    infer.update();
    changed = true;
  }
  return Done{};
}

bool loads_as_it_stands(Work& work) { return !is_refused_as_it_stands(work, false); }

void plan_loading(Work& work) {
  work.left_alone = !can_keep_loading(work);
  work.loads_folded = !work.left_alone && !is_refused_as_it_stands(work, true);
}

}  // namespace graphopt
