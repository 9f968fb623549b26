// select-parts: takes entries of a Concat from the operand that has them, and joins Gathers from one value.
//
// Problem: shape code and box decoding join tensors and pick one of them again; embeddings of a list of ids
// are gathered part by part and joined.
// Method: peephole, three rules. Indices, starts and ends are constants.
//   gather  a Gather along the axis of a Concat, whose entries all lie in one operand, reads that operand
//   slice   the same of a Slice on that axis
//   joined  a Concat of Gathers from one value, along their axis, is one Gather by the joined indices
// Exact: elements are only copied. Which operand has an entry is decided by extents that are numbers; an
// index that counts from the end counts through the operands from the last one. All operands have the rank of
// the result, since ONNX Runtime lets one without elements have another. Lowers: nodes once nothing reads the
// Concat; the depth. Ends: each rewrite moves a selection up past a Concat, or removes a Gather. Left alone:
// strings, of which ONNX Runtime's Gather does not copy all; indices of more axes in a Concat.
//
//   a = Concat <axis = 0> (x, z)       # x: [2, n], z: [3, n]
//   y = Gather (a, {3})                                             =>      y = Gather (z, {1})

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "ops/attributes.h"
#include "ops/constants.h"
#include "passes/rule_pass.h"
#include "passes/selection.h"
#include "rewrite/build.h"

namespace graphopt {
namespace {

// Returns the extents of a Concat's operands along its axis; nothing where it is another axis than `axis`.
std::optional<std::vector<std::optional<std::int64_t>>> parts_along(const MatchContext& c, NodeId concat,
                                                                    std::int64_t axis) {
  const Model& m = c.model;
  const ValueId y = m.output(concat, 0);
  const auto written = int_attr(m, concat, names::axis);
  if (!written || !attributes_known(m, concat) || normalize_axis(*written, c.infer.dims(y).size()) != axis)
    return std::nullopt;
  std::vector<std::optional<std::int64_t>> out;
  for (std::size_t i = 0; i < m.input_count(concat); ++i) {
    const ValueId part = m.input(concat, i);
    // ONNX Runtime takes an operand without elements whatever its rank.
    if (c.infer.dims(part).size() != c.infer.dims(y).size()) return std::nullopt;
    out.push_back(extent(c, part, axis));
  }
  return out;
}

struct Place {
  std::size_t part = 0;
  std::int64_t index = 0;  // in that part
};
// Returns where entry i of the whole lies, counted from the end if it is negative; nothing where that depends
// on an extent that is not known.
std::optional<Place> place_of(std::span<const std::optional<std::int64_t>> parts, std::int64_t i) {
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::size_t part = i < 0 ? parts.size() - 1 - k : k;
    const auto& length = parts[part];
    if (!length) return std::nullopt;
    if (i < 0 ? i >= -*length : i < *length) return Place{part, i};
    i += i < 0 ? *length : -*length;
  }
  return std::nullopt;
}

class GatherOfConcat final : public Rule {
 public:
  static constexpr Counter kCounter{"gathers", "Gathers of one operand of a Concat"};
  std::string_view name() const override { return "gather"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Gather>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId x = m.input(n, 0);
    const NodeId q = x ? m.value(x).def : NodeId{};
    if (!q || m.kind(q) != OpKind::Concat || !c.infer.has_rank(x)) return c.no(n, "its operand is no Concat");
    if (m.is_fixed(x) || !attributes_known(m, n))
      return c.no(n, "an annotation names the value, or a kernel writes to it");
    const auto axis = normalize_axis(int_attr(m, n, names::axis).value_or(0), c.infer.dims(x).size());
    const auto parts = axis ? parts_along(c, q, *axis) : std::nullopt;
    if (!parts) return c.no(n, "the Concat has another axis");
    const TensorId t = m.constant_of(m.input(n, 1));
    const auto indices = int_list(m, t);
    if (!indices || indices->empty()) return c.no(n, "the indices are no constants");
    std::optional<std::size_t> part;
    local_.clear();
    for (const std::int64_t i : *indices) {
      const auto place = place_of(*parts, i);
      if (!place || (part && *part != place->part))
        return c.no(n, "the entries are not those of one operand");
      part = place->part;
      local_.push_back(place->index);
    }
    from_ = m.input(q, *part);
    type_ = m.tensor(t).dtype;
    dims_ = m.tensor(t).dims;
    changed_ = local_ != *indices;
    return !m.is_fixed(from_) && int_payload(type_, local_).has_value();
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    std::vector<ValueId> operands{from_, m.input(n, 1)};
    if (changed_) {
      const std::string base(m.text(m.value(m.input(n, 1)).name));
      operands[1] = m.add_initializer(m.node(n).graph, base,
                                      m.make_tensor(type_, dims_, int_payload(type_, local_).value()));
    }
    m.set_operands(n, operands);
  }

 private:
  ValueId from_;
  std::vector<std::int64_t> local_, dims_;
  DType type_ = DType::Undefined;
  bool changed_ = false;
};

class SliceOfConcat final : public Rule {
 public:
  static constexpr Counter kCounter{"slices", "Slices of one operand of a Concat"};
  std::string_view name() const override { return "slice"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Slice>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId x = m.input(n, 0);
    const NodeId q = x ? m.value(x).def : NodeId{};
    if (!q || m.kind(q) != OpKind::Concat) return c.no(n, "its operand is no Concat");
    if (m.is_fixed(x)) return c.no(n, "an annotation names the value, or a kernel writes to it");
    const auto ranges = ranges_of(c, n);
    if (!ranges || ranges->size() != 1) return c.no(n, "it does not cut one axis by constants");
    range_ = ranges->front();
    const auto parts = parts_along(c, q, range_.axis);
    if (!parts) return c.no(n, "the Concat has another axis");
    if (!count_from_front(range_, extent(c, x, range_.axis)))
      return c.no(n, "the start or end counts from an end that is not known");
    const auto first = place_of(*parts, range_.start);
    const auto last = range_.end > range_.start ? place_of(*parts, range_.end - 1) : std::nullopt;
    if (!first || !last || first->part != last->part)
      return c.no(n, "the entries are not those of one operand");
    from_ = m.input(q, first->part);
    range_.start = first->index;
    range_.end = last->index + 1;
    return !m.is_fixed(from_);
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const ValueId results[] = {m.detach_output(n, 0)};
    const std::string base(m.text(m.value(results[0]).name));
    const std::int64_t starts[] = {range_.start}, ends[] = {range_.end}, axes[] = {range_.axis},
                       steps[] = {range_.step};
    SliceNumbers numbers{starts, ends, axes, {}};
    if (range_.step != 1) numbers.steps = steps;
    add_slice({m, m.node(n).graph, n, base, results}, from_, numbers);
  }

 private:
  ValueId from_;
  AxisRange range_;
};

class ConcatOfGathers final : public Rule {
 public:
  static constexpr Counter kCounter{"joined", "Concats of Gathers from one value"};
  std::string_view name() const override { return "joined"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Concat>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId y = m.output(n, 0);
    if (m.input_count(n) < 2 || !attributes_known(m, n)) return false;
    const DType type = c.infer.dtype(y);
    if (type == DType::String || type == DType::Undefined) return c.no(n, "Gather does not copy all strings");
    indices_.clear();
    for (std::size_t i = 0; i < m.input_count(n); ++i) {
      const ValueId v = m.input(n, i);
      const NodeId g = v ? m.value(v).def : NodeId{};
      if (!g || m.kind(g) != OpKind::Gather || m.single_user(v) != n || !attributes_known(m, g))
        return c.no(n, "an operand is no Gather that nothing else reads");
      const ValueId from = m.input(g, 0), at = m.input(g, 1);
      if (!from || !at || (i > 0 && from != m.input(first_, 0)) || m.is_fixed(from))
        return c.no(n, "the Gathers read several values");
      if (i == 0) first_ = g;
      if (c.infer.dims(at).size() != 1 || !c.infer.has_rank(from) ||
          c.infer.dtype(at) != c.infer.dtype(m.input(first_, 1)))
        return c.no(n, "the indices are no lists of one type");
      const std::size_t rank = c.infer.dims(from).size();
      const auto axis = normalize_axis(int_attr(m, g, names::axis).value_or(0), rank);
      const auto along = int_attr(m, n, names::axis);
      if (!axis || !along || normalize_axis(*along, rank) != axis)
        return c.no(n, "a Gather has another axis than the Concat");
      indices_.push_back(at);
    }
    return true;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const GraphId g = m.node(n).graph;
    const ValueId result = m.detach_output(n, 0);
    const std::string base = std::string(m.text(m.value(result).name)) + "_indices";
    const IntAttr along{names::axis, 0};
    const NodeId joined = add_operator({m, g, n, base}, OpKind::Concat, indices_, {&along, 1});
    const std::array<ValueId, 2> operands{m.input(first_, 0), m.output(joined, 0)};
    m.add_node_as(first_, g, operands, std::span(&result, 1), n);
  }

 private:
  NodeId first_;
  std::vector<ValueId> indices_;
};

}  // namespace

extern constinit const PassInfo select_parts = {
    .name = "select-parts",
    .summary = "take entries of a Concat from its operand, join Gathers from one value",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<GatherOfConcat, SliceOfConcat, ConcatOfGathers>>};

}  // namespace graphopt
