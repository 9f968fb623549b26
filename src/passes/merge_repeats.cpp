// merge-repeats: repeats the entries of an axis by one Gather.
//
// Problem: attention with fewer keys than queries repeats each head, and upsampling each row: Unsqueeze,
// Expand along the new axis, Reshape that joins both axes, and often a chain that computes the targets of
// both.
// Method: peephole, from the Reshape. The Unsqueeze (or another deformation that inserts one axis) gives
// an axis of extent 1, the Expand makes r of it and changes nothing else, and the Reshape joins it with
// the axis before it (each entry r times in a row) or after it (all entries r times). That is a Gather
// along the joined axis of n entries with n r constant indices.
// Exact: elements are only copied. All dims are proven equal for all sizes, so in row-major order entry k
// of the joined axis is entry k / r, or k mod n, of the axis. n and r are numbers; other extents may be 0.
// Lowers: nodes (two of three, and the chain of the targets). Ends: each rewrite removes an Expand.
// Left alone: an Expand or deformation that something else reads, texts (ONNX Runtime's Gather does not
// copy all of a row), more than kMostEntries entries.
//
//   u = Unsqueeze (x, {2})                x float[B,2,S,4]
//   e = Expand (u, {1, 1, 3, 1, 1})
//   y = Reshape (e, {0, 6, -1, 4})        =>      y = Gather <axis = 1> (x, {0, 0, 0, 1, 1, 1})

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/attributes.h"
#include "ops/node_facts.h"
#include "passes/rule_pass.h"
#include "rewrite/build.h"

namespace graphopt {
namespace {

constexpr std::int64_t kMostEntries = 1 << 16;
constexpr std::uint64_t kFewBytes = 1024;  // more are bounded by --fold-limit, too

using DimList = std::span<const DimId>;

class MergeRepeats final : public Rule {
 public:
  static constexpr Counter kCounter{"merged", "repeats that became a Gather"};
  std::string_view name() const override { return "repeat"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Reshape>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const NodeId expand = producer(m, n, n);
    if (!expand || m.kind(expand) != OpKind::Expand) return c.no(n, "its operand is no Expand");
    const NodeId insert = producer(m, expand, n);
    if (!insert || facts_of(m, insert).cls != OpClass::Deformation)
      return c.no(n, "no axis is inserted before the Expand");
    x_ = m.input(insert, 0);
    const ValueId u = m.output(insert, 0), e = m.output(expand, 0), y = m.output(n, 0);
    if (m.is_fixed(x_) || m.is_fixed(y)) return c.no(n, "an operand or the result must stay as it is");
    if (const DType type = c.infer.dtype(y); type == DType::String || type == DType::Undefined)
      return c.no(n, "the elements are texts, or their type is not known");
    for (const ValueId v : {x_, u, e, y})
      if (!c.infer.has_rank(v)) return c.no(n, "a rank is not known");
    const DimList from = c.infer.dims(x_), inserted = c.infer.dims(u), repeated = c.infer.dims(e);
    if (inserted.size() != from.size() + 1 || repeated.size() != inserted.size() ||
        c.infer.dims(y).size() != from.size())
      return c.no(n, "not one axis is inserted and joined with another");
    for (std::size_t at = 0; at < inserted.size(); ++at)
      if (repeats(c, from, inserted, repeated, at))
        for (const bool in_a_row : {true, false})
          if (joins(c, from, c.infer.dims(y), at, in_a_row)) return true;
    return c.no(n, "the dims are not known to be those of a repeated axis");
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    std::vector<std::int64_t> indices;
    for (std::int64_t k = 0; k < extent_ * times_; ++k)
      indices.push_back(in_a_row_ ? k / times_ : k % extent_);
    const ValueId results[] = {m.detach_output(n, 0)};
    const std::string base(m.text(m.value(results[0]).name));
    const GraphId g = m.node(n).graph;
    const ValueId operands[] = {x_, m.add_initializer(g, base + "_indices", m.make_int64s(indices))};
    const IntAttr axis{names::axis, axis_};
    add_operator({m, g, n, base, results}, OpKind::Gather, operands, {&axis, 1});
  }

 private:
  // The producer of n's first operand, if n alone reads it and it is in the graph of the root.
  static NodeId producer(const Model& m, NodeId n, NodeId root) {
    const ValueId v = m.input(n, 0);
    const NodeId q = v ? m.value(v).def : NodeId{};
    const bool free = q && m.single_user(v) == n && m.node(q).graph == m.node(root).graph && m.input(q, 0) &&
                      attributes_known(m, q);
    return free && attributes_known(m, n) ? q : NodeId{};
  }

  static bool equal(const MatchContext& c, DimId a, DimId b) {
    return a && b && c.dims.equal(a, b) == Tri::Yes;
  }

  // Whether an axis of extent 1 is inserted at `at`, and becomes some number of entries.
  bool repeats(const MatchContext& c, DimList from, DimList inserted, DimList repeated, std::size_t at) {
    const auto times = repeated[at] ? c.dims.value(repeated[at]) : std::nullopt;
    if (!c.dims.is_constant(inserted[at], 1) || !times || *times < 2 || *times > kMostEntries) return false;
    times_ = *times;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::size_t k = i < at ? i : i + 1;
      if (!equal(c, from[i], inserted[k]) || !equal(c, from[i], repeated[k])) return false;
    }
    return true;
  }

  // Whether the new axis is joined with the one before it (in a row) or after it.
  bool joins(const MatchContext& c, DimList from, DimList to, std::size_t at, bool in_a_row) {
    if (in_a_row ? at == 0 : at >= from.size()) return false;
    const std::size_t axis = in_a_row ? at - 1 : at;
    const auto extent = from[axis] ? c.dims.value(from[axis]) : std::nullopt;
    if (!extent || *extent < 1 || *extent > kMostEntries / times_) return false;
    const auto bytes = static_cast<std::uint64_t>(*extent * times_) * sizeof(std::int64_t);
    if (bytes > kFewBytes && bytes > c.options.fold_limit) return false;
    for (std::size_t i = 0; i < from.size(); ++i)
      if (i == axis ? !c.dims.is_constant(to[i], *extent * times_) : !equal(c, from[i], to[i])) return false;
    axis_ = static_cast<std::int64_t>(axis);
    extent_ = *extent;
    in_a_row_ = in_a_row;
    return true;
  }

  ValueId x_;
  std::int64_t axis_ = 0, extent_ = 0, times_ = 0;
  bool in_a_row_ = false;
};

}  // namespace

extern constinit const PassInfo merge_repeats = {.name = "merge-repeats",
                                                 .summary = "repeat the entries of an axis by one Gather",
                                                 .exact = Exact::Yes,
                                                 .level = 1,
                                                 .make = make_pass<RulePass<MergeRepeats>>};

}  // namespace graphopt
