#include "hoist/moves/merge_operands.h"

#include <algorithm>

#include "draft/data_movement.h"
#include "hoist/moves/conditions.h"
#include "ops/node_facts.h"

namespace graphopt {

bool equal_constants(const Draft& d, DValue a, DValue b) {
  if (!d.constant(a) || !d.constant(b) || d.shape(a) != d.shape(b) || d[a].dtype != d[b].dtype) return false;
  if (d[a].tensor == d[b].tensor) return true;
  const auto x = d.model().raw(d[a].tensor), y = d.model().raw(d[b].tensor);
  return x && y && *x == *y && d[a].dtype != DType::String;
}

MoveRefusal live_out_reason(const Draft& d, DValue v) {
  for (DUse u = d.first_use(v); u; u = d.next_use(u))
    if (d.slot(u) >= d[d.user(u)].real_in) return MoveRefusal::Captured;
  return MoveRefusal::GraphOutput;
}

MoveRefusal not_elementwise_reason(const Draft& d, DNode n) {
  const bool barrier =
      n && d[n].node_class == NodeClass::Other && !d[n].shape_only &&
      (!d[n].anchor || (d[n].out_count > 0 && d.out(n) && d[d.out(n)].dtype == DType::String));
  return barrier ? MoveRefusal::Barrier : MoveRefusal::Operand;
}

bool same_elementwise(const Draft& d, std::span<const DNode> nodes, ShapeId to, const MoveOptions& o,
                      MoveRefusal& why) {
  for (const DNode n : nodes) {
    if (!d.is(n, NodeClass::Elementwise)) {
      why = not_elementwise_reason(d, n);
      return false;
    }
    if (const MoveRefusal r = operation_differs(d, nodes[0], n); r != MoveRefusal::None) {
      why = r;
      return false;
    }
    if (!may_move(d, n, to, true, o.merging())) {
      why = MoveRefusal::Position;
      return false;
    }
  }
  std::vector<DNode> sorted(nodes.begin(), nodes.end());
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) {
    why = MoveRefusal::MultiUse;
    return false;
  }
  return true;
}

namespace {

enum class Similarity : std::uint8_t { None, Kind, Node };

// Returns how likely it is that two values are operands of one position on two branches: one operator, or
// even one node, produces both.
Similarity similarity(const Draft& d, DValue a, DValue b) {
  if (a == b) return Similarity::Node;
  if (d.constant(a) || d.constant(b))
    return d.constant(a) && d.constant(b) ? Similarity::Kind : Similarity::None;
  const DNode x = d.def(a), y = d.def(b);
  if (!x || !y || d[x].node_class != d[y].node_class) return Similarity::None;
  if (x == y) return Similarity::Node;  // results of one Split
  const bool one_of_many = d[x].node_class == NodeClass::Elementwise || d[x].node_class == NodeClass::Other;
  return !one_of_many || d.model().node(d[x].origin).op == d.model().node(d[y].origin).op ? Similarity::Kind
                                                                                          : Similarity::None;
}

}  // namespace

DValue paired_operand(const Draft& d, DNode first, DNode n, std::size_t slot) {
  if (slot > 1 || n == first || !facts_of(d.model(), d[n].origin).commutative) return d.in(n, slot);
  const DValue a = d.in(first, 0), b = d.in(first, 1), x = d.in(n, 0), y = d.in(n, 1);
  if (!a || !b || !x || !y) return d.in(n, slot);
  const Similarity as_is[] = {similarity(d, a, x), similarity(d, b, y)},
                   swapped[] = {similarity(d, a, y), similarity(d, b, x)};
  const auto pairs = [](std::span<const Similarity> l) {
    return std::ranges::count_if(l, [](Similarity k) { return k != Similarity::None; });
  };
  const auto sure = [](std::span<const Similarity> l) {
    return std::ranges::count(l, Similarity::Node) == 2;
  };
  const bool swap = pairs(swapped) > pairs(as_is) || (sure(swapped) && !sure(as_is));
  return d.in(n, swap ? 1 - slot : slot);
}

namespace {

// Returns whether an operand has extent 1 along an axis of the result, or a lower rank that does not reach
// it.
bool has_extent_one(const Draft& d, DValue v, ShapeId result, std::uint32_t axis) {
  const std::size_t rank = d.shapes().rank(result), mine = d.shapes().rank(d.shape(v));
  const std::size_t lead = rank - std::min(rank, mine);
  return axis < lead || d.shapes().is_one(d.shapes().dims(d.shape(v))[axis - lead]);
}

// Drops the leading ones before the axis.
DValue without_leading_ones(Draft& d, DValue constant, std::uint32_t axis) {
  const auto dims = *d.shapes().numbers(d.shape(constant));
  std::size_t ones = 0;
  while (ones < axis && dims[ones] == 1) ++ones;
  return reshaped_constant(d, constant, d.shapes().intern(std::span<const std::int64_t>(dims).subspan(ones)));
}

DValue join(Draft& d, std::span<const Branch> branches, std::span<const DValue> mapped, std::uint32_t axis,
            MoveRefusal& why) {
  const std::size_t rank = d.shapes().rank(branches[0].to);
  std::vector<std::vector<std::int64_t>> dims;
  std::vector<std::int64_t> most(rank, 1);
  for (std::size_t i = 0; i < branches.size(); ++i) {
    const auto own = d.shapes().numbers(d.shape(mapped[i]));
    const auto extent = d.shapes().number(d.shapes().dims(branches[i].to)[axis]);
    if (!own || !extent) {
      why = MoveRefusal::Operand;
      return {};
    }
    std::vector<std::int64_t> full(rank, 1);
    std::ranges::copy(*own, full.end() - static_cast<std::ptrdiff_t>(own->size()));
    full[axis] = 1;
    if (std::ranges::count(full, 0) > 0) {  // max() below needs extents of at least 1
      why = MoveRefusal::Operand;
      return {};
    }
    full[axis] = *extent;
    for (std::size_t k = 0; k < rank; ++k) most[k] = std::max(most[k], full[k]);
    dims.push_back(std::move(full));
  }
  std::vector<DValue> parts;
  for (std::size_t i = 0; i < branches.size(); ++i) {
    for (std::size_t k = 0; k < rank; ++k)
      if (k != axis) dims[i][k] = most[k];
    parts.push_back(expanded_constant(d, mapped[i], dims[i]));
    if (!parts.back()) {
      why = constant_refusal(d);
      return {};
    }
  }
  const DValue joined = joined_constants(d, parts, axis);
  if (!joined) {
    why = constant_refusal(d);
    return {};
  }
  return without_leading_ones(d, joined, axis);
}

}  // namespace

DValue common_operand(Draft& d, std::span<const Branch> branches, std::size_t slot, std::uint32_t axis,
                      DNode before, MoveRefusal& why, std::vector<DValue>* parts) {
  const DNode first = branches[0].node;
  const auto same = [&](auto value_of) {
    return std::ranges::all_of(branches, [&](const Branch& b) {
      return value_of(b) == value_of(branches[0]) || equal_constants(d, value_of(b), value_of(branches[0]));
    });
  };
  why = MoveRefusal::Operand;
  if (operand_kind(d.model(), d[first].origin, slot) == Operand::Fixed)
    return same([](const Branch& b) { return b.operand; }) ? branches[0].operand : DValue{};
  if (!broadcasts(d.model(), d[first].origin)) return {};  // a common operand would have to be full
  std::vector<DValue> mapped;
  bool all_constant = true;
  for (const Branch& b : branches) {
    const DValue v = mapped_operand(d, b.operand, b.from, b.to, may_expand(d, b.node), before, why);
    if (!v) return {};
    why = MoveRefusal::Operand;
    if (!d.constant(v) && v != b.operand) return {};  // a new deformation at run time
    all_constant &= d.constant(v);
    mapped.push_back(v);
  }
  const bool one = std::ranges::all_of(
      mapped, [&](DValue v) { return v == mapped[0] || equal_constants(d, v, mapped[0]); });
  if (one && has_extent_one(d, mapped[0], branches[0].to, axis)) {
    if (!broadcast_sensitive(d, first, mapped[0])) return mapped[0];
    why = MoveRefusal::Position;
    return {};
  }
  if (!all_constant || !may_expand(d, first)) return {};
  if (parts) *parts = mapped;
  return join(d, branches, mapped, axis, why);
}

DValue stacked_constants(Draft& d, std::span<const DValue> parts, ShapeId to, std::uint32_t axis) {
  std::vector<std::int64_t> most(d.shapes().rank(to), 1);
  for (const DValue v : parts) {
    const auto own = *d.shapes().numbers(d.shape(v));
    const auto last = most.end() - static_cast<std::ptrdiff_t>(own.size());
    std::ranges::transform(own, std::span(last, own.size()), last,
                           [](std::int64_t x, std::int64_t y) { return std::max(x, y); });
  }
  auto slice = most;
  slice.insert(slice.begin() + axis, 1);
  const ShapeId one = d.shapes().intern(std::span<const std::int64_t>(slice));
  std::vector<DValue> all;
  for (const DValue v : parts) {
    const DValue full = expanded_constant(d, v, most);
    if (!full) return {};
    all.push_back(reshaped_constant(d, full, one));
  }
  const DValue joined = joined_constants(d, all, axis);
  return joined ? without_leading_ones(d, joined, axis) : joined;
}

}  // namespace graphopt
