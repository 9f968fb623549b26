// reduce-keepdims: replaces a reduction and the deformation downstream of it by one reduction.
//
// Problem: exporters reduce with keepdims=1 and squeeze the reduced axes, or reduce with keepdims=0 and
// unsqueeze them.
// Method: peephole: a Squeeze, Unsqueeze, Reshape or Flatten of a Reduce*, ArgMax or ArgMin, whose dims
// provably are, for all sizes, those of the reduction with the other keepdims. The deformation becomes that
// reduction.
// Exact: keepdims changes only the dims of the result; operand and axes stay, so each element is computed as
// before, and a deformation keeps their order. Where an operand has no elements, ONNX Runtime's dims differ
// from those that ONNX requires, and differ with keepdims; so every dim must be provably at least 1.
// Lowers: nodes. Ends: each rewrite removes a deformation.
// Left alone: a reduction with another user or that is an output; unknown axes or ranks; an empty list of
// axes with noop_with_empty_axes, where nothing is reduced; scalars.
//
//   r = ReduceMean <axes = [1], keepdims = 1> (x)      =>      y = ReduceMean <axes = [1], keepdims = 0> (x)
//   y = Squeeze <axes = [1]> (r)

#include <algorithm>
#include <vector>

#include "ops/attributes.h"
#include "ops/deformation.h"
#include "ops/node_facts.h"
#include "passes/rule_pass.h"

namespace graphopt {
namespace {

// Returns true for the operators whose attribute keepdims keeps reduced axes with extent 1.
bool has_keepdims(const Model& m, NodeId n) {
  const OpKind kind = m.kind(n);
  return facts_of(m, n).work == AxisWork::Reduce || kind == OpKind::ArgMax || kind == OpKind::ArgMin;
}

class FlipKeepdims final : public Rule {
 public:
  static constexpr Counter kCounter{"flipped", "reductions whose keepdims made a deformation redundant"};
  std::string_view name() const override { return "flip"; }
  std::span<const OpKind> roots() const override { return kDeformations; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId r = m.input(n, 0), y = m.output(n, 0);
    reduction_ = r ? m.value(r).def : NodeId{};
    if (!reduction_ || !has_keepdims(m, reduction_)) return false;
    if (!attributes_known(m, reduction_) || !attributes_known(m, n))
      return c.no(reduction_, "it, or the Reshape after it, has unknown attributes");
    if (m.single_user(r) != n) return c.no(reduction_, "something else reads the result");
    const ValueId x = m.input(reduction_, 0);
    if (c.infer.dims(x).empty() || !c.infer.has_rank(y)) return c.no(reduction_, "a rank is not known, or 0");
    if (int_attr(m, reduction_, names::noop_with_empty_axes).value_or(0) != 0)
      return c.no(reduction_, "it may reduce nothing");
    const std::span<const DimId> from = c.infer.dims(x), to = c.infer.dims(y);
    const auto written = axes_of(m, reduction_);
    const auto axes = written ? normalize_axes(*written, from.size()) : std::nullopt;
    if (!axes) return c.no(reduction_, "the axes are not known");
    keep_ = int_attr(m, reduction_, names::keepdims).value_or(1) == 0;
    const DimId one = c.dims.constant(1);
    std::vector<DimId> flipped;
    if (std::ranges::any_of(from, [&](DimId d) { return m.dims.range(d).low < 1; }))
      return c.no(reduction_, "the operand may have no elements");
    for (std::size_t i = 0; i < from.size(); ++i) {
      const bool reduced = axes->empty() || std::ranges::count(*axes, static_cast<std::int64_t>(i)) > 0;
      if (!reduced) flipped.push_back(from[i]);
      else if (keep_) flipped.push_back(one);
    }
    return std::ranges::equal(flipped, to,
                              [&](DimId a, DimId b) { return m.dims.equal(a, b) == Tri::Yes; }) ||
           c.no(n, "the dims are not proven to be those of the reduction with the other keepdims");
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    // The reduction takes over the result, which keeps its name, and facts about it stay true.
    const ValueId result[] = {m.detach_output(n, 0)};
    std::vector<ValueId> operands;
    for (std::size_t i = 0; i < m.input_count(reduction_); ++i) operands.push_back(m.input(reduction_, i));
    const NodeId made = m.add_node_as(reduction_, m.node(n).graph, operands, result, n);
    m.set_attr_int(made, names::keepdims, keep_ ? 1 : 0);
  }

 private:
  NodeId reduction_;
  bool keep_ = false;  // the new value of keepdims
};

}  // namespace

extern constinit const PassInfo reduce_keepdims = {
    .name = "reduce-keepdims",
    .summary = "let a reduction keep or drop its axes, not a Squeeze or Unsqueeze",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<FlipKeepdims>>};

}  // namespace graphopt
