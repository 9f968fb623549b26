// Sequences and optionals. The element type of a sequence holds for all its elements.
#include "infer/rules.h"

namespace graphopt::rules {
namespace {

TypeId element_of(const NodeContext& c, std::size_t i) {
  const Type& t = c.type(i);
  return (t.kind == TypeKind::Sequence || t.kind == TypeKind::Optional) && t.inner ? t.inner
                                                                                   : c.m.types.unknown();
}

// Returns an element's type as the type of one value: dims on which the elements do not agree become symbols
// of that value.
void state_element(NodeContext& c, std::size_t i, TypeId t) {
  const ValueId v = c.m.output(c.n, i);
  if (v) c.set(i, c.s.name_unknown_dims(t, v));
}

// Returns the number of elements of a sequence; none where it is not known. Nodes that change a sequence are
// followed upstream: a chain of them is visited from each reader of a length. (Not to SplitToSequence: its
// extent may be widened in a loop without a change of the sequence's type, which would visit the reader.)
DimId length_of(NodeContext& c, ValueId sequence) {
  constexpr int kMostChanges = 256;
  std::int64_t changed = 0;
  for (int i = 0; i < kMostChanges && sequence; ++i) {
    const NodeId n = c.m.value(sequence).def;
    if (!n) return {};
    const OpKind kind = c.m.kind(n);
    if (kind == OpKind::SequenceConstruct || kind == OpKind::SequenceEmpty) {
      changed += static_cast<std::int64_t>(c.m.input_count(n));
      return changed >= 0 ? c.constant(changed) : DimId{};
    }
    if (kind == OpKind::SequenceInsert) ++changed;
    else if (kind == OpKind::SequenceErase) --changed;
    else return {};
    sequence = c.m.input(n, 0);
  }
  return {};
}

DType int_elem(const NodeContext& c, NameId name, DType fallback) {
  const auto given = c.maybe_int(name);
  return given && *given > 0 && *given < 256 ? static_cast<DType>(*given) : fallback;
}

}  // namespace

void sequence_construct(NodeContext& c) {
  if (c.input_count() == 0) return;
  TypeId t = c.type_id(0);
  for (std::size_t i = 1; i < c.input_count(); ++i) t = c.s.join(t, c.type_id(i));
  c.set(0, c.m.types.sequence(t));
}

void sequence_empty(NodeContext& c) {
  c.set(0, c.m.types.sequence(c.m.types.tensor(int_elem(c, names::dtype, DType::Float))));
}

void sequence_insert(NodeContext& c) {
  if (c.type(0).kind != TypeKind::Sequence) return;
  // In a sequence that is certainly empty, the inserted value determines the element type.
  const NodeId def = c.m.value(c.in(0)).def;
  const bool empty = def && c.m.kind(def) == OpKind::SequenceEmpty;
  c.set(0, c.m.types.sequence(empty ? c.type_id(1) : c.s.join(element_of(c, 0), c.type_id(1))));
}

void sequence_erase(NodeContext& c) { c.set(0, c.type_id(0)); }

void sequence_at(NodeContext& c) {
  if (c.type(0).kind == TypeKind::Sequence) state_element(c, 0, element_of(c, 0));
}

void sequence_length(NodeContext& c) {
  SymbolicTensor t{DType::Int64, {}, {DimId{}}};
  t.elements[0] = length_of(c, c.has(0) ? c.in(0) : ValueId{});
  c.symbolic(0, std::move(t));
}

void split_to_sequence(NodeContext& c) {
  const DType elem = c.elem(0);
  if (elem == DType::Undefined) return;
  const auto axis = c.ranked(0) ? NodeContext::axis(c.attr_int(names::axis, 0), c.rank(0)) : std::nullopt;
  if (!axis) return c.set(0, c.m.types.sequence(c.m.types.tensor(elem)));
  Dims d(c.shape(0).begin(), c.shape(0).end());
  d[*axis] = {};
  // The standard ignores keepdims where lengths are given, ONNX Runtime does not.
  const std::int64_t keepdims = c.attr_int(names::keepdims, 1);
  if (keepdims != 1 && (c.has(1) || keepdims != 0))
    return c.set(0, c.m.types.sequence(c.m.types.tensor(elem)));
  const bool drop = keepdims == 0;
  if (drop) d.erase(d.begin() + static_cast<std::ptrdiff_t>(*axis));
  else if (!c.has(1)) d[*axis] = c.constant(1);
  else if (const auto size = c.scalar(1); size && c.ranked(1) && c.rank(1) == 0 && *size > 0) {
    const auto whole = c.value(c.shape(0)[*axis]);
    if (whole && *whole % *size == 0) d[*axis] = c.constant(*size);
  }
  c.set(0, c.m.types.sequence(c.m.types.tensor(elem, d)));
}

void concat_from_sequence(NodeContext& c) {
  const Type& t = c.m.types[element_of(c, 0)];
  if (t.kind != TypeKind::Tensor) return;
  const std::int64_t new_axis = c.attr_int(names::new_axis, 0);
  const auto given = c.maybe_int(names::axis);
  // The standard has no meaning for a new_axis other than 0 and 1, and runtimes differ about it.
  if (!t.has_rank || !given || (new_axis != 0 && new_axis != 1)) return c.tensor(0, t.elem);
  const bool stack = new_axis == 1;
  Dims d(t.dims.begin(), t.dims.end());
  const auto rank = static_cast<std::int64_t>(d.size()) + (stack ? 1 : 0);
  const auto axis = NodeContext::axis(*given, rank);
  if (!axis) return c.tensor(0, t.elem);
  // The number of elements is known for a sequence that one SequenceConstruct makes.
  DimId n;
  const NodeId def = c.m.value(c.in(0)).def;
  if (def && c.m.kind(def) == OpKind::SequenceConstruct)
    n = c.constant(static_cast<std::int64_t>(c.m.input_count(def)));
  if (stack) {
    d.insert(d.begin() + static_cast<std::ptrdiff_t>(*axis), n);
    return c.tensor(0, t.elem, d);
  }
  d[*axis] = {};
  if (n) {
    DimId sum = c.constant(0);
    for (std::size_t i = 0; i < c.m.input_count(def) && sum; ++i) {
      const Type& part = c.m.types[c.s.type(c.m.input(def, i))];
      sum = part.has_rank && part.dims.size() == d.size() ? c.dims.add(sum, part.dims[*axis]) : DimId{};
    }
    d[*axis] = sum;
  }
  // With an empty operand the other dims may differ (see concat): they are known only where all elements
  // agree, which the element type expresses.
  c.tensor(0, t.elem, d);
}

void optional_make(NodeContext& c) {
  if (c.has(0)) return c.set(0, c.m.types.optional(c.type_id(0)));
}

void optional_has_element(NodeContext& c) {
  SymbolicTensor t{DType::Bool, {}, {DimId{}}};
  if (!c.has(0)) t.elements[0] = c.constant(0);
  else if (c.type(0).kind == TypeKind::Tensor || c.type(0).kind == TypeKind::Sequence)
    t.elements[0] = c.constant(1);
  c.symbolic(0, std::move(t));
}

void optional_get_element(NodeContext& c) {
  if (c.type(0).kind == TypeKind::Optional) state_element(c, 0, element_of(c, 0));
  else c.set(0, c.type_id(0));
}

}  // namespace graphopt::rules
