// compose-layouts: makes fewer nodes of a Transpose and a Reshape that follow each other.
//
// Problem: exporters write einops-like rearrangements as Transpose, Reshape, Transpose, and move axes of
// extent 1 by a Reshape next to a Transpose.
// Method: peephole, two rules.
//   through  Transpose, Reshape, Transpose: where the Reshape splits and joins axes only within groups that
//            are adjacent upstream of the first Transpose, too, it splits and joins them there, and one
//            Transpose moves what both moved
//   ones     a Reshape next to a Transpose that only moves axes of extent 1 is done by that Transpose
// Exact: elements are only copied. A group is a range of axes with equally many elements on both sides of the
// Reshape, for all sizes; whatever order groups have, the elements of one keep their row-major order within.
// Axes of extent 1 hold no order.
// Lowers: nodes. Ends: each rewrite removes a Transpose or a Reshape.
// Left alone: a result in between that something else reads; groups that the first Transpose tears apart; a
// Reshape to dims that no constant says.
//
//   a = Transpose <perm = [0, 3, 1, 2]> (x)      # [1, 6, 4, 5] -> [1, 5, 6, 4]
//   b = Reshape (a, {1, 5, 2, 3, 4})                         r = Reshape (x, {2, 3, 4, 5, 1})
//   y = Transpose <perm = [0, 1, 2, 4, 3]> (b)       =>      y = Transpose <perm = [4, 3, 0, 2, 1]> (r)

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "draft/shapes.h"
#include "ops/attributes.h"
#include "ops/deformation.h"
#include "ops/node_facts.h"
#include "passes/rule_pass.h"
#include "rewrite/build.h"

namespace graphopt {
namespace {

using Perm = std::vector<std::int64_t>;
using Dims = std::vector<DimId>;

constexpr OpKind kEither[] = {OpKind::Transpose, OpKind::Reshape, OpKind::Squeeze, OpKind::Unsqueeze,
                              OpKind::Flatten};

std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }

class LayoutRule : public Rule {
 protected:
  // Returns the perm of a Transpose as it is written; nothing for one that is not, which depends on the rank.
  static std::optional<Perm> perm_of(const MatchContext& c, NodeId n) {
    const Model& m = c.model;
    const auto perm = ints_attr(m, n, names::perm);
    if (!has_attr(m, n, names::perm) || !perm) return std::nullopt;
    const auto axes = normalize_axes(*perm, perm->size());
    return axes && std::ranges::equal(*axes, *perm) ? axes : std::nullopt;
  }
  // Returns the producer of n's data if only n reads it, in n's graph, and the attributes of both are known.
  static NodeId only_source(const MatchContext& c, NodeId n) {
    const Model& m = c.model;
    const ValueId v = m.input(n, 0);
    const NodeId q = v ? m.value(v).def : NodeId{};
    const bool free = q && m.single_user(v) == n;
    return free && attributes_known(m, q) && attributes_known(m, n) ? q : NodeId{};
  }
  // Returns the dims; nothing if one is not known.
  static std::optional<Dims> dims_of(const MatchContext& c, ValueId v) {
    if (!c.infer.has_rank(v)) return std::nullopt;
    const auto dims = c.infer.dims(v);
    if (!std::ranges::all_of(dims, [](DimId d) { return d.valid(); })) return std::nullopt;
    return Dims(dims.begin(), dims.end());
  }
  static bool is_one(const MatchContext& c, DimId d) { return c.model.dims.is_constant(d, 1); }
  static bool same(const MatchContext& c, DimId a, DimId b) { return c.model.dims.equal(a, b) == Tri::Yes; }

  // Where both have the same dims but for the places of those of extent 1: returns for each axis of `to` the
  // axis of `from` that has its entries.
  static std::optional<Perm> moved_ones(const MatchContext& c, const Dims& from, const Dims& to) {
    if (from.size() != to.size()) return std::nullopt;
    const auto next = [&](std::size_t i, bool one) {
      while (i < from.size() && is_one(c, from[i]) != one) ++i;
      return i;
    };
    std::size_t ones = next(0, true), others = next(0, false);
    Perm out;
    for (const DimId d : to) {
      std::size_t& i = is_one(c, d) ? ones : others;
      if (i == from.size() || !same(c, from[i], d)) return std::nullopt;
      out.push_back(static_cast<std::int64_t>(i));
      i = next(i + 1, is_one(c, d));
    }
    return out;
  }
};

class TransposeThrough final : public LayoutRule {
 public:
  static constexpr Counter kCounter{"through", "Reshapes between Transposes, of which one went"};
  std::string_view name() const override { return "through"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Transpose>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const NodeId reshape = only_source(c, n);
    if (!reshape || !is_deformation(m.kind(reshape)))
      return c.no(n, "its operand is no Reshape that nothing else reads");
    const NodeId first = only_source(c, reshape);
    if (!first || m.kind(first) != OpKind::Transpose)
      return c.no(n, "no Transpose is in front of the Reshape");
    const auto inner = perm_of(c, first), outer = perm_of(c, n);
    from_ = m.input(first, 0);
    const auto x = dims_of(c, from_), cut = dims_of(c, m.output(reshape, 0));
    if (!inner || !outer || !x || !cut || m.is_fixed(from_) || inner->size() != x->size() ||
        outer->size() != cut->size())
      return c.no(n, "a perm or a dim is not known");
    const auto places = places_before(c, *x, *inner, *cut);
    if (!places) return c.no(n, "the Reshape joins axes that are apart before the first Transpose");
    perm_.clear();
    for (const std::int64_t axis : *outer) perm_.push_back((*places)[at(axis)]);
    Dims target(cut->size());
    for (std::size_t j = 0; j < cut->size(); ++j) target[at((*places)[j])] = (*cut)[j];
    form_ = deform_form(m.dims, *x, target, [&](DimId a, DimId b) { return same(c, a, b); });
    // Never the dims of x: the rule below has made one node of a Reshape that only moves axes of extent 1 and
    // of the Transpose in front of it, since the Reshape is asked first.
    return form_.kind == DeformForm::Kind::Target ||
           c.no(n, "no constant target says the dims for all sizes");
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const std::string base(m.text(m.value(m.input(n, 0)).name));
    const NodeId reshape = add_reshape({m, m.node(n).graph, n, base}, from_, form_.numbers);
    m.set_operand(n, 0, m.output(reshape, 0));
    m.set_attr_ints(n, names::perm, perm_);
  }

 private:
  // Returns where each axis of the Reshape's result stands if x is cut and joined before its first Transpose.
  static std::optional<Perm> places_before(const MatchContext& c, const Dims& x, const Perm& inner,
                                           const Dims& cut) {
    Dims turned;
    for (const std::int64_t axis : inner) turned.push_back(x[at(axis)]);
    Perm order(x.size(), 0);  // of the axes with more than one element, by their place in x
    std::int64_t count = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!is_one(c, x[i])) order[i] = count++;
    ShapeTable shapes(c.dims);
    struct Group {
      std::int64_t first;
      std::uint32_t begin, end;  // of axes of the result
    };
    std::vector<Group> groups;
    for (const DimGroup& g : dim_groups(shapes, turned, cut)) {
      std::int64_t first = -1, last = -1;
      for (std::uint32_t a = g.a_begin; a < g.a_end; ++a) {
        if (is_one(c, turned[a])) continue;
        const std::int64_t place = order[at(inner[a])];
        if (first < 0) first = place;
        else if (place != last + 1) return std::nullopt;
        last = place;
      }
      groups.push_back({first < 0 ? count : first, g.b_begin, g.b_end});
    }
    std::ranges::stable_sort(groups, {}, &Group::first);
    Perm out(cut.size(), -1);
    std::int64_t place = 0;
    for (const Group& g : groups)
      for (std::uint32_t b = g.begin; b < g.end; ++b) out[b] = place++;
    return at(place) == cut.size() ? std::optional(out) : std::nullopt;
  }

  ValueId from_;
  Perm perm_;
  DeformForm form_;
};

class TransposeOnes final : public LayoutRule {
 public:
  static constexpr Counter kCounter{"ones", "Reshapes of axes of extent 1 that a Transpose took in"};
  std::string_view name() const override { return "ones"; }
  std::span<const OpKind> roots() const override { return kEither; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId y = m.output(n, 0);
    const NodeId q = only_source(c, n);
    if (!q) return c.no(n, "something else reads its operand");
    transpose_ = m.kind(n) == OpKind::Transpose ? n : q;
    const NodeId reshape = transpose_ == n ? q : n;
    if (m.kind(transpose_) != OpKind::Transpose || !is_deformation(m.kind(reshape)))
      return c.no(n, "it is no pair of a Transpose and a Reshape");
    from_ = m.input(q, 0);
    const auto perm = perm_of(c, transpose_);
    const auto before = dims_of(c, m.input(reshape, 0)), after = dims_of(c, m.output(reshape, 0));
    // There is an operand: nothing has no dims that are known, and its Transpose has none either.
    if (!perm || !before || !after || m.is_fixed(from_) || m.is_fixed(y))
      return c.no(n, "a perm or a dim is not known");
    const auto moved = moved_ones(c, *before, *after);
    if (!moved) return c.no(n, "the Reshape does more than to move axes of extent 1");
    perm_.clear();
    const Perm &first = transpose_ == n ? *moved : *perm, &second = transpose_ == n ? *perm : *moved;
    for (const std::int64_t axis : second) perm_.push_back(first[at(axis)]);
    return true;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const std::vector<ValueId> operands{from_};
    const ValueId result = m.detach_output(n, 0);
    const NodeId made = m.add_node_as(transpose_, m.node(n).graph, operands, std::span(&result, 1), n);
    m.set_attr_ints(made, names::perm, perm_);
  }

 private:
  NodeId transpose_;
  ValueId from_;
  Perm perm_;
};

}  // namespace

extern constinit const PassInfo compose_layouts = {
    .name = "compose-layouts",
    .summary = "make fewer nodes of Transposes with a Reshape between or next to them",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<TransposeThrough, TransposeOnes>>};

}  // namespace graphopt
