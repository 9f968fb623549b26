// Problem: a deformation or Transpose and another one that undoes it (or joins it) stand apart, with
// operators that work along axes between them: layouts change around a Pad, heads are split around a Slice,
// pixels are flattened before a reduction.
// Method: such an operator works as well on what stands in front of the border, along axes that are mapped;
// the border then stands behind it. One swap gains nothing, so a candidate is a whole way, found by looking
// only and then carried out:
//   up    from the border to another one of its kind above; that one comes down, and canonicalize() joins the
//   two down  along values with one reader to where the border vanishes: a reduction took the axes that it
//   moved down from several borders to one Concat, behind which one then stands for all (common_concat)
// Elementwise nodes on the way take the shape beyond it with their whole cluster (rebase()). A way has at
// most SearchLimits::path_nodes nodes.
//
// Which axes: behind a Transpose, axis a is perm[a] in front of it. Behind a deformation, the dims of both
// sides fall into groups of equal product; an axis must be its group but for dims of 1, a reduced group must
// be reduced as a whole, the block of a normalization must be the same dims at the end of both. Kept and
// reduced dims must take turns alike.
// Exact: the same elements are read for each result. Movement copies; what computes does so only where its
// kernels give the same bits (axis_work_keeps_bits), else at -O3. Shapes are proven, for all sizes; static
// extents of 0 are left alone. Lowers the cost only where borders meet or vanish; whether they do, the search
// decides. Ends: a way is finite.
//
//   t = Transpose <perm = [0, 2, 3, 1]> (x)                 p = Pad (x, {0,0,1,1, 0,0,1,1})
//   p = Pad (t, {0,1,1,0, 0,1,1,0})                   =>
//   y = Transpose <perm = [0, 3, 1, 2]> (p)
#include <algorithm>
#include <optional>

#include "hoist/draft/elementwise.h"
#include "hoist/moves/moves.h"
#include "hoist/moves/reshaping.h"

namespace graphopt {
namespace {

using Dims = std::vector<DimId>;
using Axes = std::vector<std::int64_t>;

Dims copy(std::span<const DimId> dims) { return {dims.begin(), dims.end()}; }

// What stands between the source of a way and the node that is looked at.
struct Border {
  bool turn = false;
  Axes perm;         // of a Transpose
  Dims front, back;  // the shapes around it
};

// A node that works along axes, once the border has gone behind it.
struct PassedAxes {
  Axes axes;  // of its new operand
  Border border;
};

std::optional<Border> border_of(const Draft& d, DNode n) {
  const ShapeId front = d.shape(d.in(n, 0)), back = d.shape(d.out(n));
  if (!front || !back) return std::nullopt;
  Border b;
  b.turn = d[n].node_class == NodeClass::Transpose;
  if (b.turn) b.perm.assign(d.list(d[n].list).begin(), d.list(d[n].list).end());
  b.front = copy(d.shapes().dims(front));
  b.back = copy(d.shapes().dims(back));
  return b;
}

// Does nothing, or moves dims of 1 alone: canonicalize() needs no partner to be rid of it, or makes it a
// deformation.
bool vanishes(const Draft& d, const Border& b) {
  if (!b.turn) return b.front == b.back;
  std::int64_t last = -1;
  for (const std::int64_t p : b.perm) {
    if (d.shapes().is_one(b.front[static_cast<std::size_t>(p)])) continue;
    if (p < last) return false;
    last = p;
  }
  return true;
}

bool holds(std::span<const std::int64_t> axes, std::size_t axis) {
  return std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end();
}

std::optional<PassedAxes> past_transpose(const Draft& d, DNode m, const Border& b, Refusal& why) {
  const auto axes = d.list(d[m].list);
  PassedAxes c;
  c.border.turn = true;
  for (const std::int64_t a : axes) c.axes.push_back(b.perm[static_cast<std::size_t>(a)]);
  if (d[m].work == AxisWork::Suffix && !std::ranges::equal(axes, c.axes)) {
    why = Refusal::AxisCut;
    return std::nullopt;
  }
  if (d[m].work == AxisWork::Reduce) std::ranges::sort(c.axes);  // a set; the others say more per axis
  Axes left;  // the axes of the new operand that the result has, in the order in which it has them now
  for (std::size_t k = 0; k < b.perm.size(); ++k)
    if (!d[m].drops || !holds(axes, k)) left.push_back(b.perm[k]);
  Axes sorted = left;
  std::ranges::sort(sorted);
  c.border.back = copy(d.shapes().dims(d.shape(d.out(m))));
  c.border.front.resize(left.size());
  for (std::size_t k = 0; k < left.size(); ++k) {
    const auto at = std::ranges::lower_bound(sorted, left[k]) - sorted.begin();
    c.border.perm.push_back(at);
    c.border.front[static_cast<std::size_t>(at)] = c.border.back[k];
  }
  return c;
}

// Where kept and reduced axes take turns, dims of 1 included: kernels join neighbours of one kind and choose
// their loops by that.
std::vector<bool> runs(std::size_t rank, std::span<const std::int64_t> axes) {
  std::vector<bool> out;
  for (std::size_t k = 0; k < rank; ++k)
    if (const bool reduced = holds(axes, k); out.empty() || out.back() != reduced) out.push_back(reduced);
  return out;
}

// The axes of the shape in front that stand for the node's axes of the shape behind a deformation.
bool map_axes(Draft& d, DNode m, const Border& b, Axes& out) {
  const ShapeTable& shapes = d.shapes();
  const auto axes = d.list(d[m].list);
  if (d[m].work == AxisWork::Suffix) {
    const std::size_t block = axes.size();
    if (b.front.size() < block ||
        !std::ranges::equal(std::span(b.front).last(block), std::span(b.back).last(block)))
      return false;
    const DimId p = d.shapes().product(std::span(b.front).first(b.front.size() - block));
    const DimId q = d.shapes().product(std::span(b.back).first(b.back.size() - block));
    if (!p || p != q) return false;
    for (std::size_t k = b.front.size() - block; k < b.front.size(); ++k)
      out.push_back(static_cast<std::int64_t>(k));
    return true;
  }
  const auto groups = dim_groups(d.shapes(), b.back, b.front);
  if (d[m].work == AxisWork::Reduce) {
    for (const DimGroup& g : groups) {
      bool any = false, whole = true;
      for (std::uint32_t k = g.a_begin; k < g.a_end; ++k) {
        any |= holds(axes, k);
        whole &= holds(axes, k) || shapes.is_one(b.back[k]);
      }
      if (!any) continue;
      if (!whole) return false;
      for (std::uint32_t k = g.b_begin; k < g.b_end; ++k) out.push_back(k);
    }
    return !out.empty() && runs(b.back.size(), axes) == runs(b.front.size(), out);
  }
  for (const std::int64_t a : axes) {
    const auto g =
        std::ranges::find_if(groups, [&](const DimGroup& x) { return a >= x.a_begin && a < x.a_end; });
    if (g == groups.end()) return false;
    const DimId extent = b.back[static_cast<std::size_t>(a)];
    for (std::uint32_t k = g->a_begin; k < g->a_end; ++k)
      if (k != a && (!shapes.is_one(b.back[k]) || holds(axes, k))) return false;
    // The product of the group is the axis: where it stands in front, the rest there is 1.
    std::uint32_t at = g->b_begin;
    while (at < g->b_end && b.front[at] != extent) ++at;
    if (at == g->b_end) return false;
    out.push_back(at);
  }
  return true;
}

std::optional<PassedAxes> past_deformation(Draft& d, DNode m, const Border& b, Refusal& why) {
  const auto axes = d.list(d[m].list);
  const Dims result = copy(d.shapes().dims(d.shape(d.out(m))));
  for (const Dims* dims : {&b.front, &b.back, &result})
    for (const DimId x : *dims)
      if (d.shapes().pool().is_constant(x, 0)) {  // products say nothing
        why = Refusal::AxisCut;
        return std::nullopt;
      }
  PassedAxes c;
  if (!map_axes(d, m, b, c.axes)) {
    why = Refusal::AxisCut;
    return std::nullopt;
  }
  const DimId one = d.shapes().pool().constant(1);
  for (std::size_t k = 0; k < b.front.size(); ++k) {
    const auto at = std::ranges::find(c.axes, static_cast<std::int64_t>(k));
    if (at == c.axes.end()) c.border.front.push_back(b.front[k]);
    else if (d[m].drops) continue;
    else if (d[m].work == AxisWork::Reduce) c.border.front.push_back(one);
    else
      c.border.front.push_back(
          result[static_cast<std::size_t>(axes[static_cast<std::size_t>(at - c.axes.begin())])]);
  }
  c.border.back = result;
  const ShapeId from = d.shapes().intern(std::span<const DimId>(c.border.front)), to = d.shape(d.out(m));
  if (!from || (from != to && deform_form(d.shapes(), from, to).kind == DeformForm::Kind::None)) {
    why = Refusal::NotWritable;
    return std::nullopt;
  }
  return c;
}

bool works_along(const Draft& d, DNode m) {
  return m && d[m].alive && !d[m].shape_only && d[m].work != AxisWork::None && d[m].work != AxisWork::Blocks;
}

// The border goes behind m, which reads it as operand 0.
std::optional<PassedAxes> carry(Draft& d, DNode m, const Border& b, const MoveOptions& o, Refusal& why) {
  if (!o.relaxed && !axis_work_keeps_bits(d.model().kind(d[m].origin), d[d.in(m, 0)].dtype, b.turn)) {
    why = Refusal::Position;
    return std::nullopt;
  }
  if (d.shapes().rank(d.shape(d.in(m, 0))) != b.back.size()) return std::nullopt;
  if (!type_can_move(d, d[d.out(m)].dtype)) {
    why = Refusal::Type;
    return std::nullopt;
  }
  return b.turn ? past_transpose(d, m, b, why) : past_deformation(d, m, b, why);
}

// From a border of kind `part` down to the node that makes `bottom`; empty when there is none. With `beyond`,
// something that works along axes must stand on the way.
std::vector<DNode> way_up(const Draft& d, DValue bottom, NodeClass node_class, bool beyond) {
  struct Step {
    DNode node;
    std::size_t below;  // index into `seen`; of the one that makes `bottom` its own
    bool works;         // something that works along axes stands here or below
  };
  std::vector<Step> seen;
  std::vector<std::size_t> open;
  std::optional<SearchLimit> stopped;
  const auto visit = [&](DValue v, std::size_t below, bool works) {
    const DNode n = v ? d.def(v) : DNode{};
    if (!n || !d[n].alive || d[n].shape_only) return;
    if (std::ranges::any_of(seen, [&](const Step& s) { return s.node == n; })) return;
    const bool border = d[n].node_class == node_class && (works || !beyond);
    if (!border && !works_along(d, n) && !d.is(n, NodeClass::Elementwise)) return;
    if (seen.size() == kSearchLimits.path_nodes) {
      stopped = SearchLimit::PathNodes;
      return;
    }
    seen.push_back({n, below == seen.size() ? seen.size() : below, works || works_along(d, n)});
    open.push_back(seen.size() - 1);
  };
  visit(bottom, 0, false);
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    const Step s = seen[at];
    if (d[s.node].node_class == node_class) {
      std::vector<DNode> way;
      for (std::size_t i = at;; i = seen[i].below) {
        way.push_back(seen[i].node);
        if (seen[i].below == i) return way;
      }
    }
    if (works_along(d, s.node)) {
      visit(d.in(s.node, 0), at, s.works);
      continue;
    }
    // The first operand is looked at first: it is opened last.
    if (d[s.node].real_in > kSearchLimits.path_operands) stopped = SearchLimit::PathOperands;
    for (std::uint32_t k = std::min(d[s.node].real_in, kSearchLimits.path_operands); k-- > 0;)
      if (const DValue v = d.in(s.node, k); v && !d.constant(v) && reads_in_full(d, s.node, v))
        visit(v, at, s.works);
  }
  if (stopped) d.hit_limit(*stopped);
  return {};
}

// The border and the nodes behind it, to where it vanishes; empty when it does not.
std::vector<DNode> way_down(Draft& d, DNode upper, const MoveOptions& o, Refusal& why) {
  std::vector<DNode> way{upper};
  auto b = border_of(d, upper);
  if (!b || vanishes(d, *b)) return {};
  for (DNode n = upper; way.size() < kSearchLimits.path_nodes; way.push_back(n)) {
    const DValue v = d.out(n);
    n = d.single_user(v);
    if (!n || d[n].shape_only || !d[n].alive) return {};
    if (d.is(n, NodeClass::Elementwise)) {
      if (!reads_in_full(d, n, v)) return {};
      continue;
    }
    if (!works_along(d, n) || d.in(n, 0) != v) return {};
    Refusal here = Refusal::None;
    const auto c = carry(d, n, *b, o, here);
    if (!c) {
      if (d[n].work == AxisWork::Reduce) why = here;  // behind others it would hardly vanish
      return {};
    }
    b = c->border;
    if (!vanishes(d, *b)) continue;
    way.push_back(n);
    return way;
  }
  d.hit_limit(SearchLimit::PathNodes);
  return {};
}

// What the border is at the end of the way, if it can come down. Asked of what works along axes; elementwise
// nodes answer when it is done.
std::optional<Border> border_below(Draft& d, std::span<const DNode> way, const MoveOptions& o, Refusal& why) {
  auto b = border_of(d, way[0]);
  for (std::size_t i = 1; b && i < way.size(); ++i) {
    const DNode m = way[i];
    // A Transpose would have to stay for other readers, on a value that may be larger than where it stands
    // now.
    if (b->turn && i + 1 < way.size() && !d.single_use(d.out(m))) {
      why = Refusal::MultiUse;
      return std::nullopt;
    }
    if (d.is(m, NodeClass::Elementwise)) {
      if (!reads_in_full(d, m, d.out(way[i - 1]))) return std::nullopt;
      continue;
    }
    const auto c = carry(d, m, *b, o, why);
    if (!c) return std::nullopt;
    b = c->border;
  }
  return b;
}

// The border behind m; m's result keeps its name there. None when there is nothing left of it.
DNode set_behind(Draft& d, DNode m, DValue source, const PassedAxes& c) {
  d.set_in(m, 0, source);
  d.set_list(m, d.intern_list(c.axes));
  if (d[m].node_class != NodeClass::Other) d.set_axis(m, static_cast<std::uint32_t>(c.axes[0]));
  d.set_axes_rewritten(m);
  const Border& b = c.border;
  const DValue y = d.out(m);
  if (b.turn ? std::ranges::is_sorted(b.perm) : b.front == b.back) return {};
  const DValue in[] = {d.new_value(d.shapes().intern(std::span<const DimId>(b.front)), d[y].dtype)},
               out[] = {y};
  d.set_outs(m, in);
  const DNode border =
      d.new_node(b.turn ? NodeClass::Transpose : NodeClass::Deformation, {}, in, out, d[m].next);
  if (b.turn) d.set_list(border, d.intern_list(b.perm));
  return border;
}

// Takes the border down the way. It may stop early, where a cluster of elementwise nodes has changed what
// comes behind: the cost decides then.
bool come_down(Draft& d, std::span<const DNode> way, const MoveOptions& o, Refusal& why) {
  DNode border = d.def(d.out(way[0]));  // a cluster on another way may have put a new one in its place
  std::vector<DNode> cluster;
  for (std::size_t i = 1; border && d[border].alive && i < way.size();) {
    const DNode m = way[i];
    const DValue v = d.out(border);
    if (!d.is(m, NodeClass::Elementwise)) {
      if (!works_along(d, m) || d.in(m, 0) != v) return true;
      const auto b = border_of(d, border);
      const auto c = b ? carry(d, m, *b, o, why) : std::nullopt;
      if (!c) return false;
      border = set_behind(d, m, d.in(border, 0), *c);
      ++i;
      continue;
    }
    if (!reads_in_full(d, m, v)) return true;
    cluster_of(d, m, cluster);
    while (i < way.size() && std::ranges::find(cluster, way[i]) != cluster.end()) ++i;
    const DValue y = d.out(way[i - 1]);  // keeps its name; the border will write it
    const NodeClass node_class = d[border].node_class;
    if (!rebase(d, border, cluster, Direction::Down, o, why)) return false;
    border = d.def(y);
    if (!border || !d[border].alive || d[border].node_class != node_class || d.out(border) != y) return true;
  }
  return true;
}

// Could the end of the way hold more bytes than its start, where a Transpose stands? One would move more
// there.
bool grows(Draft& d, std::span<const DNode> way) {
  const DValue start = d.out(way.front()), end = d.out(way.back());
  if (bits_of(d[end].dtype) > bits_of(d[start].dtype)) return true;
  const bool only_less = std::ranges::none_of(way, [&](DNode n) {
    return d[n].work == AxisWork::Pad || d[n].work == AxisWork::Expand || d[n].work == AxisWork::Gather;
  });
  if (only_less) return false;
  const DimId before = d.shapes().product(d.shape(start)), after = d.shapes().product(d.shape(end));
  const auto least = before ? d.shapes().number(before) : std::nullopt,
             most = after ? d.shapes().number(after) : std::nullopt;
  return !least || !most || *most > *least;
}

}  // namespace

bool pass_through(Draft& d, DNode border, Direction direction, const MoveOptions& o, Refusal& why) {
  if (direction == Direction::Down) {
    const std::vector<DNode> way = way_down(d, border, o, why);
    return !way.empty() && come_down(d, way, o, why);
  }
  const std::vector<DNode> way = way_up(d, d.in(border, 0), d[border].node_class, true);
  return !way.empty() && border_below(d, way, o, why) && come_down(d, way, o, why);
}

bool pass_to_concat(Draft& d, DNode concat, NodeClass what, const MoveOptions& o, Refusal& why) {
  std::vector<std::vector<DNode>> ways;
  std::vector<DNode> between;
  Axes perm;
  for (std::uint32_t k = 0; k < d[concat].in_count; ++k) {
    const DValue v = d.in(concat, k);
    std::vector<DNode> way = way_up(d, v, what, false);
    const bool turn = what == NodeClass::Transpose;
    if (way.empty()) {
      if (turn) return false;  // all or none
      continue;
    }
    Refusal here = Refusal::None;
    const auto b = border_below(d, way, o, here);
    if (!b || !d.single_use(v)) {
      why = b ? Refusal::MultiUse : here;
      if (turn) return false;
      continue;
    }
    if (turn && !ways.empty() && b->perm != perm) {
      why = Refusal::Attributes;
      return false;
    }
    if (turn && grows(d, way)) {
      why = Refusal::Bytes;
      return false;
    }
    perm = b->perm;
    between.insert(between.end(), way.begin() + 1, way.end());
    ways.push_back(std::move(way));
  }
  // Where elementwise nodes alone stand between, or nothing, there are other moves; one node on two ways
  // would come down twice.
  if (ways.size() < 2 || std::ranges::none_of(between, [&](DNode n) { return works_along(d, n); }))
    return false;
  std::ranges::sort(between, {}, [](DNode n) { return n.index(); });
  if (std::ranges::adjacent_find(between) != between.end()) return false;
  for (const std::vector<DNode>& way : ways)
    if (!come_down(d, way, o, why)) return false;
  return common_concat(d, concat, what, why);
}

}  // namespace graphopt
