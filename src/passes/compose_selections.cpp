// compose-selections: makes one selection of two that follow each other.
//
// Problem: code like x[:, 0, 1:][..., :-1] is exported as one Slice or Gather for each step, and an
// assignment to all rows of a tensor as a ScatterND.
//
// Method: peephole, six rules. Starts, ends, steps and indices are constants. A first selection with several
// readers goes where each of these composes with it.
//   slice         a Slice of a Slice takes the ranges of both, along different axes; of two ranges along one
//                 axis, [s1:e1:k1][s2:e2:k2] is [s1 + s2 k1 : min(e1, s1 + e2 k1) : k1 k2]
//   gather        a Gather of a Gather along one axis takes its indices from those of the first
//   gather-slice  a Gather along an axis that a Slice has cut counts from where the Slice begins
//   slice-gather  a Slice along the axis of a Gather takes a range of its indices
//   gather-squeeze  a Squeeze of the axes that a Gather's indices have: the indices go without these axes
//   scatter       a ScatterND to all entries in their order gives its updates
// Exact: elements are only copied. Without a static extent only ranges that count from the front are joined,
// with steps above 0: then element i of the first is element s1 + i k1 of x, and it is there if i < e2 and
// s1 + i k1 < min(e1, extent), whatever the extent is. With a static extent, starts and ends are first
// counted from the front. Indices that are out of range fail before as well.
// Lowers: nodes. Ends: each rewrite lets a selection read what is further upstream, and the last reader of a
// first selection removes it.
// Left alone: a first selection that something else reads, or more than 64 selections; steps below 1 on a
// joined axis; a sum or product beyond int64; opset 9 and older where steps would be needed, and ScatterND
// with a reduction.
//
//   a = Slice (x, {1}, {9}, {0})
//   y = Slice (a, {2}, {4}, {0})        =>      y = Slice (x, {3}, {5}, {0})

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/fold.h"
#include "ops/node_facts.h"
#include "passes/rule_pass.h"
#include "passes/selection.h"
#include "rewrite/build.h"
#include "rewrite/match.h"

namespace graphopt {
namespace {

// base + count * step; nothing beyond int64.
std::optional<std::int64_t> advance(std::int64_t base, std::int64_t count, std::int64_t step) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(count, step, &out) || __builtin_add_overflow(out, base, &out))
    return std::nullopt;
  return out;
}

// Returns the range of `outer` applied to what `inner` selects; both count from the front.
std::optional<AxisRange> joined(const AxisRange& inner, const AxisRange& outer) {
  AxisRange out{inner.axis};
  const auto start = advance(inner.start, outer.start, inner.step);
  const auto step = advance(0, outer.step, inner.step);
  if (!start || !step) return std::nullopt;
  out.start = *start;
  out.step = *step;
  out.end = std::min(inner.end, advance(inner.start, outer.end, inner.step).value_or(kNoEnd));
  return out;
}

// Returns whether a selection n of the result of a selection q may be one of what q reads.
bool composes(const MatchContext& c, NodeId n, NodeId q);

// Returns whether the readers of q may have indices of their own, where it is a Gather that has several.
bool may_be_copied(const Model& m, NodeId q) {
  constexpr std::int64_t kMostIndices = 4096;
  const ValueId x = m.output(q, 0);
  const TensorId t = m.kind(q) == OpKind::Gather ? m.constant_of(m.input(q, 1)) : TensorId{};
  return !t || m.single_user(x) || m.tensor(t).elements <= kMostIndices / m.use_count(x);
}

// Returns whether everything that reads the result of q may be composed with it, so that q goes. One reader
// is `known` to be.
bool all_compose(const MatchContext& c, NodeId q, NodeId known) {
  constexpr std::uint32_t kMostReaders = 64;
  const Model& m = c.model;
  const ValueId x = m.output(q, 0);
  if (m.single_user(x)) return true;
  if (m.is_fixed(x) || m.is_captured(x) || m.use_count(x) > kMostReaders) return false;
  const MatchContext quiet = c.without_reasons();
  for (UseId u = m.first_use(x); u; u = m.next_use(u)) {
    const NodeId reader = m.user(u);
    if (m.is_return(reader) || m.slot(u) != 0) return false;
    if (reader != known && !composes(quiet, reader, q)) return false;
  }
  return true;
}

// A rule about a selection n of the result of a selection, all readers of which can be composed with it.
class SelectionRule : public Rule {
 public:
  bool match(const MatchContext& c, NodeId n) final {
    const NodeId q = source(c, n);
    if (!q) return c.no(n, refusal());
    if (!may_be_copied(c.model, q))
      return c.no(n, "other readers of its operand would get indices of their own");
    return fits(c, n, q) && (all_compose(c, q, n) || c.no(n, "its operand has another reader, which stays"));
  }
  // The kinds of n, which is one of roots(), and q, its source, are right. Keeps what apply() needs.
  virtual bool fits(const MatchContext& c, NodeId n, NodeId q) = 0;
  // Returns the producer of n's first operand if it is of the kind that the rule is about and may go.
  NodeId source(const MatchContext& c, NodeId n) const {
    const Model& m = c.model;
    const ValueId x = m.input(n, 0), y = m.output(n, 0);
    const NodeId q = x ? m.value(x).def : NodeId{};
    if (!q || m.kind(q) != source_kind() || m.node(q).graph != m.node(n).graph) return {};
    const bool free = !m.is_fixed(y) && m.input(q, 0) && !m.is_fixed(m.input(q, 0));
    // ONNX Runtime's Gather does not copy all strings of a row.
    const bool copies = c.infer.dtype(y) != DType::String && c.infer.dtype(y) != DType::Undefined;
    return free && copies && attributes_known(m, q) && attributes_known(m, n) ? q : NodeId{};
  }

 protected:
  virtual OpKind source_kind() const = 0;
  std::string_view refusal() const {
    return source_kind() == OpKind::Slice ? "its operand is no Slice that may go"
                                          : "its operand is no Gather that may go";
  }
};

class SliceOfSlice final : public SelectionRule {
 public:
  static constexpr Counter kCounter{"slices", "Slices of a Slice"};
  std::string_view name() const override { return "slice"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Slice>; }

  OpKind source_kind() const override { return OpKind::Slice; }
  bool fits(const MatchContext& c, NodeId n, NodeId q) override {
    const Model& m = c.model;
    const auto first = ranges_of(c, q), second = ranges_of(c, n);
    if (!first || !second) return c.no(n, "starts, ends, axes or steps are not known");
    from_ = m.input(q, 0);
    ranges_ = *first;
    for (AxisRange outer : *second) {
      const auto inner = std::ranges::find(ranges_, outer.axis, &AxisRange::axis);
      if (inner == ranges_.end()) {
        ranges_.push_back(outer);
        continue;
      }
      const auto whole = extent(c, from_, outer.axis), cut = extent(c, m.input(n, 0), outer.axis);
      if (!count_from_front(*inner, whole) || !count_from_front(outer, cut))
        return c.no(n, "an axis is cut twice, and a start or end counts from its end");
      const auto both = joined(*inner, outer);
      if (!both) return c.no(n, "the numbers of both are too large");
      *inner = *both;
    }
    std::ranges::sort(ranges_, {}, &AxisRange::axis);
    return true;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    std::vector<std::int64_t> starts, ends, axes, steps;
    for (const AxisRange& r : ranges_) {
      starts.push_back(r.start);
      ends.push_back(r.end);
      axes.push_back(r.axis);
      steps.push_back(r.step);
    }
    if (std::ranges::all_of(steps, [](std::int64_t s) { return s == 1; })) steps.clear();
    const ValueId results[] = {m.detach_output(n, 0)};
    const std::string base(m.text(m.value(results[0]).name));
    add_slice({m, m.node(n).graph, n, base, results}, from_, {starts, ends, axes, steps});
  }

 private:
  ValueId from_;
  Ranges ranges_;
};

// A rule of which the match finds a new operand and new indices for a Gather.
class IndexRule : public SelectionRule {
 public:
  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const ValueId result = m.detach_output(n, 0);
    const GraphId g = m.node(n).graph;
    const std::string base = std::string(m.text(m.value(result).name)) + "_indices";
    const std::vector<ValueId> operands{from_, m.add_initializer(g, base, m.add_tensor(std::move(indices_)))};
    m.add_node_as(like_, g, operands, std::span(&result, 1), n);
  }

 protected:
  // Takes the entries of a constant that `select`, an operation on axis 0, leaves.
  bool takes(const MatchContext& c, NodeId n, TensorId indices, const Operation& select,
             std::initializer_list<const Tensor*> parameters) {
    const Model& m = c.model;
    const auto given = unpacked(m, indices);
    if (!given || given->dims.size() != 1) return c.no(n, "the indices are no list of constants");
    std::vector<const Tensor*> operands{&*given};
    operands.insert(operands.end(), parameters.begin(), parameters.end());
    Folded taken = evaluate(m, select, operands);
    if (!taken) return c.no(n, "an index is out of range");
    indices_ = std::move(taken.results[0]);
    return true;
  }
  static std::optional<std::int64_t> axis_of(const MatchContext& c, NodeId n) {
    const ValueId x = c.model.input(n, 0);
    const auto axis = int_attr(c.model, n, names::axis);
    return axis ? normalize_axis(*axis, c.infer.dims(x).size()) : std::nullopt;
  }

  ValueId from_;
  NodeId like_;  // the Gather whose attributes stay
  Tensor indices_;
};

class GatherOfGather final : public IndexRule {
 public:
  static constexpr Counter kCounter{"gathers", "Gathers of a Gather"};
  std::string_view name() const override { return "gather"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Gather>; }

  OpKind source_kind() const override { return OpKind::Gather; }
  bool fits(const MatchContext& c, NodeId n, NodeId q) override {
    const Model& m = c.model;
    const auto axis = axis_of(c, n);
    if (!axis || axis_of(c, q) != axis) return c.no(n, "the two have different axes");
    const TensorId own = m.constant_of(m.input(n, 1));
    const auto positions = own ? unpacked(m, own) : std::nullopt;
    const TensorId first = m.constant_of(m.input(q, 1));
    if (!positions || !first) return c.no(n, "the indices are no constants");
    from_ = m.input(q, 0);
    like_ = n;
    return takes(c, n, first, {OpKind::Gather, kNewestOpset}, {&*positions});
  }
};

class GatherOfSlice final : public IndexRule {
 public:
  static constexpr Counter kCounter{"gathers_of_slices", "Gathers of a Slice"};
  std::string_view name() const override { return "gather-slice"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Gather>; }

  OpKind source_kind() const override { return OpKind::Slice; }
  bool fits(const MatchContext& c, NodeId n, NodeId q) override {
    const Model& m = c.model;
    auto ranges = ranges_of(c, q);
    const auto axis = axis_of(c, n);
    if (!ranges || ranges->size() != 1 || axis != ranges->front().axis)
      return c.no(n, "the Slice does not cut the axis alone, by constants");
    AxisRange& r = ranges->front();
    const TensorId t = m.constant_of(m.input(n, 1));
    auto indices = int_list(m, t);
    if (!indices) return c.no(n, "the indices are no constants");
    from_ = m.input(q, 0);
    like_ = n;
    const auto cut = extent(c, m.input(n, 0), *axis);
    // The last entries of what has no end are the last entries of all.
    const bool open = r.step == 1 && r.end == kNoEnd && m.opset(n) >= 11;
    const bool front = count_from_front(r, extent(c, from_, *axis));
    for (std::int64_t& i : *indices) {
      if (i < 0 && cut) i += *cut;
      if (i < 0 && open) continue;
      const auto there = i < 0 || !front ? std::nullopt : advance(r.start, i, r.step);
      if (!there) return c.no(n, "an index or the start counts from an end that is not known");
      i = *there;
    }
    const auto raw = int_payload(m.tensor(t).dtype, *indices);
    if (!raw) return c.no(n, "the type of the indices does not hold them");
    const auto bytes = std::make_shared<Unpacked>(Unpacked{*raw, {}});
    indices_ = {};
    indices_.dtype = m.tensor(t).dtype;
    indices_.dims = m.tensor(t).dims;
    indices_.elements = m.tensor(t).elements;
    indices_.raw = bytes->raw;
    indices_.owned = bytes;
    indices_.ready = true;
    return true;
  }
};

class SqueezeOfGather final : public IndexRule {
 public:
  static constexpr Counter kCounter{"squeezed_indices", "Squeezes of a Gather"};
  std::string_view name() const override { return "gather-squeeze"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Squeeze>; }

  OpKind source_kind() const override { return OpKind::Gather; }
  bool fits(const MatchContext& c, NodeId n, NodeId q) override {
    const Model& m = c.model;
    const auto first = axis_of(c, q);
    const TensorId t = m.constant_of(m.input(q, 1));
    auto given = t ? unpacked(m, t) : std::nullopt;
    if (!first || !given) return c.no(q, "the axis or the indices are not known");
    const auto written = axes_of(m, n);
    const auto axes = written ? normalize_axes(*written, c.infer.dims(m.input(n, 0)).size()) : std::nullopt;
    if (!axes || axes->empty()) return c.no(n, "the axes are not known");
    std::vector<std::int64_t> dims;
    std::size_t squeezed = 0;
    for (std::size_t i = 0; i < given->dims.size(); ++i) {
      const bool goes = std::ranges::find(*axes, *first + static_cast<std::int64_t>(i)) != axes->end();
      if (!goes) dims.push_back(given->dims[i]);
      else if (given->dims[i] != 1) return c.no(n, "an axis of the indices has another extent than 1");
      else ++squeezed;
    }
    if (squeezed != axes->size()) return c.no(n, "it squeezes an axis that the indices do not have");
    const Tensor target = int64_tensor(dims);
    Folded reshaped = evaluate(m, {OpKind::Reshape, kNewestOpset}, {&*given, &target});
    if (!reshaped) return false;
    indices_ = std::move(reshaped.results[0]);
    from_ = m.input(q, 0);
    like_ = q;
    return true;
  }
};

class SliceOfGather final : public IndexRule {
 public:
  static constexpr Counter kCounter{"slices_of_gathers", "Slices of a Gather"};
  std::string_view name() const override { return "slice-gather"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Slice>; }

  OpKind source_kind() const override { return OpKind::Gather; }
  bool fits(const MatchContext& c, NodeId n, NodeId q) override {
    const Model& m = c.model;
    const auto ranges = ranges_of(c, n);
    const TensorId t = m.constant_of(m.input(q, 1));
    if (!t) return c.no(q, "the indices are no constants");
    if (!ranges || ranges->size() != 1 || axis_of(c, q) != ranges->front().axis)
      return c.no(n, "it does not cut the axis of the Gather alone, by constants");
    const AxisRange& r = ranges->front();
    from_ = m.input(q, 0);
    like_ = q;
    const Tensor start = list(r.start), end = list(r.end), axis = list(0), step = list(r.step);
    return takes(c, n, t, {OpKind::Slice, kNewestOpset}, {&start, &end, &axis, &step});
  }

 private:
  static Tensor list(std::int64_t number) { return int64_tensor(std::span(&number, 1)); }
};

bool composes(const MatchContext& c, NodeId n, NodeId q) {
  SliceOfSlice slice;
  GatherOfGather gather;
  GatherOfSlice gather_of_slice;
  SliceOfGather slice_of_gather;
  SqueezeOfGather squeeze;
  for (SelectionRule* rule :
       std::initializer_list<SelectionRule*>{&slice, &gather, &gather_of_slice, &slice_of_gather, &squeeze})
    if (std::ranges::find(rule->roots(), c.model.kind(n)) != rule->roots().end() && rule->source(c, n) == q &&
        rule->fits(c, n, q))
      return true;
  return false;
}

class ScatterAll final : public ReplaceRule {
 public:
  static constexpr Counter kCounter{"scatters", "ScatterNDs to all entries in order"};
  std::string_view name() const override { return "scatter"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::ScatterND>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId data = m.input(n, 0), updates = m.input(n, 2);
    if (!attributes_known(m, n)) return false;
    if (has_attr(m, n, names::reduction) && string_attr(m, n, names::reduction) != "none")
      return c.no(n, "it combines entries");
    if (!c.infer.same_shape(data, updates)) return c.no(n, "the updates may have other dims than the data");
    const TensorId t = m.constant_of(m.input(n, 1));
    const auto indices = int_list(m, t);
    if (!(indices && in_order(c, data, m.tensor(t).dims, *indices)) && !counts_rows(c, data, m.input(n, 1)))
      return c.no(n, "the indices are not known to be all entries in their order");
    return replaces(c, n, updates, "the updates cannot take the place of the result");
  }

 private:
  // Returns whether the indices are [[0], [1], ...] up to the extent of the first axis, which may be a
  // symbol.
  static bool counts_rows(const MatchContext& c, ValueId data, ValueId indices) {
    using namespace pattern;
    const Model& m = c.model;
    ValueId limit, column;
    const auto range = op(OpKind::Range, scalar(0), any(limit), scalar(1)).outer();
    const auto counted = op(OpKind::Unsqueeze, range).and_more().outer().bind(column);
    if (!indices || !matches(c.without_reasons(), indices, counted)) return false;
    const SymbolicTensor* last = c.infer.symbolic(limit);
    const auto dims = c.infer.dims(column);
    return last != nullptr && last->elements.size() == 1 && !c.infer.dims(data).empty() && dims.size() == 2 &&
           m.dims.is_constant(dims[1], 1) &&
           m.dims.equal(last->elements[0], c.infer.dims(data)[0]) == Tri::Yes;
  }
  // Returns whether the indices count through the first k axes of the data.
  static bool in_order(const MatchContext& c, ValueId data, const std::vector<std::int64_t>& dims,
                       const std::vector<std::int64_t>& indices) {
    const std::size_t k = dims.size() < 2 ? 0 : static_cast<std::size_t>(dims.back());
    if (k == 0) return false;
    std::vector<std::int64_t> sizes;
    std::int64_t entries = 1;
    for (std::size_t i = 0; i < k; ++i) {
      const auto size = extent(c, data, static_cast<std::int64_t>(i));
      if (!size || __builtin_mul_overflow(entries, *size, &entries)) return false;
      sizes.push_back(*size);
    }
    std::vector<std::int64_t> at(k, 0);
    if (entries != static_cast<std::int64_t>(indices.size() / k)) return false;
    for (std::size_t first = 0; first < indices.size(); first += k) {
      if (!std::equal(at.begin(), at.end(), indices.begin() + static_cast<std::ptrdiff_t>(first)))
        return false;
      for (std::size_t i = k; i-- > 0;) {
        if (++at[i] < sizes[i]) break;
        at[i] = 0;
      }
    }
    return true;
  }
};

}  // namespace

extern constinit const PassInfo compose_selections = {
    .name = "compose-selections",
    .summary = "make one of two Slices or Gathers in a row",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<
        RulePass<SliceOfSlice, GatherOfGather, GatherOfSlice, SliceOfGather, SqueezeOfGather, ScatterAll>>};

}  // namespace graphopt
