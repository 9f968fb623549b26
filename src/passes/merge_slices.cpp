// merge-slices: slices the operand of a Split once, where all its results are sliced to the same range.
//
// Problem: code takes a tensor apart and then slices each part along another axis: real and imaginary parts
// of a spectrum without their first frame, heads without a class token. Method: peephole, from the Split. If
// each result is read by one Slice and nothing else, all Slices select the same along the same axes, and none
// of these is the axis of the Split, then the operand of the Split is sliced once, and the results of a Split
// of that are those of the Slices. Exact: elements are only copied, and along different axes both orders pick
// the same ones. All parts have the extents of the whole along the other axes, so what a Slice counts from
// the end is the same there. Lowers: launches (all Slices but one). Ends: each rewrite removes Slices and
// makes no Split. Left alone: Slices whose numbers are not constants; a part that is an output, or that
// something else reads.
//
//   a, b = Split <axis = 0> (x)                     =>      s = Slice (x, {1}, {9}, {1})
//   y = Slice (a, {1}, {9}, {1})                            y, z = Split <axis = 0> (s)
//   z = Slice (b, {1}, {9}, {1})

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ops/attributes.h"
#include "passes/rule_pass.h"
#include "passes/selection.h"

namespace graphopt {
namespace {

bool same_ranges(const Ranges& a, const Ranges& b) {
  return std::ranges::equal(a, b, [](const AxisRange& x, const AxisRange& y) {
    return x.axis == y.axis && x.start == y.start && x.end == y.end && x.step == y.step;
  });
}

class MergeSlices final : public Rule {
 public:
  static constexpr Counter kCounter{"merged", "Splits of which one Slice cuts the operand"};
  std::string_view name() const override { return "slices-of-split"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Split>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId x = m.input(n, 0);
    if (m.output_count(n) < 2 || !attributes_known(m, n)) return false;
    if (!c.infer.has_rank(x)) return c.no(n, "the rank of the operand is not known");
    const auto axis = normalize_axis(int_attr(m, n, names::axis).value_or(0), c.infer.dims(x).size());
    if (!axis || m.is_fixed(x)) return c.no(n, "the axis is not known, or the operand must stay as it is");
    slices_.clear();
    std::optional<Ranges> common;
    for (const ValueId part : m.outputs(n)) {
      const NodeId slice = part ? m.single_user(part) : NodeId{};
      if (!slice || m.kind(slice) != OpKind::Slice || m.input(slice, 0) != part)
        return c.no(n, "a result is read by something else than one Slice");
      const auto ranges = attributes_known(m, slice) ? ranges_of(c, slice) : std::nullopt;
      if (!ranges) return c.no(slice, "its numbers are not known");
      if (std::ranges::find(*ranges, *axis, &AxisRange::axis) != ranges->end())
        return c.no(slice, "it cuts the axis of the Split");
      if (common && !same_ranges(*common, *ranges))
        return c.no(slice, "it selects something else than the others");
      if (!common) common = *ranges;
      if (!m.output(slice, 0)) return false;
      slices_.push_back(slice);
    }
    // The first Slice moves to the Split, in front of nodes that may compute its numbers.
    for (std::size_t i = 1; i < m.input_count(slices_[0]); ++i) {
      const ValueId v = m.input(slices_[0], i);
      const NodeId def = v ? m.value(v).def : NodeId{};
      if (def && m.node(def).graph == m.node(n).graph && !m.before(def, n))
        return c.no(slices_[0], "its numbers are made after the Split");
    }
    return true;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const GraphId g = m.node(n).graph;
    std::vector<ValueId> cut, operands, results;
    for (std::size_t i = 0; i < m.input_count(slices_[0]); ++i) cut.push_back(m.input(slices_[0], i));
    for (std::size_t i = 0; i < m.input_count(n); ++i) operands.push_back(m.input(n, i));
    cut[0] = operands[0];
    const ValueId whole = m.add_value(g, m.fresh_name(std::string(m.text(m.value(cut[0]).name)) + "_cut"));
    operands[0] = whole;
    m.add_node_as(slices_[0], g, cut, std::span(&whole, 1), n);
    for (const NodeId slice : slices_) results.push_back(m.detach_output(slice, 0));
    m.add_node_as(n, g, operands, results, n);
  }

 private:
  std::vector<NodeId> slices_;  // of each result of the Split
};

}  // namespace

extern constinit const PassInfo merge_slices = {
    .name = "merge-slices",
    .summary = "slice the operand of a Split once if all its results are sliced alike",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<MergeSlices>>};

}  // namespace graphopt
