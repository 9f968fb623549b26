// scatter-blocks: writes an assignment to a block of a tensor as a Concat.
//
// Problem: x[:, 2:4] = v is exported as a ScatterND whose indices are computed, one column for each axis:
// Range, Unsqueeze, Expand, Concat and the chain of the extents.
// Method: peephole, from the ScatterND. Column j of the indices counts along axis j (counting.h), so that
// the indices are those of a block. Where the block takes all of each axis but one, the result is a Concat
// along this one: what is before the block, the updates, what is behind it.
// Exact: elements are only copied, and no index occurs twice. The extents of the block are proven to be
// those of the tensor for all sizes, or numbers within it.
// Lowers: nodes, counted before the rewrite. Ends: each rewrite removes a ScatterND.
// Left alone: reductions, blocks that are cut along several axes, indices that are constants (one node is
// less than two), texts.
//
//   i = Concat <axis = 2> (rows, columns)    rows[a, b, 0] = a, columns[a, b, 0] = b
//   y = ScatterND (x, i, v)                  x float[N,6], v float[N,2]
//                                      =>    s = Slice (x, {2}, {6}, {1})  y = Concat <axis = 1> (v, s)

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ops/attributes.h"
#include "ops/node_facts.h"
#include "passes/counting.h"
#include "passes/rule_pass.h"
#include "passes/selection.h"
#include "rewrite/build.h"

namespace graphopt {
namespace {

class ScatterBlock final : public Rule {
 public:
  static constexpr Counter kCounter{"blocks", "ScatterNDs of a block that became a Concat"};
  std::string_view name() const override { return "block"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::ScatterND>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    x_ = m.input(n, 0);
    updates_ = m.input(n, 2);
    const ValueId indices = m.input(n, 1), y = m.output(n, 0);
    if (!x_ || !indices || !updates_ || !y || !attributes_known(m, n)) return false;
    if (has_attr(m, n, names::reduction) && string_attr(m, n, names::reduction) != "none")
      return c.no(n, "it combines entries");
    for (const ValueId v : {x_, indices, updates_})
      if (!c.infer.has_rank(v)) return c.no(n, "a rank is not known");
    if (m.is_fixed(y) || m.is_fixed(x_) || m.is_fixed(updates_))
      return c.no(n, "an operand or the result must stay as it is");
    if (const DType type = c.infer.dtype(x_); type == DType::String || type == DType::Undefined)
      return c.no(n, "the elements are texts, or their type is not known");
    if (m.constant_of(indices)) return c.no(n, "the indices are constants");
    if (!finds_block(c, n, indices)) return false;
    return new_nodes() <= 1 + nodes_that_go(m, n, indices) || c.no(n, "there would be more nodes");
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const GraphId g = m.node(n).graph;
    const ValueId results[] = {m.detach_output(n, 0)};
    const std::string base(m.text(m.value(results[0]).name));
    std::vector<ValueId> parts;
    const auto slice = [&](std::int64_t start, std::int64_t end) {
      const std::int64_t starts[] = {start}, ends[] = {end}, axes[] = {axis_};
      parts.push_back(m.output(add_slice({m, g, n, base + "_part"}, x_, {starts, ends, axes}), 0));
    };
    if (start_ > 0) slice(0, start_);
    parts.push_back(updates_);
    if (!ends_) slice(start_ + length_, extent_);
    const IntAttr axis{names::axis, axis_};
    add_operator({m, g, n, base, results}, OpKind::Concat, parts, {&axis, 1});
  }

 private:
  static bool equal(const MatchContext& c, DimId a, DimId b) {
    return a && b && c.dims.equal(a, b) == Tri::Yes;
  }

  // The columns of the indices, each with an extent of 1 along the last axis; empty where there are none.
  static std::vector<ValueId> columns_of(const MatchContext& c, ValueId indices) {
    const Model& m = c.model;
    const std::size_t last = c.infer.dims(indices).size() - 1;
    if (c.dims.is_constant(c.infer.dims(indices)[last], 1)) return {indices};
    const NodeId concat = m.value(indices).def;
    if (!concat || m.kind(concat) != OpKind::Concat || !attributes_known(m, concat)) return {};
    const auto axis = normalize_axis(int_attr(m, concat, names::axis).value_or(0), last + 1);
    if (axis != static_cast<std::int64_t>(last)) return {};
    std::vector<ValueId> out;
    for (std::size_t i = 0; i < m.input_count(concat); ++i) out.push_back(m.input(concat, i));
    for (const ValueId v : out)
      if (!v || c.infer.dims(v).size() != last + 1 || !c.dims.is_constant(c.infer.dims(v)[last], 1))
        return {};
    return out;
  }

  bool finds_block(const MatchContext& c, NodeId n, ValueId indices) {
    const auto dims = c.infer.dims(x_), block = c.infer.dims(indices), given = c.infer.dims(updates_);
    if (block.empty() || !block.back()) return c.no(n, "the indices have no columns");
    const std::vector<ValueId> columns = columns_of(c, indices);
    if (columns.empty() || columns.size() + 1 != block.size() || columns.size() > dims.size() ||
        given.size() != dims.size())
      return c.no(n, "the indices are no columns, one for each of their axes");
    std::optional<std::size_t> cut;
    for (std::size_t j = 0; j < dims.size(); ++j) {
      const bool indexed = j < columns.size();
      const DimId length = indexed ? block[j] : dims[j];
      if (!equal(c, given[j], length)) return c.no(n, "the updates may have other dims than the block");
      if (!indexed) continue;
      const auto counting = counting_of(c, columns[j]);
      if (!counting || (counting->axis ? *counting->axis != j : !c.dims.is_constant(length, 1)))
        return c.no(n, "a column does not count along its axis");
      if (counting->start == 0 && equal(c, length, dims[j])) continue;
      const auto entries = c.dims.value(length);
      std::int64_t end = 0;
      if (cut || !entries || !dims[j] || counting->start < 0 ||
          __builtin_add_overflow(counting->start, *entries, &end) || c.dims.range(dims[j]).low < end)
        return c.no(n, "the block is cut along several axes, or may not be inside of the tensor");
      cut = j;
      start_ = counting->start;
      length_ = *entries;
      extent_ = c.dims.value(dims[j]).value_or(kNoEnd);
      ends_ = extent_ == end;
    }
    if (!cut) return c.no(n, "it writes all entries");  // compose-selections knows that
    axis_ = static_cast<std::int64_t>(*cut);
    return true;
  }

  std::size_t new_nodes() const { return 1 + (start_ > 0 ? 1U : 0U) + (ends_ ? 0U : 1U); }

  // Nodes that only compute the indices, a few of them.
  static std::size_t nodes_that_go(const Model& m, NodeId n, ValueId indices) {
    constexpr std::size_t kMost = 8;
    std::vector<NodeId> gone;
    const auto add = [&](NodeId reader, ValueId v) {
      if (v && m.value(v).def && m.single_user(v) == reader && m.output_count(m.value(v).def) == 1)
        gone.push_back(m.value(v).def);
    };
    add(n, indices);
    for (std::size_t i = 0; i < gone.size() && gone.size() < kMost; ++i)
      for (std::size_t k = 0; k < m.input_count(gone[i]); ++k) add(gone[i], m.input(gone[i], k));
    return gone.size();
  }

  ValueId x_, updates_;
  std::int64_t axis_ = 0, start_ = 0, length_ = 0, extent_ = kNoEnd;
  bool ends_ = false;  // nothing is behind the block
};

}  // namespace

extern constinit const PassInfo scatter_blocks = {
    .name = "scatter-blocks",
    .summary = "write assignments to a block of a tensor as a Concat",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<ScatterBlock>>};

}  // namespace graphopt
