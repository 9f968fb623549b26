// compose: makes one data movement of two that follow each other, and removes pairs that undo each other.
//
// Problem: exporters write each step of the user's program, and layers that do not know of each other move
// the same data one after the other: a Reshape of a Reshape, a Transpose of a Transpose, a Concat in a
// Concat.
// Method: peephole. What two movements are together is decided in ops/compose.h and ops/deformation.h, for
// this pass and for the clean-up of drafts (hoist/moves/canonicalize.h); only what needs a price is left to a
// search.
//   deformation  a Reshape, Squeeze, Unsqueeze or Flatten of another one reads the operand of that one, in
//                the form that fits the dims of both ends
//   transpose    a Transpose of a Transpose takes the product of the perms
//   cast         a Cast of a Cast that changed no number is a Cast
//   concat       a Concat of Concats along one axis takes their operands; a Concat of all results of a
//                Split, in order and along its axis, is the operand of the Split
//   split        a Split of results of a Split along one axis returns their results, too; a Split of a Concat
//                whose operands have the extents of the results returns these operands
//   slices       Slices of one value that cover an axis without gap and overlap become a Split
// Exact: no rule computes. Row-major order stays in a deformation, so equal dims mean an equal tensor, and a
// target holds for all values of all symbols (deform_form); extents along the axis are numbers where lengths
// are written; casts_compose() says why each pair of casts has the bits of one.
// Lowers: nodes, or the length of a chain of movements. Ends: each rewrite removes a movement or shortens
// such a chain. Left alone: a movement whose result others read, as long as one of them would stay its
// reader; values that a kernel overwrites or that are pinned; element types that Reshape, Concat or Split do
// not take in the opset.
//
//   r = Reshape (x, s)                        y = Reshape (x, t)
//   y = Reshape (r, t)                =>

#include "ops/compose.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "ops/attributes.h"
#include "ops/deformation.h"
#include "ops/node_facts.h"
#include "passes/rule_pass.h"
#include "passes/selection.h"
#include "rewrite/build.h"

namespace graphopt {
namespace {

// Readers of one value that are visited for its Slices.
constexpr std::uint32_t kMostReaders = 4096;

// A rule with two kinds of matches: after one, the root's result is replaced by a value that exists already;
// after the other, apply() makes a node.
class ComposeRule : public ReplaceRule {
 protected:
  bool replaces(const MatchContext& c, NodeId n, ValueId source) {
    return ReplaceRule::replaces(c, n, source, "its operand's operand cannot take its result's place");
  }
  // If replaces() returned true in match(), replaces the result by that value and returns true; otherwise
  // changes nothing and returns false.
  bool replaced(PassContext& c, NodeId n) {
    if (source_) ReplaceRule::apply(c, n);
    return source_.valid();
  }
  // Returns the producer of v if it is a node of this kind in n's graph that means what the table says.
  static NodeId producer(const Model& m, NodeId n, ValueId v, OpKind kind) {
    const NodeId q = v ? m.value(v).def : NodeId{};
    return q && m.kind(q) == kind && m.node(q).graph == m.node(n).graph && attributes_known(m, q) ? q
                                                                                                  : NodeId{};
  }
};

class ComposeDeformations final : public ComposeRule {
 public:
  static constexpr Counter kCounter{"deformations", "deformations of a deformation"};
  std::string_view name() const override { return "deformation"; }
  std::span<const OpKind> roots() const override { return kDeformations; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    source_ = {};
    const ValueId x = m.input(n, 0), y = m.output(n, 0);
    if (!x) return false;
    const NodeId q = m.value(x).def;
    if (!q || !is_deformation(m.kind(q)) || !attributes_known(m, q) || !attributes_known(m, n))
      return c.no(n,
                  "no Reshape, Squeeze, Unsqueeze or Flatten makes its operand, or one of both has unknown "
                  "attributes");
    from_ = m.input(q, 0);
    if (!from_ || m.constant_of(from_)) return c.no(n, "the first of both reshapes a constant");
    if (m.is_fixed(x) || m.is_fixed(y) || m.is_fixed(from_))
      return c.no(n, "an annotation names the value, or a kernel writes to it");
    if (!known(c, from_) || !known(c, y)) return c.no(n, "a dim of the operand or of the result is unknown");
    const auto same = [&m](DimId a, DimId b) { return m.dims.equal(a, b) == Tri::Yes; };
    form_ = deform_form(m.dims, c.infer.dims(from_), c.infer.dims(y), same);
    if (form_.kind == DeformForm::Kind::Same) return replaces(c, n, from_);
    if (form_.kind == DeformForm::Kind::None)
      return c.no(n, "no constant target says the dims for all sizes");
    if (!moves_type(m.opset(n), c.infer.dtype(y)))
      return c.no(n, "Reshape does not take the element type in this opset");
    if (!frees(m, x)) return c.no(n, "other nodes read the result of the first");
    return true;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    if (replaced(c, n)) return;
    const ValueId results[] = {m.detach_output(n, 0)};
    const std::string base(m.text(m.value(results[0]).name));
    const Site at{m, m.node(n).graph, n, base, results};
    switch (form_.kind) {
      case DeformForm::Kind::Squeeze: add_squeeze(at, from_, form_.numbers); break;
      case DeformForm::Kind::Unsqueeze: add_unsqueeze(at, from_, form_.numbers); break;
      default: add_reshape(at, from_, form_.numbers); break;
    }
  }

 private:
  static bool known(const MatchContext& c, ValueId v) {
    return c.infer.has_rank(v) && std::ranges::all_of(c.infer.dims(v), [](DimId d) { return d.valid(); });
  }
  // Returns whether all readers of x are deformations, which this rule will take away from it.
  static bool frees(const Model& m, ValueId x) {
    if (m.use_count(x) > kMostReaders) return false;
    for (UseId u = m.first_use(x); u; u = m.next_use(u))
      if (!is_deformation(m.kind(m.user(u))) || m.slot(u) != 0) return false;
    return true;
  }

  ValueId from_;
  DeformForm form_;
};

class ComposeTransposes final : public ComposeRule {
 public:
  static constexpr Counter kCounter{"transposes", "Transposes of a Transpose"};
  std::string_view name() const override { return "transpose"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Transpose>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    source_ = {};
    const ValueId x = m.input(n, 0);
    const NodeId q = producer(m, n, x, OpKind::Transpose);
    if (!q || !attributes_known(m, n)) return c.no(n, "its operand is no Transpose");
    from_ = m.input(q, 0);
    if (!from_ || m.is_fixed(x) || m.is_fixed(from_))
      return c.no(n, "an annotation names the value, or a kernel writes to it");
    const auto inner = perm_of(c, q), outer = perm_of(c, n);
    if (!inner || !outer || inner->size() != outer->size()) return c.no(n, "a perm is unknown");
    perm_ = composed_perm(*inner, *outer);
    if (std::ranges::is_sorted(perm_)) return replaces(c, n, from_);
    return m.use_count(x) == 1 || c.no(n, "other nodes read the first Transpose");
  }

  void apply(PassContext& c, NodeId n) override {
    if (replaced(c, n)) return;
    c.model.set_operand(n, 0, from_);
    c.model.set_attr_ints(n, names::perm, perm_);
  }

 private:
  // Returns the perm, which is the reverse order where it is not written; nothing if it is no permutation.
  static std::optional<std::vector<std::int64_t>> perm_of(const MatchContext& c, NodeId n) {
    const Model& m = c.model;
    std::vector<std::int64_t> perm;
    if (has_attr(m, n, names::perm)) {
      const auto given = ints_attr(m, n, names::perm);
      if (!given) return std::nullopt;
      perm.assign(given->begin(), given->end());
    } else {
      const ValueId x = m.input(n, 0);
      if (!c.infer.has_rank(x)) return std::nullopt;
      perm.resize(c.infer.dims(x).size());
      std::iota(perm.rbegin(), perm.rend(), 0);
    }
    const auto axes = normalize_axes(perm, perm.size());
    return axes && *axes == perm ? std::optional(perm) : std::nullopt;  // a negative axis is refused
  }

  ValueId from_;
  std::vector<std::int64_t> perm_;
};

class ComposeCasts final : public ComposeRule {
 public:
  static constexpr Counter kCounter{"casts", "Casts of a Cast that changed no number"};
  std::string_view name() const override { return "cast"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Cast>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId x = m.input(n, 0), y = m.output(n, 0);
    const NodeId q = producer(m, n, x, OpKind::Cast);
    if (!q || !attributes_known(m, n)) return c.no(n, "its operand is no Cast");
    from_ = m.input(q, 0);
    if (!from_ || m.is_fixed(x) || m.is_fixed(from_))
      return c.no(n, "an annotation names the value, or a kernel writes to it");
    if (!casts_compose(c.infer.dtype(from_), c.infer.dtype(x), c.infer.dtype(y)))
      return c.no(n, "the first Cast may change a number, or the second one is not defined for all");
    return true;
  }

  void apply(PassContext& c, NodeId n) override { c.model.set_operand(n, 0, from_); }

 private:
  ValueId from_;
};

std::vector<ValueId> operands_of(const Model& m, NodeId n) {
  std::vector<ValueId> out;
  for (std::size_t i = 0; i < m.input_count(n); ++i) out.push_back(m.input(n, i));
  return out;
}

// Returns the axis of a Concat or Split, counted from the front; nothing if the rank is not known.
std::optional<std::int64_t> axis_of(const MatchContext& c, NodeId n) {
  const Model& m = c.model;
  const bool split = m.kind(n) == OpKind::Split;
  const ValueId whole = split ? m.input(n, 0) : m.output(n, 0);
  if (!attributes_known(m, n)) return std::nullopt;
  return normalize_axis(int_attr(m, n, names::axis).value_or(split ? 0 : 1), c.infer.dims(whole).size());
}

// Returns whether nothing but one operand of `user` reads v, and nothing outside of the graph refers to it:
// then v and its producer are removed together.
bool private_value(const Model& m, ValueId v, NodeId user) {
  return m.use_count(v) == 1 && !m.is_fixed(v) && m.user(m.first_use(v)) == user;
}

class ComposeConcats final : public ComposeRule {
 public:
  static constexpr Counter kCounter{"concats", "Concats of a Concat or of a whole Split"};
  std::string_view name() const override { return "concat"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Concat>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    source_ = {};
    const auto axis = axis_of(c, n);
    if (!axis) return c.no(n, "its rank is unknown");
    if (const NodeId outer = reader(c, n, *axis))
      return c.no(outer, "the Concat around it takes the operands");
    const auto inner = [&](ValueId v) -> std::span<const ValueId> {
      const NodeId q = producer(m, n, v, OpKind::Concat);
      if (!q || m.use_count(v) != 1 || m.is_fixed(v) || axis_of(c, q) != axis) return {};
      inner_ = operands_of(m, q);
      return inner_;
    };
    if (splice(std::span<const ValueId>(operands_of(m, n)), inner, operands_)) return true;
    return is_whole_split(c, n, *axis);
  }

  void apply(PassContext& c, NodeId n) override {
    if (!replaced(c, n)) c.model.set_operands(n, operands_);
  }

 private:
  // Returns the Concat along the same axis that reads nothing but this one's result; none if there is none.
  // The outermost one takes all operands at once: each step of a long chain would copy the list.
  static NodeId reader(const MatchContext& c, NodeId n, std::int64_t axis) {
    const Model& m = c.model;
    const ValueId y = m.output(n, 0);
    const NodeId user = m.use_count(y) == 1 && !m.is_fixed(y) ? m.user(m.first_use(y)) : NodeId{};
    return user && m.kind(user) == OpKind::Concat && m.node(user).graph == m.node(n).graph &&
                   axis_of(c, user) == axis
               ? user
               : NodeId{};
  }

  bool is_whole_split(const MatchContext& c, NodeId n, std::int64_t axis) {
    const Model& m = c.model;
    const NodeId q = m.input_count(n) > 0 ? producer(m, n, m.input(n, 0), OpKind::Split) : NodeId{};
    if (!q || axis_of(c, q) != axis || m.output_count(q) != m.input_count(n))
      return c.no(n, "no operand is a Concat along its axis, and the operands are not the parts of a Split");
    for (std::size_t i = 0; i < m.input_count(n); ++i)
      if (!m.input(n, i) || m.input(n, i) != m.output(q, i) || m.is_fixed(m.input(n, i)))
        return c.no(n, "its operands are not all parts of a Split in their order");
    const auto whole = c.infer.dims(m.input(q, 0)), joined = c.infer.dims(m.output(n, 0));
    const auto at = static_cast<std::size_t>(axis);
    if (at < whole.size() && at < joined.size() && m.dims.equal(whole[at], joined[at]) == Tri::No)
      return c.no(n, "the lengths of the Split do not add up: it fails in each run");
    return replaces(c, n, m.input(q, 0));
  }

  std::vector<ValueId> operands_, inner_;
};

class ComposeSplits final : public ComposeRule {
 public:
  static constexpr Counter kCounter{"splits", "Splits of a Split or of a whole Concat"};
  std::string_view name() const override { return "split"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Split>; }

  // If there are parts, each result is replaced by one, so an output may be any of the results and not just
  // the first. Without parts the results stay and get another producer: no name is handed over.
  bool hands_output_over(const Model& m, NodeId n) const override {
    return !parts_.empty() &&
           std::ranges::any_of(m.outputs(n), [&m](ValueId v) { return m.is_graph_output(v); });
  }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    parts_.clear();
    const ValueId x = m.input(n, 0);
    const auto axis = axis_of(c, n);
    if (!axis) return c.no(n, "its rank is unknown");
    axis_ = *axis;
    if (is_whole_concat(c, n)) return true;
    if (!static_results(c, n)) return c.no(n, "an extent along the axis is unknown");
    if (!moves_type(m.opset(n), c.infer.dtype(x))) return c.no(n, "Split does not take the element type");
    if (const NodeId q = producer(m, n, x, OpKind::Split);
        q && private_value(m, x, n) && axis_of(c, q) == axis && static_results(c, q))
      return c.no(q, "the Split around it takes the results");
    gone_.clear();
    const auto inner = [&](ValueId v) -> std::span<const ValueId> {
      const NodeId user = m.use_count(v) == 1 ? m.user(m.first_use(v)) : NodeId{};
      if (!user || m.kind(user) != OpKind::Split || m.node(user).graph != m.node(n).graph ||
          m.slot(m.first_use(v)) != 0 || m.is_fixed(v) || axis_of(c, user) != axis ||
          !static_results(c, user))
        return {};
      gone_.push_back(user);
      return m.outputs(user);
    };
    if (!splice(m.outputs(n), inner, results_)) return c.no(n, "no Split of a result along the same axis");
    // Results of one node may lie in one buffer, which a kernel must not overwrite in part.
    if (std::ranges::any_of(results_, [&m](ValueId v) { return m.is_fixed(v); }))
      return c.no(n, "a result must stay as it is");
    lengths_.clear();
    for (const ValueId v : results_) lengths_.push_back(*extent(c, v, axis_));
    return true;
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    if (!parts_.empty()) {
      for (std::size_t i = 0; i < parts_.size(); ++i) m.replace_all_uses(m.output(n, i), parts_[i]);
      return;
    }
    const ValueId x = m.input(n, 0);
    const std::string base(m.text(m.value(x).name));
    std::vector<ValueId> taken = results_;
    std::ranges::sort(taken);
    for (const NodeId q : gone_) detach(m, q, taken);
    detach(m, n, taken);
    add_split({m, m.node(n).graph, n, base, results_}, x, axis_, lengths_);
  }

 private:
  // Detaches the results that the new Split has; `taken` has them, sorted.
  static void detach(Model& m, NodeId q, std::span<const ValueId> taken) {
    for (std::size_t i = 0; i < m.output_count(q); ++i)
      if (std::ranges::binary_search(taken, m.output(q, i))) m.detach_output(q, i);
  }

  bool static_results(const MatchContext& c, NodeId n) const {
    return std::ranges::all_of(c.model.outputs(n),
                               [&](ValueId v) { return extent(c, v, axis_).has_value(); });
  }

  // A Concat whose operands have the extents of the Split's results, in order.
  bool is_whole_concat(const MatchContext& c, NodeId n) {
    const Model& m = c.model;
    const ValueId x = m.input(n, 0);
    const NodeId q = producer(m, n, x, OpKind::Concat);
    if (!q || axis_of(c, q) != axis_ || m.input_count(q) != m.output_count(n) || !private_value(m, x, n))
      return false;
    const std::vector<ValueId> parts = operands_of(m, q);
    std::vector<ValueId> named;  // parts that take the name of an output: each can take one
    for (std::size_t i = 0; i < m.output_count(n); ++i) {
      const ValueId part = parts[i], y = m.output(n, i);
      // All dims, not the axis alone: ONNX Runtime joins operands without elements whatever their other dims.
      if (!c.infer.same_shape(part, y) || !m.can_replace(y, part)) return false;
      if (m.is_graph_output(y)) named.push_back(part);
    }
    std::ranges::sort(named);
    if (std::ranges::adjacent_find(named) != named.end()) return false;
    parts_ = parts;
    return true;
  }

  std::int64_t axis_ = 0;
  std::vector<ValueId> parts_;    // what the results are replaced by
  std::vector<ValueId> results_;  // of the new Split
  std::vector<std::int64_t> lengths_;
  std::vector<NodeId> gone_;
};

class SlicesToSplit final : public Rule {
 public:
  static constexpr Counter kCounter{"slices", "groups of Slices that became a Split"};
  std::string_view name() const override { return "slices"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Slice>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId x = m.input(n, 0), y = m.output(n, 0);
    const auto own = x && y ? read(c, n) : std::nullopt;
    if (!own) return c.no(n, "it is no Slice on one axis by constants with step 1");
    if (m.constant_of(x) || m.is_fixed(x)) return c.no(n, "its operand is a constant or must stay as it is");
    if (!moves_type(m.opset(n), c.infer.dtype(x))) return c.no(n, "Split does not take the element type");
    if (m.use_count(x) > kMostReaders) return c.no(n, "its operand has too many readers");
    axis_ = static_cast<std::int64_t>(own->axis);
    slices_.clear();
    for (UseId u = m.first_use(x); u; u = m.next_use(u)) {
      const NodeId s = m.user(u);
      // As another operand than the first x is no constant, and read() refuses the Slice.
      if (m.kind(s) != OpKind::Slice || m.node(s).graph != m.node(n).graph) continue;
      const auto other = read(c, s);
      if (!other || other->axis != own->axis) continue;
      if (slices_.empty() && s != n) return c.no(n, "another Slice of the value is asked first");
      const auto length = extent(c, m.output(s, 0), axis_);
      if (!length || m.is_fixed(m.output(s, 0)))
        return c.no(n, "an annotation names the value, or a kernel writes to it");
      if (*length < 1) continue;  // an empty part: it may stay beside a Split
      auto& same = slices_[{other->begin, other->begin + *length}];
      if (!same.empty()) return c.no(n, "two Slices are equal");
      same.push_back(s);
    }
    return tiles(slices_, *extent(c, x, axis_)) || c.no(n, "the Slices do not tile the axis");
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    const ValueId x = m.input(n, 0);
    const std::string base(m.text(m.value(x).name));
    const GraphId g = m.node(n).graph;
    NodeId first = n;
    std::vector<ValueId> results;
    std::vector<std::int64_t> lengths;
    for (const auto& [bounds, nodes] : slices_) {
      if (m.before(nodes[0], first)) first = nodes[0];
      lengths.push_back(bounds.second - bounds.first);
      results.push_back(m.detach_output(nodes[0], 0));
    }
    add_split({m, g, first, base, results}, x, axis_, lengths);
  }

 private:
  static std::optional<AxisSlice> read(const MatchContext& c, NodeId n) {
    const Model& m = c.model;
    const ValueId x = m.input(n, 0);
    if (!attributes_known(m, n)) return std::nullopt;
    const auto slice = axis_slice(m, n, c.infer.dims(x).size(), [&](std::size_t axis) {
      return extent(c, x, static_cast<std::int64_t>(axis));
    });
    return slice && slice->step == 1 ? slice : std::nullopt;
  }

  std::int64_t axis_ = 0;
  Slices<NodeId> slices_;
};

}  // namespace

extern constinit const PassInfo compose = {
    .name = "compose",
    .summary = "make one of two Reshapes, Transposes, Casts, Concats, Splits in a row",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<ComposeDeformations, ComposeTransposes, ComposeCasts, ComposeConcats,
                               ComposeSplits, SlicesToSplit>>};

}  // namespace graphopt
