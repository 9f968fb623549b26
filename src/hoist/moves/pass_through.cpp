// Problem: operators that work along axes separate two Transposes or deformations that cancel: a network
// changes the order of axes around a Pad, splits heads around a Slice, flattens pixels before a reduction.
// Method: an operator that works along axes gives the same elements upstream of a deformation or Transpose
// (the *boundary*) as downstream of it, when its axes are mapped. So the boundary can pass it. One such step
// gains nothing; a candidate is therefore a whole *path*, which is found first, by reading only, and then
// walked:
//   Up     from the boundary up to another one of its class; that one sinks down the path, and
//          canonicalize() merges the two
//   Down   from the boundary along values with one reader to where it has no effect any more, because a
//          reduction took the axes that it moved
//   Concat from boundaries upstream of several operands of one Concat; common_concat() then puts one
//          boundary downstream of it
// Elementwise nodes on a path take the boundary's upstream shape, together with their cluster (rebase()). A
// path has at most SearchLimits::path_nodes nodes.
//
// Mapping of axes: axis a downstream of a Transpose is axis perm[a] upstream of it. For a deformation the
// dims of both shapes fall into groups of equal product (dim_groups): an axis must be the only dim of its
// group that is not 1, a reduced group must be reduced as a whole, the block of a normalization must be the
// same dims at the end of both shapes. Kept and reduced dims must alternate in the same way on both sides.
// Exact: every result reads the same elements. Operators that move data copy them; operators that compute
// pass only where their kernels give the same bits (axis_work_keeps_bits), where they sum from -O2 on, all of
// them at -O3. Shapes are proven for all runs; shapes with an extent that is always 0 are refused.
// Lowers the cost only if boundaries merge or vanish; the search decides that.
// Ends: a path is finite.
//
//   t = Transpose <perm = [0, 2, 3, 1]> (x)                 p = Pad (x, {0,0,1,1, 0,0,1,1})
//   p = Pad (t, {0,1,1,0, 0,1,1,0})                   =>
//   y = Transpose <perm = [0, 3, 1, 2]> (p)
#include <algorithm>
#include <optional>

#include "draft/data_movement.h"
#include "hoist/moves/conditions.h"
#include "hoist/moves/moves.h"
#include "hoist/moves/reshaping.h"

namespace graphopt {
namespace {

using Dims = std::vector<DimId>;
using Axes = std::vector<std::int64_t>;

// The deformation or Transpose that sinks, as it stands directly upstream of the node to be passed.
struct Boundary {
  bool is_transpose = false;
  Axes perm;                  // of a Transpose
  Dims upstream, downstream;  // shapes of its operand and of its result
};

// A node that works along axes and the boundary downstream of it, after the boundary has passed it.
struct PassedAxes {
  Axes axes;  // along which it works, counted in its new operand
  Boundary boundary;
};

std::optional<Boundary> boundary_of(const Draft& d, DNode n) {
  const ShapeId upstream = d.shape(d.in(n, 0)), downstream = d.shape(d.out(n));
  if (!upstream || !downstream) return std::nullopt;
  Boundary b;
  b.is_transpose = d[n].node_class == NodeClass::Transpose;
  if (b.is_transpose) b.perm.assign(d.list(d[n].list).begin(), d.list(d[n].list).end());
  b.upstream = copy_of(d.shapes().dims(upstream));
  b.downstream = copy_of(d.shapes().dims(downstream));
  return b;
}

// Returns whether canonicalize() removes the boundary, or makes a deformation of it, without a partner: it
// changes nothing, or only moves dims of 1.
bool has_no_effect(const Draft& d, const Boundary& b) {
  if (!b.is_transpose) return b.upstream == b.downstream;
  std::int64_t last = -1;
  for (const std::int64_t p : b.perm) {
    if (d.shapes().is_one(b.upstream[static_cast<std::size_t>(p)])) continue;
    if (p < last) return false;
    last = p;
  }
  return true;
}

bool holds(std::span<const std::int64_t> axes, std::size_t axis) {
  return std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end();
}

std::optional<PassedAxes> past_transpose(const Draft& d, DNode m, const Boundary& b, MoveRefusal& why) {
  const auto axes = d.list(d[m].list);
  PassedAxes c;
  c.boundary.is_transpose = true;
  for (const std::int64_t a : axes) c.axes.push_back(b.perm[static_cast<std::size_t>(a)]);
  if (d[m].work == AxisWork::Suffix && !std::ranges::equal(axes, c.axes)) {
    why = MoveRefusal::AxisCut;
    return std::nullopt;
  }
  if (d[m].work == AxisWork::Reduce) std::ranges::sort(c.axes);  // a set; the others say more per axis
  Axes left;  // the axes of the new operand that the result keeps, in the order of today's result
  for (std::size_t k = 0; k < b.perm.size(); ++k)
    if (!d[m].drops || !holds(axes, k)) left.push_back(b.perm[k]);
  Axes sorted = left;
  std::ranges::sort(sorted);
  c.boundary.downstream = copy_of(d.shapes().dims(d.shape(d.out(m))));
  c.boundary.upstream.resize(left.size());
  for (std::size_t k = 0; k < left.size(); ++k) {
    const auto at = std::ranges::lower_bound(sorted, left[k]) - sorted.begin();
    c.boundary.perm.push_back(at);
    c.boundary.upstream[static_cast<std::size_t>(at)] = c.boundary.downstream[k];
  }
  return c;
}

// Runs of kept and of reduced axes, one entry per run, dims of 1 included. Kernels merge neighbouring axes of
// one kind and choose their loops by the runs that remain, so equal runs mean equal bits.
std::vector<bool> runs(std::size_t rank, std::span<const std::int64_t> axes) {
  std::vector<bool> out;
  for (std::size_t k = 0; k < rank; ++k)
    if (const bool reduced = holds(axes, k); out.empty() || out.back() != reduced) out.push_back(reduced);
  return out;
}

// Maps the axes of m, which count in b.downstream, to axes of b.upstream (`out`). Returns false if an axis
// has no counterpart there.
bool map_axes(Draft& d, DNode m, const Boundary& b, Axes& out) {
  const ShapeTable& shapes = d.shapes();
  const auto axes = d.list(d[m].list);
  if (d[m].work == AxisWork::Suffix) {
    const std::size_t block = axes.size();
    if (b.upstream.size() < block ||
        !std::ranges::equal(std::span(b.upstream).last(block), std::span(b.downstream).last(block)))
      return false;
    const DimId p = d.shapes().product(std::span(b.upstream).first(b.upstream.size() - block));
    const DimId q = d.shapes().product(std::span(b.downstream).first(b.downstream.size() - block));
    if (!p || p != q) return false;
    for (std::size_t k = b.upstream.size() - block; k < b.upstream.size(); ++k)
      out.push_back(static_cast<std::int64_t>(k));
    return true;
  }
  const auto groups = dim_groups(d.shapes(), b.downstream, b.upstream);
  if (d[m].work == AxisWork::Reduce) {
    for (const DimGroup& g : groups) {
      bool any = false, whole = true;
      for (std::uint32_t k = g.a_begin; k < g.a_end; ++k) {
        any |= holds(axes, k);
        whole &= holds(axes, k) || shapes.is_one(b.downstream[k]);
      }
      if (!any) continue;
      if (!whole) return false;
      for (std::uint32_t k = g.b_begin; k < g.b_end; ++k) out.push_back(k);
    }
    return !out.empty() && runs(b.downstream.size(), axes) == runs(b.upstream.size(), out);
  }
  for (const std::int64_t a : axes) {
    const auto g =
        std::ranges::find_if(groups, [&](const DimGroup& x) { return a >= x.a_begin && a < x.a_end; });
    if (g == groups.end()) return false;
    const DimId extent = b.downstream[static_cast<std::size_t>(a)];
    for (std::uint32_t k = g->a_begin; k < g->a_end; ++k)
      if (k != a && (!shapes.is_one(b.downstream[k]) || holds(axes, k))) return false;
    // The axis has the group's whole product: if a dim of the other side has its extent, the rest is 1.
    std::uint32_t at = g->b_begin;
    while (at < g->b_end && b.upstream[at] != extent) ++at;
    if (at == g->b_end) return false;
    out.push_back(at);
  }
  return true;
}

std::optional<PassedAxes> past_deformation(Draft& d, DNode m, const Boundary& b, MoveRefusal& why) {
  const auto axes = d.list(d[m].list);
  const Dims result = copy_of(d.shapes().dims(d.shape(d.out(m))));
  for (const Dims* dims : {&b.upstream, &b.downstream, &result})
    for (const DimId x : *dims)
      if (d.shapes().pool().is_constant(x, 0)) {  // products of 0 do not identify groups
        why = MoveRefusal::AxisCut;
        return std::nullopt;
      }
  PassedAxes c;
  if (!map_axes(d, m, b, c.axes)) {
    why = MoveRefusal::AxisCut;
    return std::nullopt;
  }
  const DimId one = d.shapes().pool().constant(1);
  for (std::size_t k = 0; k < b.upstream.size(); ++k) {
    const auto at = std::ranges::find(c.axes, static_cast<std::int64_t>(k));
    if (at == c.axes.end()) c.boundary.upstream.push_back(b.upstream[k]);
    else if (d[m].drops) continue;
    else if (d[m].work == AxisWork::Reduce) c.boundary.upstream.push_back(one);
    else
      c.boundary.upstream.push_back(
          result[static_cast<std::size_t>(axes[static_cast<std::size_t>(at - c.axes.begin())])]);
  }
  c.boundary.downstream = result;
  const ShapeId from = d.shapes().intern(std::span<const DimId>(c.boundary.upstream)), to = d.shape(d.out(m));
  if (!from || (from != to && deform_form(d.shapes(), from, to).kind == DeformForm::Kind::None)) {
    why = MoveRefusal::NotWritable;
    return std::nullopt;
  }
  return c;
}

bool works_along(const Draft& d, DNode m) {
  return d[m].alive && !d[m].shape_only && d[m].work != AxisWork::None && d[m].work != AxisWork::Blocks;
}

// Returns whether the results of m may differ as they would where the boundary is downstream of it.
bool may_pass(const Draft& d, DNode m, bool turned, Strictness s) {
  const OpKind kind = d.model().kind(d[m].origin);
  const DType type = d[d.in(m, 0)].dtype;
  return s == Strictness::Assuming || axis_work_keeps_bits(kind, type, turned) ||
         (!keeps_bits(s) && axis_work_rounds(kind, type));
}

// Computes what m becomes when the boundary `b`, which m reads as operand 0, passes it. Changes nothing.
// Returns nothing, and sets `why`, if the boundary cannot pass.
std::optional<PassedAxes> pass_one(Draft& d, DNode m, const Boundary& b, const MoveOptions& o,
                                   MoveRefusal& why) {
  if (!may_pass(d, m, b.is_transpose, o.strictness)) {
    why = MoveRefusal::Position;
    return std::nullopt;
  }
  if (d.shapes().rank(d.shape(d.in(m, 0))) != b.downstream.size()) return std::nullopt;
  if (!type_can_move(d, d[d.out(m)].dtype)) {
    why = MoveRefusal::Type;
    return std::nullopt;
  }
  return b.is_transpose ? past_transpose(d, m, b, why) : past_deformation(d, m, b, why);
}

// Searches upstream for a boundary of class `node_class`. Returns the path from it down to the producer of
// `end`; empty if there is none. With `past_axis_work`, the path must hold a node that works along axes.
std::vector<DNode> path_up(const Draft& d, DValue end, NodeClass node_class, bool past_axis_work) {
  struct Step {
    DNode node;
    std::size_t below;  // index into `seen` of the next node of the path; the last one names itself
    bool works;         // this node, or one downstream of it on the path, works along axes
  };
  std::vector<Step> seen;
  std::vector<std::size_t> open;
  std::optional<SearchLimit> stopped;
  const auto visit = [&](DValue v, std::size_t below, bool works) {
    const DNode n = v ? d.def(v) : DNode{};
    if (!n || d[n].shape_only) return;
    if (std::ranges::any_of(seen, [&](const Step& s) { return s.node == n; })) return;
    const bool boundary = d[n].node_class == node_class && (works || !past_axis_work);
    if (!boundary && !works_along(d, n) && !d.is(n, NodeClass::Elementwise)) return;
    if (seen.size() == kSearchLimits.path_nodes) {
      stopped = SearchLimit::PathNodes;
      return;
    }
    seen.push_back({n, below == seen.size() ? seen.size() : below, works || works_along(d, n)});
    open.push_back(seen.size() - 1);
  };
  visit(end, 0, false);
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    const Step s = seen[at];
    if (d[s.node].node_class == node_class) {
      std::vector<DNode> path;
      for (std::size_t i = at;; i = seen[i].below) {
        path.push_back(seen[i].node);
        if (seen[i].below == i) return path;
      }
    }
    if (works_along(d, s.node)) {
      visit(d.in(s.node, 0), at, s.works);
      continue;
    }
    // The last operand is pushed first, so that the first one is visited first.
    if (d[s.node].real_in > kSearchLimits.path_operands) stopped = SearchLimit::PathOperands;
    for (std::uint32_t k = std::min(d[s.node].real_in, kSearchLimits.path_operands); k-- > 0;)
      if (const DValue v = d.in(s.node, k); v && !d.constant(v) && reads_in_full(d, s.node, v))
        visit(v, at, s.works);
  }
  if (stopped) d.hit_limit(*stopped);
  return {};
}

// Returns the path from the boundary `upper` down to the node downstream of which it has no effect; empty if
// there is no such node.
std::vector<DNode> path_down(Draft& d, DNode upper, const MoveOptions& o, MoveRefusal& why) {
  std::vector<DNode> path{upper};
  auto b = boundary_of(d, upper);
  if (!b || has_no_effect(d, *b)) return {};
  for (DNode n = upper; path.size() < kSearchLimits.path_nodes; path.push_back(n)) {
    const DValue v = d.out(n);
    n = d.single_user(v);
    if (!n || d[n].shape_only) return {};
    if (d.is(n, NodeClass::Elementwise)) {
      if (!reads_in_full(d, n, v)) return {};
      continue;
    }
    if (!works_along(d, n) || d.in(n, 0) != v) return {};
    MoveRefusal here = MoveRefusal::None;
    const auto c = pass_one(d, n, *b, o, here);
    if (!c) {
      if (d[n].work == AxisWork::Reduce) why = here;  // only reductions make a boundary vanish
      return {};
    }
    b = c->boundary;
    if (!has_no_effect(d, *b)) continue;
    path.push_back(n);
    return path;
  }
  d.hit_limit(SearchLimit::PathNodes);
  return {};
}

// Returns the boundary as it would be downstream of the whole path; nothing, and sets `why`, if it cannot
// pass a node that works along axes. Elementwise nodes are checked later, by rebase().
std::optional<Boundary> boundary_below(Draft& d, std::span<const DNode> path, const MoveOptions& o,
                                       MoveRefusal& why) {
  auto b = boundary_of(d, path[0]);
  for (std::size_t i = 1; b && i < path.size(); ++i) {
    const DNode m = path[i];
    // Other readers of the value would need a Transpose of their own, perhaps of more elements than today.
    if (b->is_transpose && i + 1 < path.size() && !d.single_use(d.out(m))) {
      why = MoveRefusal::MultiUse;
      return std::nullopt;
    }
    if (d.is(m, NodeClass::Elementwise)) {
      if (!reads_in_full(d, m, d.out(path[i - 1]))) return std::nullopt;
      continue;
    }
    const auto c = pass_one(d, m, *b, o, why);
    if (!c) return std::nullopt;
    b = c->boundary;
  }
  return b;
}

// Rewrites m to read `source`, and puts the boundary downstream of it, where it writes m's old result (which
// keeps its name). Returns the boundary's node; none if the boundary has no effect there.
DNode put_downstream(Draft& d, DNode m, DValue source, const PassedAxes& c) {
  d.set_in(m, 0, source);
  d.set_list(m, d.intern_list(c.axes));
  if (d[m].node_class != NodeClass::Other) d.set_axis(m, static_cast<std::uint32_t>(c.axes[0]));
  d.set_axes_rewritten(m);
  const Boundary& b = c.boundary;
  const DValue y = d.out(m);
  if (b.is_transpose ? std::ranges::is_sorted(b.perm) : b.upstream == b.downstream) return {};
  const DValue in[] = {d.new_value(d.shapes().intern(std::span<const DimId>(b.upstream)), d[y].dtype)},
               out[] = {y};
  d.set_outs(m, in);
  const DNode boundary =
      d.new_node(b.is_transpose ? NodeClass::Transpose : NodeClass::Deformation, {}, in, out, d[m].next);
  if (b.is_transpose) d.set_list(boundary, d.intern_list(b.perm));
  return boundary;
}

// Moves the boundary path[0] down the path. Stops early, with true, where rebasing a cluster has changed the
// rest of the path; the cost decides then whether the move is kept. Returns false, and sets `why`, if a node
// cannot be passed.
bool sink_boundary(Draft& d, std::span<const DNode> path, const MoveOptions& o, MoveRefusal& why) {
  DNode boundary = d.def(d.out(path[0]));  // a rebase on another path may have replaced path[0]
  std::vector<DNode> cluster;
  for (std::size_t i = 1; boundary && d[boundary].alive && i < path.size();) {
    const DNode m = path[i];
    const DValue v = d.out(boundary);
    if (!d.is(m, NodeClass::Elementwise)) {
      if (!works_along(d, m) || d.in(m, 0) != v) return true;
      const auto b = boundary_of(d, boundary);
      const auto c = b ? pass_one(d, m, *b, o, why) : std::nullopt;
      if (!c) return false;
      boundary = put_downstream(d, m, d.in(boundary, 0), *c);
      ++i;
      continue;
    }
    if (!reads_in_full(d, m, v)) return true;
    cluster_of(d, m, cluster);
    while (i < path.size() && std::ranges::find(cluster, path[i]) != cluster.end()) ++i;
    const DValue y = d.out(path[i - 1]);  // keeps its name: the boundary will produce it
    const NodeClass node_class = d[boundary].node_class;
    if (!rebase(d, boundary, cluster, Direction::Down, o, why)) return false;
    boundary = d.def(y);
    if (!boundary || !d[boundary].alive || d[boundary].node_class != node_class || d.out(boundary) != y)
      return true;
  }
  return true;
}

// Returns whether the end of the path may hold more bytes than its start, where the Transpose stands today:
// it would move more bytes there.
bool grows(Draft& d, std::span<const DNode> path) {
  const DValue start = d.out(path.front()), end = d.out(path.back());
  if (bits_of(d[end].dtype) > bits_of(d[start].dtype)) return true;
  const bool never_larger = std::ranges::none_of(path, [&](DNode n) {
    return d[n].work == AxisWork::Pad || d[n].work == AxisWork::Expand || d[n].work == AxisWork::Gather;
  });
  if (never_larger) return false;
  const DimId before = d.shapes().product(d.shape(start)), after = d.shapes().product(d.shape(end));
  const auto least = before ? d.shapes().number(before) : std::nullopt,
             most = after ? d.shapes().number(after) : std::nullopt;
  return !least || !most || *most > *least;
}

}  // namespace

bool pass_through(Draft& d, DNode start, Direction direction, const MoveOptions& o, MoveRefusal& why) {
  if (direction == Direction::Down) {
    const std::vector<DNode> path = path_down(d, start, o, why);
    return !path.empty() && sink_boundary(d, path, o, why);
  }
  const std::vector<DNode> path = path_up(d, d.in(start, 0), d[start].node_class, true);
  return !path.empty() && boundary_below(d, path, o, why) && sink_boundary(d, path, o, why);
}

bool pass_to_concat(Draft& d, DNode concat, NodeClass what, const MoveOptions& o, MoveRefusal& why) {
  std::vector<std::vector<DNode>> paths;
  std::vector<DNode> passed;
  Axes perm;
  for (std::uint32_t k = 0; k < d[concat].in_count; ++k) {
    const DValue v = d.in(concat, k);
    std::vector<DNode> path = path_up(d, v, what, false);
    const bool is_transpose = what == NodeClass::Transpose;
    if (path.empty()) {
      if (is_transpose) return false;  // all or none
      continue;
    }
    MoveRefusal here = MoveRefusal::None;
    const auto b = boundary_below(d, path, o, here);
    if (!b || !d.single_use(v)) {
      why = b ? MoveRefusal::MultiUse : here;
      if (is_transpose) return false;
      continue;
    }
    if (is_transpose && !paths.empty() && b->perm != perm) {
      why = MoveRefusal::Attributes;
      return false;
    }
    if (is_transpose && grows(d, path)) {
      why = MoveRefusal::Bytes;
      return false;
    }
    perm = b->perm;
    passed.insert(passed.end(), path.begin() + 1, path.end());
    paths.push_back(std::move(path));
  }
  // Paths of elementwise nodes alone are left to common_concat() and rebase(). A node on two paths would be
  // passed twice.
  if (paths.size() < 2 || std::ranges::none_of(passed, [&](DNode n) { return works_along(d, n); }))
    return false;
  std::ranges::sort(passed, {}, [](DNode n) { return n.index(); });
  if (std::ranges::adjacent_find(passed) != passed.end()) return false;
  for (const std::vector<DNode>& path : paths)
    if (!sink_boundary(d, path, o, why)) return false;
  return common_concat(d, concat, what, why);
}

}  // namespace graphopt
