// sequence-values: reads elements of sequences, and optional values, where they come from.
//
// Problem: exported lists are built element by element (a loop that appends, once it is unrolled) and read at
// constant positions. A sequence copies every tensor in it.
// Method: the elements of a sequence are known where SequenceConstruct, or SequenceInsert and SequenceErase
// at constant positions, made it from known ones, at first from SequenceEmpty. One rule per reader:
//   at        SequenceAt with a constant position is that element.
//   build     SequenceInsert and SequenceErase whose result is known, and that alone read what they change,
//             are a SequenceConstruct of the elements.
//   length    SequenceLength of a SplitToSequence of a known extent is a number. (That of other known
//             sequences is one for inference, and folded by constant-folding.)
//   optional  OptionalGetElement of what is no optional, or of an Optional of a value, is that value.
// Exact: elements are only copied. A position out of range fails in the runtime, so such a node is left
// alone. Lowers: SequenceAt, SequenceInsert, SequenceErase, SequenceLength and OptionalGetElement. Ends: none
// makes any. Left alone: elements whose types are not known to be equal, which SequenceConstruct refuses when
// the model is loaded; sequences that become empty; an element that cannot take the place of the result.
//
//   q = SequenceConstruct (a, b)                   =>      y = Neg (b)
//   r = SequenceAt (q, 1)   y = Neg (r)

#include <algorithm>
#include <optional>
#include <vector>

#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/node_facts.h"
#include "passes/rule_pass.h"
#include "support/known_names.h"

namespace graphopt {
namespace {

using Elements = std::vector<ValueId>;

// Elements that are gathered for one node: a chain of SequenceInserts is visited from each of its nodes.
constexpr std::size_t kMostElements = 256;

// Returns the elements of a sequence; nothing where one is not known.
std::optional<Elements> elements_of(const Model& m, ValueId sequence) {
  std::vector<NodeId> changes;  // the last one first
  std::optional<Elements> elements;
  while (!elements) {
    const NodeId n = sequence ? m.value(sequence).def : NodeId{};
    if (!n || !attributes_known(m, n) || changes.size() > kMostElements) return {};
    switch (m.kind(n)) {
      case OpKind::SequenceConstruct:
        if (m.input_count(n) > kMostElements) return {};
        elements.emplace();
        for (std::size_t i = 0; i < m.input_count(n); ++i) elements->push_back(m.input(n, i));
        break;
      case OpKind::SequenceEmpty: elements.emplace(); break;
      case OpKind::SequenceInsert:
      case OpKind::SequenceErase:
        changes.push_back(n);
        sequence = m.input(n, 0);
        break;
      default: return {};
    }
  }
  if (elements->size() + changes.size() > kMostElements) return {};
  for (auto it = changes.rbegin(); it != changes.rend(); ++it) {
    const NodeId n = *it;
    const bool insert = m.kind(n) == OpKind::SequenceInsert;
    const std::size_t slot = insert ? 2 : 1;
    const auto count = std::ssize(*elements);
    std::int64_t at = insert ? count : count - 1;  // an absent position
    if (const ValueId given = m.input(n, slot)) {
      const auto number = int_scalar(m, given);
      if (!number) return {};
      at = *number < 0 ? *number + count : *number;
    }
    if (at < 0 || at > (insert ? count : count - 1)) return {};
    if (insert) elements->insert(elements->begin() + at, m.input(n, 1));
    else elements->erase(elements->begin() + at);
  }
  for (const ValueId v : *elements)
    if (!v) return {};
  return elements;
}

class ReadElement final : public ReplaceRule {
 public:
  static constexpr Counter kCounter{"read", "elements that are read where they come from"};
  std::string_view name() const override { return "at"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::SequenceAt>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const auto position = int_scalar(m, m.input(n, 1));
    if (!position) return c.no(n, "the position is not known");
    // The usual case without a copy: there may be as many readers as elements.
    const NodeId made = m.input(n, 0) ? m.value(m.input(n, 0)).def : NodeId{};
    const bool direct = made && m.kind(made) == OpKind::SequenceConstruct;
    const auto elements = direct ? std::optional<Elements>(Elements{}) : elements_of(m, m.input(n, 0));
    if (!elements) return c.no(n, "the elements are not known");
    const auto at = normalize_axis(*position, direct ? m.input_count(made) : elements->size());
    if (!at) return c.no(n, "the position is out of range");
    const auto place = static_cast<std::size_t>(*at);
    return replaces(c, n, direct ? m.input(made, place) : (*elements)[place],
                    "the element cannot take the place of the result");
  }
};

class BuildAtOnce final : public Rule {
 public:
  static constexpr Counter kCounter{"built", "sequences that one node makes now"};
  std::string_view name() const override { return "build"; }
  std::span<const OpKind> roots() const override {
    return kRootKinds<OpKind::SequenceInsert, OpKind::SequenceErase>;
  }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId before = m.input(n, 0);
    if (!before || m.is_fixed(m.output(n, 0))) return false;
    if (m.single_user(before) != n) return c.no(n, "something else reads the sequence that it changes");
    const auto elements = elements_of(m, m.output(n, 0));
    if (!elements || elements->empty()) return c.no(n, "the elements are not known, or there are none");
    const DType type = c.infer.dtype(elements->front());
    for (const ValueId v : *elements)
      if (type == DType::Undefined || c.infer.dtype(v) != type)
        return c.no(n, "the types of the elements are not known to be equal");
    elements_ = *elements;
    return true;
  }

  void apply(PassContext& c, NodeId n) override {
    c.model.set_op(n, standard_op(c.model, OpKind::SequenceConstruct));
    c.model.set_operands(n, elements_);
  }

 private:
  Elements elements_;
};

class CountParts final : public Rule {
 public:
  static constexpr Counter kCounter{"lengths", "lengths of sequences that are numbers"};
  std::string_view name() const override { return "length"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::SequenceLength>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId y = m.output(n, 0), sequence = m.input(n, 0);
    const NodeId split = sequence ? m.value(sequence).def : NodeId{};
    if (!split || m.kind(split) != OpKind::SplitToSequence || !attributes_known(m, split)) return false;
    const auto parts = count_parts(c, split);
    if (!parts) return c.no(n, "the number of parts is not known");
    count_ = *parts;
    return (!m.is_graph_output(y) && !m.is_fixed(y) && m.can_become_constant(y)) ||
           c.no(n, "the length cannot be a constant");
  }

  void apply(PassContext& c, NodeId n) override {
    c.model.make_constant(c.model.output(n, 0), c.model.make_int64(count_));
  }

 private:
  static std::optional<std::int64_t> count_parts(const MatchContext& c, NodeId split) {
    const Model& m = c.model;
    const ValueId x = m.input(split, 0), lengths = m.input(split, 1);
    if (!c.infer.has_rank(x) || (lengths && !c.infer.has_rank(lengths))) return {};
    if (lengths && c.infer.dims(lengths).size() == 1) return m.dims.value(c.infer.dims(lengths)[0]);
    const auto given = int_attr(m, split, names::axis);
    const auto axis = given ? normalize_axis(*given, c.infer.dims(x).size()) : std::nullopt;
    const auto extent = axis ? m.dims.value(c.infer.dims(x)[static_cast<std::size_t>(*axis)]) : std::nullopt;
    const auto part = lengths ? int_scalar(m, lengths) : std::optional<std::int64_t>(1);
    if (!extent || *extent < 1 || !part || *part < 1) return {};
    return (*extent - 1) / *part + 1;
  }

  std::int64_t count_ = 0;
};

class ReadOptional final : public ReplaceRule {
 public:
  static constexpr Counter kCounter{"optional", "optional values that are read where they come from"};
  std::string_view name() const override { return "optional"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::OptionalGetElement>; }

  bool match(const MatchContext& c, NodeId n) override {
    const Model& m = c.model;
    const ValueId x = m.input(n, 0);
    if (!x) return false;
    const TypeKind kind = c.infer.type_of(x).kind;
    ValueId source;
    if (kind == TypeKind::Tensor || kind == TypeKind::Sequence) source = x;
    const NodeId made = m.value(x).def;
    if (made && m.kind(made) == OpKind::Optional && attributes_known(m, made)) source = m.input(made, 0);
    if (!source) return c.no(n, "whether there is a value is not known");
    return replaces(c, n, source, "the value cannot take the place of the result");
  }
};

}  // namespace

extern constinit const PassInfo sequence_values = {
    .name = "sequence-values",
    .summary = "read elements of sequences and optional values where they come from",
    .exact = Exact::Yes,
    .level = 1,
    .make = make_pass<RulePass<ReadElement, BuildAtOnce, CountParts, ReadOptional>>};

}  // namespace graphopt
