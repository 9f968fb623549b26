// sequence-idioms: joins and cuts tensors with Concat, Split and Gather instead of through a sequence.
//
// Problem: exporters write a list of tensors as a sequence: SequenceConstruct -> ConcatFromSequence for cat
// and stack, SplitToSequence -> SequenceAt for split and unbind. A sequence copies every tensor in it, and no
// other pass can move anything past it.
// Method: peephole, one rule per direction.
//   cat      ConcatFromSequence of a SequenceConstruct is the Concat of its operands.
//   stack    The same with new_axis=1: the operands get the new axis by Unsqueeze; ConcatFromSequence counts
//            a negative axis in the rank of the result, as Unsqueeze does. hoist-reshape may join these
//            later.
//   split    SplitToSequence that only SequenceAt with constant positions reads is a Split; a position
//            selects a result.
//   unbind   SplitToSequence without lengths and keepdims=0: element p is Gather(x, p) with a scalar p, known
//            or not. With keepdims=1 and an extent that is not known it is Gather(x, [p]), p known.
// Exact: elements are only copied, in the same order. Concat, Split and Gather accept all types that
// sequences of tensors may have in the opsets that have sequences (from 11 on). Given lengths must add up to
// the extent, or both operators fail; one length for all parts requires a known extent. A position out of
// range fails in SequenceAt: such a Split is left alone, and Gather fails there, too, since the axis has as
// many elements as the sequence.
// Lowers: operators that read or write sequences; nodes in all but stack. Ends: each rewrite removes an
// operator that makes or joins a sequence, and none makes any.
// Left alone: a sequence that is an output, has another user, or is used in an inner graph; lengths of 0;
// keepdims=0 together with lengths, which ONNX ignores and ONNX Runtime does not; unbind of strings, as ONNX
// Runtime's Gather copies only the first string of a slice.
//
//   q = SequenceConstruct (a, b)                           =>      y = Concat <axis = 0> (a, b)
//   y = ConcatFromSequence <axis = 0> (q)

#include <algorithm>
#include <utility>
#include <vector>

#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/node_facts.h"
#include "passes/rule_pass.h"
#include "rewrite/build.h"
#include "rewrite/match.h"

namespace graphopt {
namespace {

class JoinDirectly final : public Rule {
 public:
  static constexpr Counter kCounter{"joined", "sequences that became Concat"};
  std::string_view name() const override { return "cat"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::ConcatFromSequence>; }

  bool match(const MatchContext& c, NodeId n) override {
    using namespace pattern;
    const Model& m = c.model;
    const auto parts = op(OpKind::SequenceConstruct).and_more().single_use().bind(made_);
    if (!matches(c, n, op(OpKind::ConcatFromSequence, parts))) return false;
    if (!int_attr(m, n, names::axis)) return c.no(n, "the axis is not known");
    for (std::size_t i = 0; i < m.input_count(made_); ++i)
      if (!m.input(made_, i)) return c.no(made_, "leaves an operand out");
    return may_join(c, n);
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    std::vector<ValueId> parts;
    for (std::size_t i = 0; i < m.input_count(made_); ++i) parts.push_back(m.input(made_, i));
    if (int_attr(m, n, names::new_axis).value_or(0) != 0) {
      const std::int64_t axes[] = {*int_attr(m, n, names::axis)};
      ValueId list;  // one for all, where it is an operand
      for (ValueId& v : parts) {
        const std::string base = std::string(m.text(m.value(v).name)) + "_unsqueezed";
        const NodeId made = add_unsqueeze({m, m.node(n).graph, n, base, {}, list}, v, axes);
        list = m.input(made, 1);
        v = m.output(made, 0);
      }
    }
    m.set_op(n, standard_op(m, OpKind::Concat));
    if (has_attr(m, n, names::new_axis)) m.remove_attr(n, names::new_axis);
    m.set_operands(n, parts);
  }

 private:
  // Returns false if numbers show that the parts do not fit together. Such a node fails when it is reached,
  // which in a branch may be never; a Concat of them fails when the model is loaded.
  bool may_join(const MatchContext& c, NodeId n) const {
    const Model& m = c.model;
    const ValueId first = m.input(made_, 0);
    const bool new_axis = int_attr(m, n, names::new_axis).value_or(0) != 0;
    for (std::size_t i = 1; i < m.input_count(made_); ++i) {
      const ValueId part = m.input(made_, i);
      if (!c.infer.has_rank(first) || !c.infer.has_rank(part)) continue;
      const std::span<const DimId> a = c.infer.dims(first), b = c.infer.dims(part);
      if (a.size() != b.size()) return c.no(made_, "has operands of two ranks");
      const auto axis = normalize_axis(*int_attr(m, n, names::axis), a.size());
      for (std::size_t k = 0; k < a.size(); ++k) {
        if (!new_axis && axis == static_cast<std::int64_t>(k)) continue;
        if (m.dims.equal(a[k], b[k]) == Tri::No) return c.no(made_, "has operands whose dims do not fit");
      }
    }
    return true;
  }

  NodeId made_;
};

// A Split names all its results; where only a few of very many are used, the names would cost more than the
// sequence.
constexpr std::int64_t kMostParts = 1024;
constexpr std::int64_t kMostExtent = std::int64_t{1} << 62;

class SplitDirectly final : public Rule {
 public:
  static constexpr Counter kCounter{"split", "sequences that became Split or Gather"};
  std::string_view name() const override { return "split"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::SplitToSequence>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId x = m.input(n, 0), sequence = m.output(n, 0);
    if (!x) return false;
    if (m.is_fixed(sequence) || !attributes_known(m, n))
      return c.no(n, "the sequence must stay, or an attribute is not known");
    readers_.clear();
    for (UseId u = m.first_use(sequence); u; u = m.next_use(u)) {
      const NodeId reader = m.user(u);
      if (m.kind(reader) != OpKind::SequenceAt || m.node(reader).graph != m.node(n).graph ||
          !m.output(reader, 0))
        return c.no(n, "something other than a SequenceAt of its graph reads the sequence");
      readers_.push_back(reader);
    }
    axis_ = int_attr(m, n, names::axis).value_or(0);
    const bool drop_axis = int_attr(m, n, names::keepdims).value_or(1) == 0;
    unbind_ = drop_axis && !m.input(n, 1);
    const DType type = c.infer.dtype(x);
    entries_ = !drop_axis && !m.input(n, 1) && !extent_of(c, x);
    if (!unbind_ && !entries_)
      return (!drop_axis || c.no(n, "keepdims=0 has no one meaning with lengths")) && find_lengths(c, n, x) &&
             assign_readers(c, n);
    if (type == DType::Undefined || type == DType::String)
      return c.no(n, "the element type is not known, or string");
    return std::ranges::all_of(readers_,
                               [&](NodeId r) {
                                 return is_scalar(c, m.input(r, 1)) &&
                                        (!entries_ || int_scalar(m, m.input(r, 1)));
                               }) ||
           c.no(n, entries_ ? "neither the extent nor a position is known"
                            : "a position is not known to be a scalar");
  }

  void apply(PassContext& c, NodeId n) override {
    Model& m = c.model;
    if (unbind_ || entries_) {
      const ValueId x = m.input(n, 0);
      const OpId gather = standard_op(m, OpKind::Gather);
      for (const NodeId r : readers_) {
        if (entries_) {
          const std::int64_t position[] = {*int_scalar(m, m.input(r, 1))};
          const std::string base = std::string(m.text(m.value(m.output(r, 0)).name)) + "_position";
          m.set_operand(r, 1, m.add_initializer(m.node(r).graph, base, m.make_int64s(position)));
        }
        m.set_op(r, gather);
        m.set_attr_int(r, names::axis, axis_);
        m.set_operand(r, 0, x);
      }
      return;
    }
    std::vector<ValueId> parts(lengths_.size());
    const std::string base = std::string(m.text(m.value(m.output(n, 0)).name)) + "_part";
    const GraphId g = m.node(n).graph;
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i] = first_[i] ? m.detach_output(first_[i], 0) : m.add_value(g, m.fresh_name(base));
    const ValueId list = reuse_ ? m.input(n, 1) : ValueId{};
    add_split({m, g, n, base, parts, list}, m.input(n, 0), axis_, lengths_);
    for (const auto& [reader, part] : others_) m.replace_all_uses(m.output(reader, 0), parts[part]);
  }

 private:
  static bool is_scalar(const MatchContext& c, ValueId v) {
    const TensorId t = c.model.constant_of(v);
    return t ? c.model.tensor(t).dims.empty() : c.infer.has_rank(v) && c.infer.dims(v).empty();
  }

  // The extent along the axis, where it is a number. A Split that contradicts what the file declares would
  // not be loaded.
  std::optional<std::int64_t> extent_of(const MatchContext& c, ValueId x) const {
    const Model& m = c.model;
    for (const TypeId type : {c.infer.type(x), m.value(x).declared}) {
      const auto& dims = m.types[type].dims;
      const auto axis = normalize_axis(axis_, dims.size());
      const DimId dim = axis ? dims[static_cast<std::size_t>(*axis)] : DimId{};
      if (const auto number = dim ? m.dims.value(dim) : std::nullopt) return number;
    }
    return std::nullopt;
  }

  // The lengths of all parts, all at least 1, which add up to the extent in each run that does not fail.
  bool find_lengths(const MatchContext& c, NodeId n, ValueId x) {
    const Model& m = c.model;
    lengths_.clear();
    reuse_ = false;
    if (c.infer.has_rank(x) && !normalize_axis(axis_, c.infer.dims(x).size()))
      return c.no(n, "the axis is out of range");
    const auto extent = extent_of(c, x);
    std::int64_t part = 1;
    if (const ValueId given = m.input(n, 1)) {
      const TensorId t = m.constant_of(given);
      const auto numbers = int_list(m, t);
      if (!numbers || numbers->empty()) return c.no(n, "the lengths are not known");
      if (!m.tensor(t).dims.empty()) {
        if (m.tensor(t).dims.size() != 1 || static_cast<std::int64_t>(numbers->size()) > kMostParts)
          return c.no(n, "it has too many parts, or lengths of a rank above 1");
        std::int64_t sum = 0;
        for (const std::int64_t length : *numbers) {
          if (length < 1 || length > kMostExtent - sum) return c.no(n, "a length is 0, or very large");
          sum += length;
        }
        lengths_ = *numbers;
        reuse_ = m.tensor(t).dtype == DType::Int64;
        return !extent || *extent == sum || c.no(n, "the lengths do not add up to the extent");
      }
      part = numbers->front();
    }
    if (!extent || *extent < 1) return c.no(n, "the extent is not known, or 0");
    if (part < 1 || (*extent - 1) / part >= kMostParts) return c.no(n, "it has too many parts");
    for (std::int64_t left = *extent; left > 0; left -= part) lengths_.push_back(std::min(part, left));
    return true;
  }

  // Assigns each used part to a reader; users of a second reader of a part must be able to read the first
  // one's result.
  bool assign_readers(const MatchContext& c, NodeId n) {
    const Model& m = c.model;
    first_.assign(lengths_.size(), NodeId{});
    others_.clear();
    for (const NodeId r : readers_) {
      const auto position = int_operand(m, r, 1);
      const auto part = position && position->size() == 1 ? normalize_axis(position->front(), lengths_.size())
                                                          : std::nullopt;
      if (!part) return c.no(n, "a position is not known, or out of range");
      const auto at = static_cast<std::size_t>(*part);
      if (!first_[at]) {
        first_[at] = r;
        continue;
      }
      others_.emplace_back(m.is_graph_output(m.output(r, 0)) ? std::exchange(first_[at], r) : r, at);
    }
    return std::ranges::all_of(others_, [&](const auto& other) {
      return m.can_replace(m.output(other.first, 0), m.output(first_[other.second], 0)) ||
             c.no(
                 n,
                 "two outputs would be one part, or an annotation names the value, or a kernel writes to it");
    });
  }

  std::vector<NodeId> readers_;
  std::vector<std::int64_t> lengths_;
  std::vector<NodeId> first_;                           // by part: the reader whose result it becomes
  std::vector<std::pair<NodeId, std::size_t>> others_;  // further readers and their parts
  std::int64_t axis_ = 0;
  bool unbind_ = false, entries_ = false, reuse_ = false;
};

}  // namespace

extern constinit const PassInfo sequence_idioms = {
    .name = "sequence-idioms",
    .summary = "write sequences that are joined or indexed as Concat, Split, Gather",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<JoinDirectly, SplitDirectly>>};

}  // namespace graphopt
