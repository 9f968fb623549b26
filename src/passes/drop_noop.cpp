// drop-noop: removes nodes that provably return their first operand unchanged, and Expands that a consumer's
// own broadcasting makes redundant.
//
// Problem: exporters cast to the type a value has, reshape to the shape it has, slice all of an axis,
// concatenate one part, transpose by the identity, and expand an operand of an operator that broadcasts
// anyway.
// Method: peephole, three rules. The first: a node whose result equals operand 0 element by element. Why each
// is exact:
//   Cast, CastLike   the result's element type is the operand's: nothing is converted
//   Reshape, Flatten, Squeeze, Unsqueeze     row-major order is kept, so equal dims mean an equal tensor
//   Expand, Tile     equal dims: every axis was repeated once (or the tensor is empty on both sides)
//   Transpose        perm is the identity, the rank is below 2, or only axes of extent 1 move and dims stay
//   Slice            every step is 1 and the dims stay: each axis starts at 0
//   Pad              all pads are constant zeros
//   Resize           all scales are 1, and no region is read: ONNX Runtime copies then, whatever the mode
//   Concat, Sum, Max, Min, Mean of one operand; Split into one part          a copy
// Dims are equal when inference proves it for all sizes; the element type must be known and equal.
// The second: an operand of a Concat that is empty along the axis, and has the result's other dims.
// The third: an Expand, or a Tile of axes of extent 1, whose users are all elementwise, broadcast all their
// operands, and have results of the same dims without it: each dim is provably that of another operand or of
// the Expand's own operand. Exact: in every run that the model accepts, the Expand's operand has in each axis
// 1 or the extent of the user's result, so it is enough that one operand is proven to have that extent, 0
// included; each element is computed from the same elements. The bits are the same only where a kernel gives
// the same with scalar, row and full operands (ops/facts.h); so not Pow, not Max and Min of floats, whose
// zeros depend on the loop, and not Where of floats, which may lose the sign of a -0 by broadcasting. Lowers:
// nodes. Ends: each rewrite removes a node. Left alone: a node whose result is an output, if the operand
// cannot take the output's name, or has already taken that of another output; an Expand that one of its users
// requires.
//
//   b = Transpose <perm = [0, 1]> (a)      =>      y = Relu (a)
//   y = Relu (b)

#include <algorithm>
#include <vector>

#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/node_facts.h"
#include "ops/pads.h"
#include "passes/rule_pass.h"

namespace graphopt {
namespace {

constexpr OpKind kMayDoNothing[] = {
    OpKind::Cast,   OpKind::CastLike, OpKind::Reshape,   OpKind::Flatten, OpKind::Squeeze, OpKind::Unsqueeze,
    OpKind::Expand, OpKind::Tile,     OpKind::Transpose, OpKind::Slice,   OpKind::Pad,     OpKind::Concat,
    OpKind::Sum,    OpKind::Max,      OpKind::Min,       OpKind::Mean,    OpKind::Split,   OpKind::Resize};

class DropNoop final : public SkipRule {
 public:
  static constexpr Counter kCounter{"removed", "nodes that returned their operand"};
  std::string_view name() const override { return "noop"; }
  std::span<const OpKind> roots() const override { return kMayDoNothing; }

  bool match(const MatchContext& c, NodeId n) override {
    const ValueId in = c.model.input(n, 0);
    return in && returns_operand(c, n, in, c.model.output(n, 0)) && may_skip(c, n);
  }

 private:
  static bool returns_operand(const MatchContext& c, NodeId n, ValueId in, ValueId out) {
    const Model& m = c.model;
    switch (m.kind(n)) {
      case OpKind::Cast:
      case OpKind::CastLike: {
        const DType type = c.infer.dtype(in);
        return (type != DType::Undefined && type == c.infer.dtype(out)) ||
               c.no(n, "it is not proven that the operand has this type");
      }
      case OpKind::Concat:
      case OpKind::Sum:
      case OpKind::Max:
      case OpKind::Min:
      case OpKind::Mean: return m.input_count(n) == 1;
      case OpKind::Split:
        // A single part contains all of the axis, whatever the lengths are: they must add up to its extent.
        return m.output_count(n) == 1;
      case OpKind::Transpose: return is_identity_transpose(c, n, in, out);
      case OpKind::Slice: return steps_are_one(c, n) && same_shape(c, n, in, out);
      case OpKind::Resize: return resizes_by_one(c, n) && same_shape(c, n, in, out);
      case OpKind::Pad: return pads_are_zero(m, n) || c.no(n, "it is not known that all pads are 0");
      default: return same_shape(c, n, in, out);
    }
  }

  static bool same_shape(const MatchContext& c, NodeId n, ValueId in, ValueId out) {
    return c.infer.same_shape(in, out) || c.no(n, "it is not proven that the dims stay");
  }

  static bool counts_up(std::span<const std::int64_t> perm) {
    for (std::size_t i = 0; i < perm.size(); ++i)
      if (perm[i] != static_cast<std::int64_t>(i)) return false;
    return true;
  }

  static bool is_identity_transpose(const MatchContext& c, NodeId n, ValueId in, ValueId out) {
    const Model& m = c.model;
    const bool has_rank = c.infer.has_rank(in);
    if (!has_attr(m, n, names::perm))
      return (has_rank && c.infer.dims(in).size() < 2) || c.no(n, "the axes are reversed");
    const auto perm = ints_attr(m, n, names::perm);
    if (!perm || (has_rank && perm->size() != c.infer.dims(in).size()))
      return c.no(n, "perm is not known, or has another length than the operand's rank");
    if (counts_up(*perm)) return true;
    // Axes of extent 1 may move anywhere: the others must keep their order, and the dims must stay. The
    // result has dims only where perm is a permutation of all axes.
    if (!same_shape(c, n, in, out)) return false;
    std::int64_t last = -1;
    for (const std::int64_t axis : *perm) {
      if (m.dims.is_constant(c.infer.dims(in)[static_cast<std::size_t>(axis)], 1)) continue;
      if (axis < last) return c.no(n, "axes of more than one element change their order");
      last = axis;
    }
    return true;
  }

  static bool steps_are_one(const MatchContext& c, NodeId n) {
    const Model& m = c.model;
    if (m.opset(n) < 10 || !m.input(n, 4)) return true;  // no steps: all are 1
    const auto steps = int_operand(m, n, 4);
    return (steps && std::ranges::all_of(*steps, [](std::int64_t s) { return s == 1; })) ||
           c.no(n, "it is not known that all steps are 1");
  }

  // Returns whether all scales are 1, provided that the dims stay.
  static bool resizes_by_one(const MatchContext& c, NodeId n) {
    const Model& m = c.model;
    if (!attributes_known(m, n)) return c.no(n, "has attributes that are not known");
    if (m.opset(n) >= 11) {
      if (string_attr(m, n, names::coordinate_transformation_mode).value_or("tf_crop_and_resize") ==
          "tf_crop_and_resize")
        return c.no(n, "it may read a region of the operand");
      if (m.input(n, 3))
        return m.opset(n) < 18 || string_attr(m, n, names::keep_aspect_ratio_policy) == "stretch" ||
               c.no(n, "the scales follow from a policy");
    }
    const ValueId scales = m.input(n, m.opset(n) >= 11 ? 2 : 1);
    return (scales && holds(m, m.constant_of(scales), 1.0)) ||
           c.no(n, "it is not known that all scales are 1");
  }

  static bool pads_are_zero(const Model& m, NodeId n) {
    const auto pads = pads_of(m, n);
    return pads && std::ranges::all_of(*pads, [](std::int64_t p) { return p == 0; });
  }
};

class DropEmptyPart final : public Rule {
 public:
  static constexpr Counter kCounter{"empty", "Concats that lost operands without elements"};
  std::string_view name() const override { return "empty-part"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Concat>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId y = m.output(n, 0);
    if (!c.infer.has_rank(y) || !attributes_known(m, n)) return c.no(n, "the rank is not known");
    const auto dims = c.infer.dims(y);
    const auto axis =
        normalize_axis(int_attr(m, n, names::axis).value_or(m.opset(n) < 4 ? 1 : 0), dims.size());
    if (!axis) return c.no(n, "the axis is not known");
    left_.clear();
    for (std::size_t i = 0; i < m.input_count(n); ++i)
      if (!is_empty(c, m.input(n, i), dims, static_cast<std::size_t>(*axis))) left_.push_back(m.input(n, i));
    if (left_.empty()) left_.push_back(m.input(n, 0));
    return left_.size() < m.input_count(n) || c.no(n, "no operand is known to be empty");
  }

  void apply(PassContext& c, NodeId n) override { c.model.set_operands(n, left_); }

 private:
  // Along the axis; in the others it has the result's dims, since ONNX Runtime takes an operand without
  // elements whatever its other dims.
  static bool is_empty(const MatchContext& c, ValueId v, std::span<const DimId> result, std::size_t axis) {
    const Model& m = c.model;
    if (c.infer.dims(v).size() != result.size()) return false;
    const auto dims = c.infer.dims(v);
    for (std::size_t i = 0; i < dims.size(); ++i)
      if (i == axis ? !m.dims.is_constant(dims[i], 0) : m.dims.equal(dims[i], result[i]) != Tri::Yes)
        return false;
    return true;
  }

  std::vector<ValueId> left_;
};

class DropExpand final : public SkipRule {
 public:
  static constexpr Counter kCounter{"expands", "Expands that their users' broadcasting made needless"};
  std::string_view name() const override { return "expand"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Expand, OpKind::Tile>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId x = m.input(n, 0), e = m.output(n, 0);
    if (!x) return false;
    if (m.is_fixed(e) || m.is_fixed(x)) return c.no(n, "its operand or result must stay what it is");
    if (!c.infer.has_rank(x)) return c.no(n, "the rank of the operand is not known");
    if (m.kind(n) == OpKind::Tile && !repeats_ones(c, x, e))
      return c.no(n, "it may repeat an axis of more than one element");
    for (UseId u = m.first_use(e); u; u = m.next_use(u)) {
      if (m.is_return(m.user(u))) return c.no(n, "the result is an output of its graph");
      if (!broadcasts_without(c, m.user(u), e, x)) return false;
    }
    return may_skip(c, n);
  }

 private:
  // Returns whether an axis that has another extent in e has extent 1 in x.
  static bool repeats_ones(const MatchContext& c, ValueId x, ValueId e) {
    const auto from = c.infer.dims(x), to = c.infer.dims(e);
    return std::ranges::equal(from, to, [&](DimId a, DimId b) {
      return c.model.dims.is_constant(a, 1) || c.model.dims.equal(a, b) == Tri::Yes;
    });
  }

  // Returns true if the user's result stays the same, bit for bit, when it reads x wherever it reads e.
  static bool broadcasts_without(const MatchContext& c, NodeId user, ValueId e, ValueId x) {
    const Model& m = c.model;
    if (facts_of(m, user).broadcast != Broadcast::Multi) return c.no(user, "does not broadcast its operands");
    const ValueId y = m.output(user, 0);
    if (!y || !c.infer.has_rank(y)) return c.no(user, "the rank of the result is not known");
    if (!same_bits(c, user)) return c.no(user, "bits may depend on how the operands are laid out");
    const std::span<const DimId> dims = c.infer.dims(y);
    for (std::size_t place = 1; place <= dims.size();
         ++place) {  // from the last dim, as operands are aligned there
      const DimId wanted = dims[dims.size() - place];
      bool given = false;
      for (std::size_t i = 0; i < m.input_count(user) && !given; ++i) {
        const ValueId v = m.input(user, i) == e ? x : m.input(user, i);
        const std::span<const DimId> d = c.infer.dims(v);
        given = place <= d.size() && m.dims.equal(d[d.size() - place], wanted) == Tri::Yes;
      }
      if (!given) return c.no(user, "no other operand is proven to give the result its dims");
    }
    return true;
  }

  static bool same_bits(const MatchContext& c, NodeId user) {
    const Model& m = c.model;
    const ValueId last = m.input(user, m.input_count(user) - 1);
    const DType type =
        // of a Where: the type of the branches, not of the condition
        last ? c.infer.dtype(last) : DType::Undefined;
    const OpKind kind = m.kind(user);
    return type != DType::Undefined && scalar_equals_vector(kind, type) && !position_dependent(kind, type);
  }
};

}  // namespace

extern constinit const PassInfo drop_noop = {
    .name = "drop-noop",
    .summary = "remove Cast, Reshape, Transpose, Slice, Concat ... that change nothing",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<DropNoop, DropEmptyPart, DropExpand>>};

}  // namespace graphopt
