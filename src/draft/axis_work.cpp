// Problem: moves take deformations and Transposes past operators that work along axes. Each of these
// operators states its axes in its own form, and some forms change between opsets. Method: one list of axes
// of operand 0 per node (axis_work.h), read once and, when it has changed, written in the form of the node's
// opset. A Pad is written with pads for all axes and an Expand with ones for the axes that it keeps: these
// forms hold for any rank. Exact: a node whose axes are not the same in all runs (axes or pads that are no
// constants, an unknown rank, an unknown extent of an expanded axis) has no axis work, and nothing is moved
// past it. Lowers no cost itself.
//
//   Pad (x, pads = {0,1,0, 0,2,0})                    list {1}
//   ReduceMax <keepdims = 0> (x, axes = {-1, 0})      list {2, 0} of a rank of 3, drops
#include "draft/axis_work.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "ops/attributes.h"
#include "ops/node_facts.h"
#include "ops/pads.h"

namespace graphopt {
namespace {

using List = std::vector<std::int64_t>;
constexpr std::size_t kPads = 1, kPadAxes = 3, kStarts = 1, kSliceAxes = 3, kTarget = 1,
                      kIndices = 1;  // operands

List all_axes(std::size_t rank) {
  List out(rank);
  std::iota(out.begin(), out.end(), std::int64_t{0});
  return out;
}

struct PadEntry {
  std::int64_t axis;  // as written
  std::int64_t begin, end;
};

// Returns the axes at which a Pad adds or cuts, in the order of its pads; nothing if its pads are no
// constants.
std::optional<std::vector<PadEntry>> pad_entries(const Model& m, NodeId n) {
  const std::optional<List> pads = pads_of(m, n);
  if (!pads || pads->size() % 2 != 0) return std::nullopt;
  const std::size_t count = pads->size() / 2;
  List axes = all_axes(count);
  if (m.input(n, kPadAxes)) {
    const auto given = int_operand(m, n, kPadAxes);
    if (!given || given->size() != count) return std::nullopt;
    axes = *given;
  }
  const bool constant = string_attr(m, n, names::mode).value_or("") == "constant";
  std::vector<PadEntry> out;
  for (std::size_t k = 0; k < count; ++k) {
    const PadEntry e{axes[k], (*pads)[k], (*pads)[count + k]};
    if (!constant && (e.begin < 0 || e.end < 0)) return std::nullopt;  // kernels cut first, or refuse
    if (e.begin != 0 || e.end != 0) out.push_back(e);
  }
  return out;
}

// Returns the axes as written, negative ones included; nothing if they are unknown or there are none.
std::optional<List> read_axes(Draft& d, NodeId n, AxisWork work, std::span<const DValue> in, ShapeId x,
                              ShapeId y) {
  const Model& m = d.model();
  const std::size_t rank = d.shapes().rank(x);
  switch (work) {
    case AxisWork::Rows: return axes_of(m, n);
    case AxisWork::Suffix: {
      const auto axis = axes_of(m, n);
      const auto from = axis && axis->size() == 1 ? normalize_axis((*axis)[0], rank) : std::nullopt;
      if (!from) return std::nullopt;
      List out = all_axes(rank);
      out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(*from));
      for (std::size_t k = 1; k < in.size(); ++k)  // scales must not have a higher rank than the block
        if (in[k] && (!d.shape(in[k]) || d.shapes().rank(d.shape(in[k])) > out.size())) return std::nullopt;
      return out;
    }
    case AxisWork::Reduce: {
      auto axes = axes_of(m, n);
      if (axes && axes->empty()) {
        if (int_attr(m, n, names::noop_with_empty_axes).value_or(0) != 0) return std::nullopt;
        axes = all_axes(rank);
      }
      return axes;
    }
    case AxisWork::Slice: {
      if (m.opset(n) < 10) {
        const auto starts = ints_attr(m, n, names::starts);
        const auto axes = axes_of(m, n);
        if (!starts || !axes) return std::nullopt;
        return axes->empty() ? all_axes(starts->size()) : *axes;
      }
      // The axes have the type of the bounds; they are written as int64.
      if (!in[kStarts] || d[in[kStarts]].dtype != DType::Int64) return std::nullopt;
      if (m.input(n, kSliceAxes)) return int_operand(m, n, kSliceAxes);
      const ShapeId starts = d.shape(in[kStarts]);
      const auto count = starts && d.shapes().rank(starts) == 1
                             ? d.shapes().number(d.shapes().dims(starts)[0])
                             : std::nullopt;
      if (!count || *count < 1 || static_cast<std::size_t>(*count) > rank) return std::nullopt;
      return all_axes(static_cast<std::size_t>(*count));
    }
    case AxisWork::Gather: {
      const ShapeId indices = in[kIndices] ? d.shape(in[kIndices]) : ShapeId{};
      if (!indices) return std::nullopt;  // those of a higher rank change the result's, as is checked below
      return axes_of(m, n);
    }
    case AxisWork::Pad: {
      const auto entries = pad_entries(m, n);
      if (!entries) return std::nullopt;
      List out;
      for (const PadEntry& e : *entries) out.push_back(e.axis);
      return out;
    }
    case AxisWork::Expand: {
      if (d.shapes().rank(y) != rank) return std::nullopt;
      List out;
      for (std::size_t k = 0; k < rank; ++k) {
        if (d.shapes().dims(x)[k] == d.shapes().dims(y)[k]) continue;
        if (!d.shapes().number(d.shapes().dims(y)[k])) return std::nullopt;
        out.push_back(static_cast<std::int64_t>(k));
      }
      return out;
    }
    case AxisWork::None:
    case AxisWork::Blocks: break;
  }
  return std::nullopt;
}

}  // namespace

void read_axis_work(Draft& d, NodeId n, std::span<const DValue> in, std::span<const DValue> out,
                    DraftNode& node) {
  const Model& m = d.model();
  const AxisWork work = facts_of(m, n).work;
  if (work == AxisWork::None) return;
  for (std::size_t k = 1; k < out.size(); ++k)
    if (out[k]) return;  // statistics, whose shape would change, too
  if (work == AxisWork::Blocks) {
    // Without a mode DepthToSpace means DCR, and SpaceToDepth is the inverse of that.
    const auto size = int_attr(m, n, names::blocksize);
    if (!size || *size < 1 || string_attr(m, n, names::mode).value_or("DCR") != "DCR") return;
    node.work = work;
    node.begin = m.kind(n) == OpKind::DepthToSpace ? *size : -*size;
    return;
  }
  const ShapeId x = d.shape(in[0]), y = d.shape(out[0]);
  if (!x || !y) return;
  const auto written = read_axes(d, n, work, in, x, y);
  auto axes = written && !written->empty() ? normalize_axes(*written, d.shapes().rank(x)) : std::nullopt;
  if (!axes) return;
  const bool drops = work == AxisWork::Reduce   ? int_attr(m, n, names::keepdims).value_or(1) == 0
                     : work == AxisWork::Gather ? d.shapes().rank(d.shape(in[kIndices])) == 0
                                                : false;
  // Every axis that it does not work along keeps its extent, provably.
  const auto before = d.shapes().dims(x), after = d.shapes().dims(y);
  std::size_t at = 0;
  for (std::size_t k = 0; k < before.size(); ++k) {
    const bool along = std::ranges::find(*axes, static_cast<std::int64_t>(k)) != axes->end();
    if (along && drops) continue;
    if (at >= after.size() || (!along && after[at] != before[k])) return;
    ++at;
  }
  if (at != after.size()) return;
  node.work = work;
  node.drops = drops;
  node.list = d.intern_list(std::move(*axes));
}

void write_axis_work(const Draft& d, DNode n, Model& m, NodeId node, const Int64s& int64s) {
  const auto axes = d.list(d[n].list);
  const std::size_t rank = d.shapes().rank(d.shape(d.in(n, 0)));
  const auto set_operand = [&](std::size_t slot, ValueId v) {
    std::vector<ValueId> in;
    for (std::size_t k = 0; k < std::max(slot + 1, m.input_count(node)); ++k)
      in.push_back(k < m.input_count(node) ? m.input(node, k) : ValueId{});
    in[slot] = v;
    while (!in.back()) in.pop_back();
    m.set_operands(node, in);
  };
  switch (d[n].work) {
    case AxisWork::Rows:
    case AxisWork::Gather:
    case AxisWork::Suffix: m.set_attr_int(node, names::axis, axes[0]); break;
    case AxisWork::Reduce:
    case AxisWork::Slice:
      if (facts_of(m, node).axis.in == AxisIn::AttributeList) m.set_attr_ints(node, names::axes, axes);
      else set_operand(facts_of(m, node).axis.operand, int64s(axes, "_axes"));
      break;
    case AxisWork::Pad: {
      const auto entries = *pad_entries(m, node);
      List pads(2 * rank, 0);
      for (std::size_t k = 0; k < axes.size(); ++k) {
        pads[static_cast<std::size_t>(axes[k])] = entries[k].begin;
        pads[rank + static_cast<std::size_t>(axes[k])] = entries[k].end;
      }
      if (m.opset(node) < 11) {
        m.set_attr_ints(node, names::pads, pads);
        break;
      }
      if (m.input(node, kPadAxes)) set_operand(kPadAxes, {});
      set_operand(kPads, int64s(pads, "_pads"));
      break;
    }
    case AxisWork::Expand: {
      List target(rank, 1);
      for (const std::int64_t a : axes) {
        const auto at = static_cast<std::size_t>(a);
        target[at] = *d.shapes().number(d.shapes().dims(d.shape(d.out(n)))[at]);
      }
      set_operand(kTarget, int64s(target, "_shape"));
      break;
    }
    case AxisWork::None:
    case AxisWork::Blocks: break;
  }
}

}  // namespace graphopt
