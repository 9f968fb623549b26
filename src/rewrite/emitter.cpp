#include "rewrite/emitter.h"

#include "ops/attributes.h"

namespace graphopt {

NodeId Emitter::position() const {
  if (where_ != Where::Front) return before_;
  return last_ ? m_.next_node(last_) : m_.first_node(graph_);
}

ValueId Emitter::added(NodeId n) {
  if (!n) return {};
  if (where_ == Where::Front) last_ = n;
  return m_.output(n, 0);
}

ValueId Emitter::node(OpKind kind, std::span<const ValueId> operands, std::string_view what,
                      std::span<const IntAttr> attributes) {
  return built(what, [&](const Site& at) { return add_operator(at, kind, operands, attributes); });
}

ValueId Emitter::cast(ValueId v, DType to, std::string_view what) {
  return node(OpKind::Cast, {v}, what, {{names::to, static_cast<std::int64_t>(to)}});
}

ValueId Emitter::concat(std::span<const ValueId> parts, std::int64_t axis, std::string_view what) {
  const IntAttr along{names::axis, axis};
  return node(OpKind::Concat, parts, what, std::span(&along, 1));
}

ValueId Emitter::reduce(OpKind kind, ValueId x, std::string_view what) {
  return built(what, [&](const Site& at) { return add_reduction(at, kind, x, {}, false); });
}

ValueId Emitter::slice(ValueId x, ValueId starts, ValueId ends, ValueId axes, std::string_view what) {
  return node(OpKind::Slice, {x, starts, ends, axes}, what);
}

ValueId Emitter::pick(ValueId list, Numbers positions, std::string_view what) {
  return node(OpKind::Gather, {list, numbers(positions)}, what);
}

ValueId Emitter::gather(ValueId x, ValueId positions, std::int64_t axis, std::string_view what) {
  return node(OpKind::Gather, {x, positions}, what, {{names::axis, axis}});
}

ValueId Emitter::number(std::int64_t v) { return constant(m_.make_int64(v), "number"); }

ValueId Emitter::numbers(Numbers v) {
  ValueId& known = lists_[{v.begin(), v.end()}];
  if (!known || !m_.alive(known)) known = constant(m_.make_int64s(v), "numbers");
  return known;
}

ValueId Emitter::scalar(DType type, double v) {
  const TensorId t = make_scalar(m_, type, v);
  return t ? constant(t, "fill") : ValueId{};
}

}  // namespace graphopt
