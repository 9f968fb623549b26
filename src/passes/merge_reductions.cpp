// merge-reductions: removes reductions over axes of extent 1, and makes one of two that follow each other.
//
// Problem: code for any rank reduces axes that have one element, and reduces one axis after the other.
// Method: peephole, two rules for ReduceSum, ReduceMean, ReduceMax, ReduceMin and, in the first, ReduceProd.
//   unit         all reduced axes have extent 1, or the node says that it reduces nothing: the result is the
//                operand, without the axes if the reduction removes them
//   consecutive  a reduction of the same kind's reduction takes the axes of both; where both keep the axes,
//                or both remove them
// Exact: the largest, least or only element. Of a Sum and a Mean of one float ONNX Runtime makes +0 of -0 in
// some layouts; sums, means and products of int64 go through doubles there, which do not hold all. So these,
// and all sums of more than one element, run only where rounding is allowed: two sums of the same terms in
// any order are within 2 n u times the sum of their magnitudes. Largest and least floats of both signs of
// zero depend on the order as well. A Mean of integers is left alone by the second rule.
// Lowers: nodes. Ends: each rewrite removes a reduction or makes it a Squeeze.
// Left alone: axes or ranks that are not known, extents that may be other than 1, a first reduction that
// something else reads, a pair that removes axes where there may be no elements.
//
//   a = ReduceSum <keepdims = 0> (x, {1})           # x: [2, 3, 4]
//   y = ReduceSum <keepdims = 0> (a, {1})                    =>      y = ReduceSum <keepdims = 0> (x, {1, 2})

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ops/attributes.h"
#include "ops/node_facts.h"
#include "passes/rule_pass.h"
#include "rewrite/build.h"

namespace graphopt {
namespace {

using Axes = std::vector<std::int64_t>;

// Returns the axes that a reduction removes or makes 1, from the front and sorted; nothing where they are not
// known, or an attribute that says yes or no is neither 0 nor 1.
std::optional<Axes> reduced_axes(const MatchContext& c, NodeId n) {
  const Model& m = c.model;
  const ValueId x = m.input(n, 0);
  if (!c.infer.has_rank(x) || !attributes_known(m, n)) return std::nullopt;
  const std::int64_t keep = int_attr(m, n, names::keepdims).value_or(1);
  const std::int64_t noop = int_attr(m, n, names::noop_with_empty_axes).value_or(0);
  // Runtimes read other numbers in different ways.
  if (keep != 0 && keep != 1) return std::nullopt;
  if (noop != 0 && noop != 1) return std::nullopt;
  const std::size_t rank = c.infer.dims(x).size();
  const auto written = axes_of(m, n);
  auto axes = written ? normalize_axes(*written, rank) : std::nullopt;
  if (!axes) return std::nullopt;
  if (axes->empty() && noop == 0)
    for (std::size_t i = 0; i < rank; ++i) axes->push_back(static_cast<std::int64_t>(i));
  std::ranges::sort(*axes);
  return axes;
}

bool keeps_dims(const Model& m, NodeId n) { return int_attr(m, n, names::keepdims).value_or(1) != 0; }

bool may_be_empty(const MatchContext& c, NodeId n) {
  return std::ranges::any_of(c.infer.dims(c.model.input(n, 0)),
                             [&](DimId d) { return c.model.dims.range(d).low < 1; });
}

// Returns whether ONNX Runtime may give the result other dims than ONNX: it does where there are no elements
// and an axis is counted from the end. The axes are known.
bool may_misplace(const MatchContext& c, NodeId n) {
  const Axes written = axes_of(c.model, n).value();
  return std::ranges::any_of(written, [](std::int64_t a) { return a < 0; }) && may_be_empty(c, n);
}

bool picks_one(OpKind kind) { return kind == OpKind::ReduceMax || kind == OpKind::ReduceMin; }

constexpr OpKind kUnit[] = {OpKind::ReduceSum, OpKind::ReduceMean, OpKind::ReduceMax, OpKind::ReduceMin,
                            OpKind::ReduceProd};

class DropUnit final : public ReplaceRule {
 public:
  static constexpr Counter kCounter{"unit", "reductions over axes of extent 1"};
  std::string_view name() const override { return "unit"; }
  std::span<const OpKind> roots() const override { return kUnit; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    source_ = {};
    const ValueId y = m.output(n, 0), x = m.input(n, 0);
    const auto axes = reduced_axes(c, n);
    if (!axes) return c.no(n, "the axes are not known");
    const auto dims = c.infer.dims(x);
    const auto is_one = [&](std::int64_t a) {
      return m.dims.is_constant(dims[static_cast<std::size_t>(a)], 1);
    };
    if (!std::ranges::all_of(*axes, is_one)) return c.no(n, "an axis may have more than one element");
    // A node that says that it reduces nothing copies; one without axes to reduce computes all the same.
    const bool copies = axes->empty() && int_attr(m, n, names::noop_with_empty_axes).value_or(0) != 0;
    if (keeps_bits(c.options.strictness) && !copies && !keeps_element(m.kind(n), c.infer.dtype(x)))
      return c.no(n, "of one element it may make another one");
    if (may_misplace(c, n)) return c.no(n, "it counts axes from the end, and there may be no elements");
    axes_ = *axes;
    if (axes_.empty() || keeps_dims(m, n))
      return replaces(c, n, x, "the operand cannot take its result's place");
    return !m.is_fixed(x) && !m.is_fixed(y);
  }

  void apply(PassContext& c, NodeId n) override {
    if (source_) return ReplaceRule::apply(c, n);
    Model& m = c.model;
    const ValueId results[] = {m.detach_output(n, 0)};
    const std::string base(m.text(m.value(results[0]).name));
    add_squeeze({m, m.node(n).graph, n, base, results}, m.input(n, 0), axes_);
  }

 private:
  static bool keeps_element(OpKind kind, DType type) {
    if (picks_one(kind)) return true;
    return type == DType::Int32 || (kind == OpKind::ReduceProd && type != DType::Int64);
  }

  Axes axes_;
};

constexpr OpKind kMerged[] = {OpKind::ReduceSum, OpKind::ReduceMean, OpKind::ReduceMax, OpKind::ReduceMin};

class MergeReductions final : public Rule {
 public:
  static constexpr Counter kCounter{"merged", "reductions of a reduction"};
  std::string_view name() const override { return "consecutive"; }
  std::span<const OpKind> roots() const override { return kMerged; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId r = m.input(n, 0);
    const NodeId first = r ? m.value(r).def : NodeId{};
    if (!first || m.kind(first) != m.kind(n)) return c.no(n, "its operand is no reduction of the same kind");
    if (m.single_user(r) != n) return c.no(first, "something else reads the result");
    from_ = m.input(first, 0);
    auto inner = reduced_axes(c, first);
    const auto outer = reduced_axes(c, n);
    if (!inner || !outer || inner->empty() || outer->empty()) return c.no(n, "the axes are not known");
    const DType type = c.infer.dtype(r);
    if (type == DType::Undefined || (m.kind(n) == OpKind::ReduceMean && !is_float(type)))
      return c.no(n, "a mean of integers rounds each time");
    if (keeps_bits(c.options.strictness) && (is_float(type) || !picks_one(m.kind(n))))
      return c.no(n, "its bits may depend on the order of the elements");
    keep_ = keeps_dims(m, n);
    if (keeps_dims(m, first) != keep_) return c.no(n, "one keeps the axes and the other does not");
    if (may_misplace(c, first) || may_misplace(c, n) || (!keep_ && may_be_empty(c, first)))
      return c.no(first, "the operand may have no elements, and then ONNX Runtime's dims are other ones");
    axes_ = *inner;
    for (std::int64_t axis : *outer) {
      // Without the axes before it that are gone, the axis of the result stood further in front.
      for (const std::int64_t gone : *inner)
        if (!keep_ && gone <= axis) ++axis;
      if (!std::ranges::binary_search(*inner, axis)) axes_.push_back(axis);
    }
    std::ranges::sort(axes_);
    return true;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const OpKind kind = m.kind(n);
    const ValueId results[] = {m.detach_output(n, 0)};
    const std::string base(m.text(m.value(results[0]).name));
    add_reduction({m, m.node(n).graph, n, base, results}, kind, from_, axes_, keep_);
  }

 private:
  ValueId from_;
  Axes axes_;
  bool keep_ = true;
};

}  // namespace

extern constinit const PassInfo merge_reductions = {
    .name = "merge-reductions",
    .summary = "drop reductions over extent 1, make one of two in a row",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<DropUnit, MergeReductions>>,
    .rounds_from = 2};

}  // namespace graphopt
