// Problem: the same elementwise operator stands behind every result of a Split.
// Method: every result has one consumer (through deformations that nothing else reads), the same elementwise operator with the
// result at the same operands. One node goes in front of the Split, the deformations stay on their branches. Chains follow one
// operator at a time.
// Exact: as merge_concat. Ends: one operator per branch is looked at.
#include <algorithm>

#include "hoist/elements.h"
#include "hoist/merge_operands.h"

namespace graphopt {
namespace {

struct Piece {
  DValue result;                  // of the Split
  std::vector<DNode> between;     // deformations, in order
  DValue value;                   // behind them
  DNode node;                     // the elementwise node
};

// The only node that reads v, be it at several operands.
DNode only_reader(const Draft& d, DValue v) {
  if (d[v].held || !d.first_use(v)) return {};
  const DNode n = d.user(d.first_use(v));
  for (DUse u = d.first_use(v); u; u = d.next_use(u))
    if (d.user(u) != n) return {};
  return n;
}

bool follow(const Draft& d, Piece& p, Refusal& why) {
  p.value = p.result;
  while (true) {
    const DNode n = p.value ? only_reader(d, p.value) : DNode{};
    if (!n || d[n].host) {
      why = p.value && d[p.value].held ? held_because(d, p.value) : Refusal::MultiUse;
      return false;
    }
    if (d[n].part == Part::Elementwise) {
      p.node = n;
      return true;
    }
    if (d[n].part != Part::Deform || !d.lone(p.value) || d.slot(d.first_use(p.value)) != 0) {
      why = d[n].part == Part::Deform ? Refusal::MultiUse : not_elementwise(d, n);
      return false;
    }
    p.between.push_back(n);
    p.value = d.out(n);
  }
}

// Brings the Split and the deformations behind `place`, where the shared operands are computed.
void move_behind(Draft& d, DNode split, std::span<const Piece> pieces, DNode place) {
  if (!place || d.before(place, split)) return;
  const DNode next = d[place].next;
  d.move_before(split, next);
  for (const Piece& p : pieces)
    for (const DNode n : p.between)
      if (d.before(n, split)) d.move_before(n, d[split].next);
  // Chains on one branch keep their order: later ones were put right behind the Split, in front of earlier ones.
  for (const Piece& p : pieces)
    for (std::size_t i = 1; i < p.between.size(); ++i)
      if (d.before(p.between[i], p.between[i - 1])) d.move_before(p.between[i], d[p.between[i - 1]].next);
}

}  // namespace

bool merge_split(Draft& d, DNode split, const MoveOptions& o, Refusal& why) {
  const DValue x = d.in(split, 0);
  const ShapeId whole = d.shape(x);
  if (d[split].out_count < 2) return false;
  if (!whole) {
    why = Refusal::ShapeUnknown;
    return false;
  }
  std::vector<Piece> pieces;
  std::vector<DNode> nodes;
  for (const DValue v : d.outs(split)) {
    Piece p;
    p.result = v;
    if (!follow(d, p, why)) return false;
    if (!d.shape(v) || !d.shape(p.value) || d.shape(d.out(p.node)) != d.shape(p.value)) {
      why = Refusal::ShapeUnknown;
      return false;
    }
    nodes.push_back(p.node);
    pieces.push_back(std::move(p));
  }
  if (!same_elementwise(d, nodes, whole, o, why)) return false;
  const DNode first = nodes[0];
  for (const Piece& p : pieces)
    if (d[p.node].by_axis && (d.shape(p.value) != d.shape(p.result) || d[p.node].axis == d[split].axis)) {
      why = Refusal::AxisCut;
      return false;
    }
  const DType type = d[d.out(first)].dtype;
  if (!type_can_move(d, type)) {
    why = Refusal::Type;
    return false;
  }
  if (bits_of(type) > bits_of(d[x].dtype)) {
    why = Refusal::Bytes;
    return false;
  }
  std::vector<DValue> in;
  DNode latest;   // the last definition of a shared operand
  for (std::uint32_t k = 0; k < d[first].in_count; ++k) {
    if (!d.in(first, k)) {
      in.push_back({});
      continue;
    }
    if (std::ranges::all_of(pieces, [&](const Piece& p) { return d.in(p.node, k) == p.value; })) {
      in.push_back(x);
      continue;
    }
    std::vector<Branch> branches;
    for (const Piece& p : pieces) {
      const DValue w = d.in(p.node, k);
      if (w == p.value) {
        why = Refusal::Operand;
        return false;
      }
      branches.push_back({p.node, w, d.shape(d.out(p.node)), d.shape(p.result)});
    }
    const DValue w = common_operand(d, branches, k, d[split].axis, split, why);
    if (!w) return false;
    if (const DNode q = d.def(w); q && !d.constant(w) && (!latest || d.before(latest, q))) latest = q;
    in.push_back(w);
  }

  move_behind(d, split, pieces, latest);
  const DValue moved = d.new_value(whole, type);
  d.new_elementwise(first, in, moved, split);
  std::vector<DValue> outs;
  for (const Piece& p : pieces) {
    // Names stay where their value stays: at the end of the branch.
    const DValue last = d.out(p.node);
    d.erase(p.node);
    DValue v = p.between.empty() ? last : d.new_value(d.shape(p.result), type);
    outs.push_back(v);
    for (std::size_t i = 0; i < p.between.size(); ++i) {
      d.set_in(p.between[i], 0, v);
      v = i + 1 == p.between.size() ? last : d.new_value(d.shape(d.out(p.between[i])), type);
      d.set_outs(p.between[i], std::span(&v, 1));
    }
  }
  d.set_outs(split, outs);
  d.set_in(split, 0, moved);
  return true;
}

}  // namespace graphopt
