// Masks before a node: reductions, products, windows, searches, softmaxes.
//
// The padding that the node reads is replaced by what the analysis wants there. Exact: in a run on true data
// nothing is replaced. Costs a selection for each masked operand; two nodes that read one operand with the
// same padding replaced read one selection.
#include "buckets/repair/rules.h"

namespace graphopt::repairs {
namespace {

AxisMask axes_of_place(const Contamination::Place& p) {
  AxisMask out = 0;
  for (const int a : p.axes) out |= bit(static_cast<std::size_t>(a));
  return out;
}

}  // namespace

bool mask(RepairContext& r) {
  if (r.refusal.places.empty()) return r.refuse("no operand is to blame");
  for (const Contamination::Place& p : r.refusal.places) {
    if (p.axes.empty()) return r.refuse("no axis is to blame");
    const std::string why = r.masks.obstacle(r.c, p.operand, axes_of_place(p), p.fill);
    if (!why.empty()) return r.refuse(why);
  }
  for (const Contamination::Place& p : r.refusal.places) {
    const PaddedValue& v = r.c.in(p.operand);
    const AxisMask axes = axes_of_place(p);
    const ValueId x = r.model.input(r.n, p.operand);
    const ValueId masked = r.masks.replaced(r.c, p.operand, axes, x, v.type, p.fill, r.here);
    r.text += (r.text.empty() ? "" : ", and ") + r.c.math.text(ContentMath::number(p.fill)) +
              " replaces padding of " + r.c.axis_text(v, axes) + " of operand " + std::to_string(p.operand);
    r.model.set_operand(r.n, p.operand, masked);
  }
  return true;
}

}  // namespace graphopt::repairs
