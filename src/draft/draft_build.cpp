#include "draft/draft_build.h"

#include <algorithm>

#include "draft/axis_work.h"
#include "infer/elementwise.h"
#include "ir/bodies.h"
#include "ops/attributes.h"
#include "ops/compose.h"
#include "ops/node_facts.h"
#include "rewrite/constancy.h"
#include "rewrite/cost.h"

namespace graphopt {
namespace {

NodeClass class_of_kind(OpKind kind) {
  switch (kind) {
    case OpKind::Reshape:
    case OpKind::Squeeze:
    case OpKind::Unsqueeze:
    case OpKind::Flatten: return NodeClass::Deformation;
    case OpKind::Transpose: return NodeClass::Transpose;
    case OpKind::Concat: return NodeClass::Concat;
    case OpKind::Split: return NodeClass::Split;
    case OpKind::Slice: return NodeClass::Slice;
    case OpKind::Gather: return NodeClass::Gather;
    default: return NodeClass::Other;
  }
}

bool elementwise_class(const Model& m, NodeId n) {
  const OpClass c = facts_of(m, n).cls;
  return c == OpClass::Unary || c == OpClass::Nary || c == OpClass::Conditional;
}

// Returns the producer of a Concat's operand, past deformations; none if that is an input or a constant.
NodeId producer(const Model& m, ValueId v) {
  for (std::uint32_t steps = 0; v && steps < kSearchLimits.skipped_deformations; ++steps) {
    const NodeId n = m.value(v).def;
    if (!n || class_of_kind(m.kind(n)) != NodeClass::Deformation) return n;
    v = m.input(n, 0);
  }
  return {};
}

// Returns whether only elementwise nodes read a Split's result, past deformations. Sets `kinds` to their
// operators, sorted and each once, since the order of uses is that of the file; empty if a Split is among
// them or there are too many.
bool read_by_elementwise(const Model& m, ValueId v, std::vector<OpKind>& kinds) {
  kinds.clear();
  for (std::uint32_t steps = 0; v && m.use_count(v) == 1 && steps < kSearchLimits.skipped_deformations;
       ++steps) {
    const NodeId n = m.user(m.first_use(v));
    if (class_of_kind(m.kind(n)) != NodeClass::Deformation) break;  // the return node is Opaque
    v = m.output(n, 0);
  }
  if (!v || m.use_count(v) == 0) return false;
  if (m.use_count(v) > kSearchLimits.compared_readers) return true;
  for (UseId u = m.first_use(v); u; u = m.next_use(u)) {
    if (m.is_return(m.user(u))) return false;
    kinds.push_back(m.kind(m.user(u)));
    if (kinds.back() != OpKind::Split && !elementwise_class(m, m.user(u))) return false;
  }
  if (std::ranges::count(kinds, OpKind::Split) > 0) kinds.clear();  // nested: not compared
  std::ranges::sort(kinds);
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  return true;
}

// Returns whether the first two branches of a Concat end in the same elementwise operator.
bool operands_look_alike(const Model& m, NodeId concat) {
  NodeId first;
  for (std::size_t i = 0, seen = 0; i < m.input_count(concat) && seen < 2; ++i) {
    const NodeId at = producer(m, m.input(concat, i));
    if (!at) continue;                              // a constant branch, perhaps
    if (m.kind(at) == OpKind::Concat) return true;  // nested: not compared
    if (!elementwise_class(m, at) || (first && m.kind(first) != m.kind(at))) return false;
    first = at;
    ++seen;
  }
  return true;
}

// Returns whether the first two results of a Split are read by the same elementwise operators.
bool results_look_alike(const Model& m, NodeId split) {
  std::vector<OpKind> first, second;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, m.output_count(split)); ++i) {
    if (!read_by_elementwise(m, m.output(split, i), i == 0 ? first : second)) return false;
    if ((i == 0 ? first : second).empty()) return true;
  }
  return first == second;
}

bool branches_look_alike(const Model& m, NodeId n) {
  return class_of_kind(m.kind(n)) == NodeClass::Concat ? operands_look_alike(m, n) : results_look_alike(m, n);
}

}  // namespace

bool DraftBuilder::worth_it(GraphId g, bool merges) const {
  const Model& m = c_.model;
  for (NodeId n = m.first_node(g); n; n = m.next_node(n)) {
    const NodeClass node_class = class_of_kind(m.kind(n));
    if (node_class == NodeClass::Other && (merges || facts_of(m, n).work != AxisWork::Blocks)) continue;
    if (!merges ||
        ((node_class == NodeClass::Concat || node_class == NodeClass::Split) && branches_look_alike(m, n)))
      return true;
  }
  return false;
}

DValue DraftBuilder::value_of(Draft& d, ValueId v) {
  if (!v) return {};
  ValueEntry& known = values_[v.index()];
  if (known.serial == serial_) return known.value;
  const Model& m = c_.model;
  const Value& value = m.value(v);
  DraftValue made;
  made.origin = v;
  made.tensor = m.constant_of(v);
  if (made.tensor) {
    made.dtype = m.tensor(made.tensor).dtype;
    made.shape = d.shapes().intern(std::span<const std::int64_t>(m.tensor(made.tensor).dims));
  } else {
    const TypeFacts& t = facts_of_type(d, c_.infer.type(v));
    made.dtype = t.dtype;
    made.shape = t.shape;
  }
  made.live_out = m.is_fixed(v) || value.graph != d.graph();
  // A packed operand that is computed from constants must not become one of them.
  const bool fixed = v.index() < from_constants_.size() && from_constants_[v.index()];
  for (UseId u = m.first_use(v); u && !made.live_out; u = m.next_use(u))
    made.live_out = m.is_return(m.user(u)) || m.node(m.user(u)).graph != d.graph() ||
                    (fixed && packing_of(m, c_.infer, m.user(u), m.slot(u)) != Packing::None);
  known = {d.put_value(made), serial_};
  return known.value;
}

// Shape and element type of a type, computed once per draft: many values have one type.
const DraftBuilder::TypeFacts& DraftBuilder::facts_of_type(Draft& d, TypeId type) {
  if (type.index() >= types_.size()) types_.resize(type.index() + 1);
  TypeFacts& known = types_[type.index()];
  if (known.serial != serial_) {
    const Type& t = c_.model.types[type];
    const bool tensor = t.kind == TypeKind::Tensor;
    known = {tensor && t.has_rank ? d.shapes().intern(t.dims) : ShapeId{}, tensor ? t.elem : DType::Undefined,
             serial_};
  }
  return known;
}

void DraftBuilder::read_node(Draft& d, NodeId n) {
  const Model& m = c_.model;
  const OpFacts& row = facts_of(m, n);
  in_.clear();
  out_.clear();
  for (std::size_t i = 0; i < m.input_count(n); ++i) in_.push_back(value_of(d, m.input(n, i)));
  DraftNode node;
  node.origin = n;
  node.real_in = static_cast<std::uint32_t>(in_.size());
  for (const auto& [holder, v] : order_.captures_of(n)) in_.push_back(value_of(d, v));
  for (const ValueId v : m.outputs(n)) out_.push_back(value_of(d, v));

  const bool known = m.kind(n) != OpKind::Opaque && m.kind(n) != OpKind::FunctionCall &&
                     row.purity == Purity::Pure && !row.deprecated;
  const auto plain = [&](DValue v) { return !v || is_plain(d[v].dtype); };
  if (known && std::ranges::all_of(in_, plain) && std::ranges::all_of(out_, plain) &&
      is_elementwise_on_plain(m, c_.infer, n)) {
    node.node_class = NodeClass::Elementwise;
    node.chooses_by_layout = chooses_by_layout(m.kind(n));
    if (const auto axis = quantization_axis(m, c_.infer, n)) {
      node.per_axis = true;
      node.axis = *axis;
    }
  } else if (known && attributes_known(m, n) && !in_.empty() && in_[0] && out_[0]) {
    classify(d, node);
    read_axis_work(d, n, in_, out_, node);
  }
  node.reads_shapes =
      m.kind(n) != OpKind::Opaque && std::ranges::find(row.roles, Role::Shape) != row.roles.end();
  node.heavy = known && is_heavy(m, n);
  node.anchor = known && node.node_class != NodeClass::Elementwise &&
                node.node_class != NodeClass::Deformation && m.kind(n) != OpKind::Transpose &&
                row.cls != OpClass::Barrier;
  d.put_node(node, in_, out_);
}

// Sets the class of a node that is not elementwise, and its axis, list and begin; Other if they are not
// known. Operand 0 and result 0 exist.
void DraftBuilder::classify(Draft& d, DraftNode& node) {
  node.node_class = class_of_kind(c_.model.kind(node.origin));
  if (node.node_class != NodeClass::Split && out_.size() > 1)
    node.node_class = NodeClass::Other;  // an invalid node: the operator has one result
  switch (node.node_class) {
    case NodeClass::Deformation: return read_deformation(d, node);
    case NodeClass::Transpose: return read_transpose(d, node);
    case NodeClass::Concat:
    case NodeClass::Split: return read_concat_or_split(d, node);
    case NodeClass::Slice: return read_slice(d, node);
    case NodeClass::Gather: return read_gather(d, node);
    default: return;
  }
}

// A deformation that fails in every run is none: constants would be read beyond their end. Of any other one
// both shapes have equally many elements, even where their products do not show it: [B*S, 4] becomes [B, 4,
// 4] where B and S are 0 (rules_reshape.cpp).
void DraftBuilder::read_deformation(Draft& d, DraftNode& node) const {
  const ShapeId x = d.shape(in_[0]), y = d.shape(out_[0]);
  const DimId before = x ? d.shapes().product(x) : DimId{}, after = y ? d.shapes().product(y) : DimId{};
  if (before && after && c_.model.dims.equal(before, after) == Tri::No) node.node_class = NodeClass::Other;
  else d.shapes().state_same_count(x, y);
}

void DraftBuilder::read_transpose(Draft& d, DraftNode& node) const {
  const Model& m = c_.model;
  const ShapeId x = d.shape(in_[0]);
  const std::size_t rank = x ? d.shapes().rank(x) : 0;
  std::vector<std::int64_t> perm;
  const auto given = ints_attr(m, node.origin, names::perm);
  if (has_attr(m, node.origin, names::perm) && given) perm.assign(given->begin(), given->end());
  else
    for (std::size_t i = rank; i-- > 0;) perm.push_back(static_cast<std::int64_t>(i));
  const ShapeId y = d.shape(out_[0]);
  // No runtime counts axes of perm from the end.
  const bool permutes =
      normalize_axes(perm, rank) && std::ranges::none_of(perm, [](auto a) { return a < 0; });
  if (!x || (y && d.shapes().rank(y) != rank) || perm.size() != rank || !permutes)
    node.node_class = NodeClass::Other;
  else node.list = d.intern_list(std::move(perm));
}

void DraftBuilder::read_concat_or_split(const Draft& d, DraftNode& node) const {
  const bool split = node.node_class == NodeClass::Split;
  const auto given = int_attr(c_.model, node.origin, names::axis);
  const ShapeId whole = d.shape(split ? in_[0] : out_[0]);
  const auto axis =
      whole ? normalize_axis(given.value_or(split ? 0 : 1), d.shapes().rank(whole)) : std::nullopt;
  // A model may contradict itself, so that a part has another rank than the whole.
  const auto fits = [&](DValue part) {
    const ShapeId shape = part ? d.shape(part) : ShapeId{};
    return !shape || d.shapes().rank(shape) == d.shapes().rank(whole);
  };
  const bool odd = std::ranges::find(in_, DValue{}) != in_.end();
  if (!axis || odd || !std::ranges::all_of(split ? out_ : in_, fits)) node.node_class = NodeClass::Other;
  else node.axis = static_cast<std::uint32_t>(*axis);
}

// A Slice of static bounds on one axis, with step 1 or of one element; its begin after clamping.
void DraftBuilder::read_slice(const Draft& d, DraftNode& node) const {
  const Model& m = c_.model;
  const NodeId n = node.origin;
  node.node_class = NodeClass::Other;
  const ShapeId x = d.shape(in_[0]), y = d.shape(out_[0]);
  if (!x || !y || d.shapes().rank(x) != d.shapes().rank(y)) return;  // a model may contradict itself
  const auto extent = [&](std::size_t axis) { return d.shapes().number(d.shapes().dims(x)[axis]); };
  const auto slice = axis_slice(m, n, d.shapes().rank(x), extent);
  if (!slice || (slice->step != 1 && d.shapes().number(d.shapes().dims(y)[slice->axis]) != 1)) return;
  node.node_class = NodeClass::Slice;
  node.axis = static_cast<std::uint32_t>(slice->axis);
  node.begin = slice->begin;
}

// A Gather of one element of an axis by a constant scalar inside its extent.
void DraftBuilder::read_gather(const Draft& d, DraftNode& node) const {
  const Model& m = c_.model;
  const NodeId n = node.origin;
  node.node_class = NodeClass::Other;
  const ShapeId x = d.shape(in_[0]);
  const auto index = int_operand(m, n, 1);
  if (!x || !index || index->size() != 1 || d.shapes().rank(d.shape(in_[1])) != 0) return;
  const auto axis = normalize_axis(int_attr(m, n, names::axis).value_or(0), d.shapes().rank(x));
  const ShapeId y = d.shape(out_[0]);
  if (!axis || (y && d.shapes().rank(y) + 1 != d.shapes().rank(x))) return;
  const auto extent = d.shapes().number(d.shapes().dims(x)[static_cast<std::size_t>(*axis)]);
  if (!extent || (*index)[0] < -*extent || (*index)[0] >= *extent) return;
  node.node_class = NodeClass::Gather;
  node.axis = static_cast<std::uint32_t>(*axis);
  node.begin = (*index)[0] < 0 ? (*index)[0] + *extent : (*index)[0];
}

// Marks shape computations: nodes of whose results all transitive uses are shape operands.
void DraftBuilder::mark_shape_computations(Draft& d) const {
  const Model& m = c_.model;
  for (std::size_t i = d.node_count(); i-- > 0;) {
    const DNode n{i};
    bool shape_only = d[n].out_count > 0, used = false;
    for (const DValue v : d.outs(n)) {
      if (!v) continue;
      if (d[v].live_out) shape_only = false;
      for (DUse u = d.first_use(v); u && shape_only; u = d.next_use(u)) {
        const DraftNode& user = d[d.user(u)];
        used = true;
        if (user.shape_only) continue;
        shape_only = user.reads_shapes && d.slot(u) < user.real_in &&
                     role_of(facts_of(m, user.origin), d.slot(u)) == Role::Shape;
      }
    }
    if (shape_only && used) d.set_shape_only(n);
  }
}

// Finds the values that have nothing but constants upstream; moves and the clean-up of a draft could make
// constants of them.
void DraftBuilder::find_fixed_operands() {
  const Model& m = c_.model;
  from_constants_.assign(m.value_count(), false);
  for (const std::uint32_t i : order_.order()) {
    const NodeId n = order_.nodes()[i];
    bool fixed = m.input_count(n) > 0 && facts_of(m, n).purity == Purity::Pure;
    for (std::size_t k = 0; k < m.input_count(n) && fixed; ++k) {
      const ValueId v = m.input(n, k);
      fixed = !v || from_constants_[v.index()] || constancy_of(m, v, m.value(v).graph) != Constancy{};
    }
    for (const ValueId v : m.outputs(n))
      if (v) from_constants_[v.index()] = fixed;
  }
}

Draft DraftBuilder::build(GraphId g, Draft* spare) {
  Draft d = spare ? Draft(c_.model, g, std::move(*spare)) : Draft(c_.model, g);
  ++serial_;
  values_.resize(c_.model.value_count());
  d.in_function = is_in_function(c_.model, g);
  order_.compute(g);
  if (keeps_bits(c_.options.strictness)) find_fixed_operands();
  // Ids follow the file, where neighbours are near each other; the order of the list is the canonical one.
  d.reserve(order_.nodes().size());
  for (const NodeId n : order_.nodes()) read_node(d, n);
  d.set_order(order_.order());
  mark_shape_computations(d);
  return d;
}

}  // namespace graphopt
