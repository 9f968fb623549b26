#include "specialize/repair/emit.h"

#include "ops/attributes.h"
#include "ops/node_facts.h"

namespace graphopt {

NodeId Emitter::position() const {
  if (before_) return before_;
  return last_ ? m_.next_node(last_) : m_.first_node(graph_);
}

ValueId Emitter::added(NodeId n) {
  if (!n) return {};
  if (!before_) last_ = n;
  return m_.output(n, 0);
}

ValueId Emitter::node(OpKind kind, std::span<const ValueId> operands, std::string_view what,
                      std::span<const IntAttr> attributes) {
  const NodeId n = m_.add_node_like(graph_, standard_op(m_, kind), operands, 1, name(what), position());
  for (const IntAttr& a : attributes) m_.set_attr_int(n, a.name, a.value);
  return added(n);
}

ValueId Emitter::cast(ValueId v, DType to, std::string_view what) {
  return node(OpKind::Cast, {v}, what, {{names::to, static_cast<std::int64_t>(to)}});
}

ValueId Emitter::number(std::int64_t v) {
  return m_.add_initializer(graph_, name("number"), m_.make_int64(v));
}

ValueId Emitter::numbers(Numbers v) { return m_.add_initializer(graph_, name("numbers"), m_.make_int64s(v)); }

ValueId Emitter::scalar(DType type, double v) {
  const TensorId t = make_scalar(m_, type, v);
  return t ? m_.add_initializer(graph_, name("fill"), t) : ValueId{};
}

}  // namespace graphopt
