#include "buckets/single/shared_constants.h"

namespace graphopt {
namespace {

constexpr std::uint64_t kSmallBytes = 128;

}  // namespace

SharedConstants::SharedConstants(Model& m) : m_(m) {
  for (const ValueId v : m.graph(m.main()).initializers)
    if (const TensorId t = m.alive(v) ? m.constant_of(v) : TensorId{}) add(t, v);
}

void SharedConstants::add(TensorId t, ValueId v) {
  same_.emplace(&m_.tensor(t), v);
  alike_[{m_.tensor(t).dtype, m_.tensor(t).dims}].push_back(v);
}

bool SharedConstants::is_shared(TensorId t) const {
  const Tensor& tensor = m_.tensor(t);
  const auto bytes = raw_size(tensor.dtype, static_cast<std::uint64_t>(tensor.elements));
  return !bytes || *bytes > kSmallBytes;
}

ValueId SharedConstants::value_of(TensorId t, std::string_view base) {
  if (const auto at = same_.find(&m_.tensor(t)); at != same_.end()) return at->second;
  if (const auto at = alike_.find({m_.tensor(t).dtype, m_.tensor(t).dims}); at != alike_.end()) {
    const Hash128 hash = m_.content_hash(t);
    for (const ValueId v : at->second)
      if (m_.content_hash(m_.value(v).tensor) == hash) {
        same_.emplace(&m_.tensor(t), v);
        return v;
      }
  }
  const ValueId v = m_.add_initializer(m_.main(), base, t);
  add(t, v);
  return v;
}

void SharedConstants::take_from_bodies(std::size_t first) {
  for (std::size_t i = first; i < m_.graph_count(); ++i) {
    const GraphId g{i};
    if (!m_.graph(g).alive || !m_.inside(g, m_.main())) continue;
    std::vector<ValueId> held;
    for (const ValueId v : m_.graph(g).initializers)
      if (m_.alive(v) && !m_.value(v).is_input) held.push_back(v);
    for (NodeId n = m_.first_node(g); n; n = m_.next_node(n))
      if (m_.kind(n) == OpKind::Constant && m_.output(n, 0)) held.push_back(m_.output(n, 0));
    for (const ValueId v : held) {
      const TensorId t = m_.constant_of(v);
      if (!t || !is_shared(t)) continue;
      const ValueId shared = value_of(t, m_.text(m_.value(v).name));
      if (!m_.can_replace(v, shared)) continue;  // an output of its body
      m_.replace_all_uses(v, shared);
      if (const NodeId n = m_.value(v).def) m_.erase(n);
      else m_.erase_initializer(v);
    }
  }
}

}  // namespace graphopt
