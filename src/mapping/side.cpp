#include "mapping/side.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>

#include "ops/families.h"
#include "ops/node_facts.h"
#include "ops/same_attributes.h"

namespace graphopt::mapping {
namespace {

constexpr std::int64_t kStrong = 8;  // elements of a constant whose content says which it is

Key type_key(const Model& m, NodeId n) {
  Key key(KeyKind::Type);
  if (m.kind(n) != OpKind::Opaque) return key.add(static_cast<std::uint64_t>(m.kind(n)));
  return key.add(m.text(m.op(n).domain)).add(m.text(m.op(n).type));
}

// How a body computes is not asked here: its operators in the order of the walk, and how many there are.
void add_body(Key& key, Subject& subject, GraphId g) {
  const Model& m = subject.model;
  CanonicalOrder& order = subject.order_of_bodies;
  order.compute(g);
  key.add(order.nodes().size());
  for (const std::uint32_t i : order.order()) {
    const Hash128 type = type_key(m, order.nodes()[i]).hash();
    key.add(type.low).add(type.high);
  }
}

void add_tensor(Key& key, const Model& m, TensorId t) {
  const Hash128 hash = m.content_hash(t);
  key.add(hash.low).add(hash.high);
}

Hash128 attribute_key(Subject& subject, const Attr& a) {
  const Model& m = subject.model;
  Key key(KeyKind::Attribute);
  key.add(m.text(a.name)).add(static_cast<std::uint64_t>(a.kind)).add(m.text(a.ref));
  key.add(static_cast<std::uint64_t>(a.i)).add(std::bit_cast<std::uint32_t>(a.f)).add(a.s);
  for (const std::int64_t i : a.ints) key.add(static_cast<std::uint64_t>(i));
  for (const float f : a.floats) key.add(std::bit_cast<std::uint32_t>(f));
  for (const Bytes s : a.strings) key.add(s);
  if (a.tensor) add_tensor(key, m, a.tensor);
  for (const GraphId g : a.graphs) add_body(key, subject, g);
  return key.hash();
}

// Returns true if the elements are floats, several, and not all the same bits.
bool says_which(const Model& m, TensorId t) {
  const Tensor& tensor = m.tensor(t);
  if (tensor.elements < kStrong || !is_float(tensor.dtype)) return false;
  const std::optional<Bytes> raw = m.raw(t);
  if (!raw || raw->size() % static_cast<std::size_t>(tensor.elements) != 0) return raw.has_value();
  const std::size_t width = raw->size() / static_cast<std::size_t>(tensor.elements);
  // Equal elements: the bytes are those of one element earlier.
  return std::memcmp(raw->data(), raw->data() + width, raw->size() - width) != 0;
}

Index dims_label(std::span<const std::int64_t> dims, Labels& labels) {
  Key key(KeyKind::Dims);
  key.add(dims.size());
  for (const std::int64_t d : dims) key.add(static_cast<std::uint64_t>(d));
  return labels.of(key);
}

ValueClass class_of(DType type) {
  if (type == DType::Undefined) return ValueClass::Unknown;
  if (is_float(type)) return ValueClass::Floats;
  if (is_int(type)) return ValueClass::Integers;
  return type == DType::Bool ? ValueClass::Booleans : ValueClass::Others;
}

bool is_looked_through(const Model& m, const Inference& inference, NodeId n) {
  const OpFacts& facts = facts_of(m, n);
  if (m.input_count(n) == 0 || m.output_count(n) == 0) return false;
  const ValueId x = m.input(n, 0), y = m.output(n, 0);
  if (!x || !y || facts.purity != Purity::Pure) return false;
  if (m.kind(n) == OpKind::Identity || m.kind(n) == OpKind::Dropout) return true;
  if (inference.dtype(x) == DType::Undefined || inference.dtype(x) != inference.dtype(y)) return false;
  return m.kind(n) == OpKind::Cast || (facts.cls == OpClass::Deformation && inference.same_shape(x, y));
}

}  // namespace

Side::Side(Subject& subject, GraphId graph, Labels& labels) : model_(&subject.model), graph_(graph) {
  const Model& m = *model_;
  for (const ValueId v : m.graph_inputs(graph))
    if (!m.value(v).tensor) graph_inputs_.push_back(number(subject, v));
  number_operators(subject, labels);
  for (std::size_t i = 0; i < m.graph_output_count(graph); ++i)
    if (const ValueId v = m.graph_output(graph, i)) {
      const Index at = number(subject, v);
      graph_outputs_.push_back(at);
      if (constant_[at] == kNone && m.value(v).tensor)
        add_constant(at, {}, m.value(v).tensor, subject, labels);
    }
  flatten();
  add_uses();
  add_depths();
  find_outer();
  for (const ValueId v : values_) subject.numbers[v.index()] = kNone;
}

Index Side::number(Subject& subject, ValueId v) {
  Index& at = subject.numbers[v.index()];
  if (at == kNone) {
    at = static_cast<Index>(values_.size());
    values_.push_back(v);
    producer_.push_back({kNone, 0});
    constant_.push_back(kNone);
  }
  return at;
}

void Side::number_operators(Subject& subject, Labels& labels) {
  const Model& m = *model_;
  subject.order.compute(graph_);
  const auto constant_of = [&](ValueId v) {
    const Index i = number(subject, v);
    if (constant_[i] != kNone || is_computed(i)) return constant_[i];
    const auto alias = subject.aliases.find(v);
    const TensorId tensor = alias == subject.aliases.end() ? m.value(v).tensor : alias->second;
    if (tensor) add_constant(i, {}, tensor, subject, labels);
    return constant_[i];
  };
  for (const std::uint32_t at : subject.order.order()) {
    const NodeId n = subject.order.nodes()[at];
    if (m.kind(n) == OpKind::Constant) {
      const ValueId v = m.output(n, 0);
      if (v) add_constant(number(subject, v), n, m.value(v).tensor, subject, labels);
      continue;
    }
    if (m.kind(n) == OpKind::Identity && m.output_count(n) == 1 && m.input(n, 0) && m.output(n, 0) &&
        constant_of(m.input(n, 0)) != kNone && !m.is_graph_output(m.output(n, 0))) {
      const Index y = number(subject, m.output(n, 0));
      constant_[y] = constant_[number(subject, m.input(n, 0))];
      if (const TensorId tensor = constants_[constant_[y]].tensor)
        subject.aliases.emplace(m.output(n, 0), tensor);
      continue;
    }
    for (std::size_t k = 0; k < m.input_count(n); ++k) {
      const ValueId v = m.input(n, k);
      inputs_.push_back(v ? number(subject, v) : kNone);
      if (v) constant_of(v);
    }
    std::vector<std::tuple<int, std::uint64_t, std::uint64_t, Index>> captured;  // neither by id nor by name
    for (const auto& [holder, v] : subject.order.captures_of(n)) {
      const Index at = number(subject, v);
      if (const Index c = constant_of(v); c != kNone) {
        const Hash128 hash = constants_[c].tensor ? m.content_hash(constants_[c].tensor) : Hash128{};
        captured.emplace_back(2, hash.low, hash.high, at);
      } else if (is_computed(at)) {
        captured.emplace_back(0, producer_[at].op, producer_[at].slot, at);
      } else {
        captured.emplace_back(1, at, 0, at);
      }
    }
    std::ranges::sort(captured);
    for (const auto& [kind, first, second, at] : captured) inputs_.push_back(at);
    add_operator(subject, n, labels);
  }
}

void Side::add_operator(Subject& subject, NodeId n, Labels& labels) {
  const Model& m = *model_;
  const Index i = static_cast<Index>(operators_.size());
  Operator& o = operators_.emplace_back();
  const OpFacts& facts = facts_of(m, n);
  o.node = n;
  o.kind = m.kind(n);
  o.type = labels.of(type_key(m, n));
  o.family = o.kind == OpKind::Opaque
                 ? o.type
                 : labels.of(Key(KeyKind::Family).add(static_cast<std::uint64_t>(family_of(o.kind))));
  o.commutes = is_order_free(facts);
  o.combines = combines_operands(facts);
  o.is_transparent = is_looked_through(m, subject.inference, n);
  o.only_deforms = facts.cls == OpClass::Deformation || o.kind == OpKind::Cast;
  for (std::size_t k = 0; k < m.output_count(n); ++k) {
    const ValueId v = m.output(n, k);
    outputs_.push_back(v ? number(subject, v) : kNone);
    if (!v) continue;
    producer_[outputs_.back()] = {i, static_cast<Index>(k)};
    if (const std::string_view name = m.text(m.value(v).name); o.name == kNone && !name.empty()) {
      o.name = labels.of(Key(KeyKind::Name).add(name));
      o.has_number_for_name = name.find_first_not_of("0123456789") == name.npos;
    }
  }
  if (m.output_count(n) > 0 && m.output(n, 0)) o.values = class_of(subject.inference.dtype(m.output(n, 0)));
  Key all(KeyKind::Attributes);
  std::vector<Index> found;
  for (const Attr& a : m.attrs(n))
    if (!is_default_attribute(find_attribute(facts, m.text(a.name)), a))
      found.push_back(labels.of(attribute_key(subject, a)));
  std::ranges::sort(found);
  for (const Index a : found) all.add(a);
  o.attributes = labels.of(all);
  attributes_.insert(attributes_.end(), found.begin(), found.end());
  o.shape = shape_label(i, subject.inference, labels);
  input_begin_.push_back(static_cast<Index>(inputs_.size()));
  output_begin_.push_back(static_cast<Index>(outputs_.size()));
  attribute_begin_.push_back(static_cast<Index>(attributes_.size()));
  for (const Index v : inputs(i))
    if (const Constant* c = v == kNone ? nullptr : constant(v);
        c && c->elements >= std::max(kStrong, o.main_elements + 1)) {
      o.main = c->shape;
      o.main_elements = c->elements;
    }
}

// `node`: a Constant node that may have no tensor.
void Side::add_constant(Index value, NodeId node, TensorId tensor, Subject& subject, Labels& labels) {
  const Model& m = *model_;
  Constant& c = constants_.emplace_back();
  constant_[value] = static_cast<Index>(constants_.size() - 1);
  Key content(KeyKind::Payload);
  if (tensor) {
    add_tensor(content, m, tensor);
    c.tensor = tensor;
    c.shape = dims_label(m.tensor(tensor).dims, labels);
    c.elements = m.tensor(tensor).elements;
    c.is_strong = says_which(m, tensor);
    c.is_index = c.elements == 1 && is_int(m.tensor(tensor).dtype);
  } else {
    for (const Attr& a : node ? m.attrs(node) : std::span<const Attr>()) {
      const Hash128 hash = attribute_key(subject, a);
      content.add(hash.low).add(hash.high);
    }
  }
  c.content = labels.of(content);
}

void Side::find_outer() {
  std::vector<bool> is_own(value_count());
  for (const Index v : graph_inputs_) is_own[v] = true;
  for (Index v = 0; v < value_count(); ++v)
    if (!is_own[v] && !is_computed(v) && constant_[v] == kNone) outer_.push_back(v);
}

Index Side::shape_label(Index op, const Inference& inference, Labels& labels) {
  const Model& m = *model_;
  const NodeId n = operators_[op].node;
  Key key(KeyKind::Shape);
  bool first = true;
  for (const ValueId v : m.outputs(n)) {
    if (!v) continue;
    std::vector<std::int64_t> dims;
    const bool has_rank = inference.has_rank(v);
    if (has_rank)
      for (const DimId d : inference.dims(v)) dims.push_back(m.dims.value(d).value_or(-1));
    key.add(has_rank ? dims_label(dims, labels) : kNone);
    if (!first) continue;
    first = false;
    operators_[op].has_shape = has_rank && std::ranges::find(dims, -1) == dims.end();
    has_rank_.push_back(has_rank);
    dims_.insert(dims_.end(), dims.begin(), dims.end());
  }
  if (first) has_rank_.push_back(false);
  dim_begin_.push_back(static_cast<Index>(dims_.size()));
  return labels.of(key);
}

void Side::flatten() {
  is_nested_.assign(size(), false);
  flat_at_.assign(size(), kNone);
  std::vector<std::uint32_t> readers(value_count());
  for (const Index v : inputs_)
    if (v != kNone) ++readers[v];
  for (const Index v : graph_outputs_) ++readers[v];
  // The operator whose result an operand is, if it is the only reader and of the same kind.
  const auto nested = [&](Index op, Index v) -> Index {
    if (v == kNone || !is_computed(v) || readers[v] != 1) return kNone;
    const Index inner = producer(v).op;
    const Operator &x = operators_[op], &y = operators_[inner];
    return x.type == y.type && x.attributes == y.attributes ? inner : kNone;
  };
  std::vector<bool> has_nested(size());
  for (Index i = 0; i < size(); ++i) {
    if (!flattens(operators_[i].kind)) continue;
    for (const Index v : inputs(i))
      if (const Index inner = nested(i, v); inner != kNone) is_nested_[inner] = has_nested[i] = true;
  }
  std::vector<Index> open;  // the next operand last
  for (Index i = 0; i < size(); ++i) {
    if (!has_nested[i] || is_nested_[i]) continue;
    flat_at_[i] = static_cast<Index>(flat_begin_.size() - 1);
    const auto add = [&](Index op) { open.insert(open.end(), inputs(op).rbegin(), inputs(op).rend()); };
    add(i);
    while (!open.empty()) {
      const Index v = open.back();
      open.pop_back();
      if (v != kNone && is_computed(v) && is_nested_[producer(v).op]) add(producer(v).op);
      else flat_.push_back(v);
    }
    flat_begin_.push_back(static_cast<Index>(flat_.size()));
  }
}

void Side::add_uses() {
  const auto for_each_use = [&](const auto& f) {
    for (Index i = 0; i < size(); ++i) {
      const auto flat = flat_inputs(i);
      for (Index k = 0; k < flat.size(); ++k)
        if (flat[k] != kNone) f(flat[k], Use{i, k});
      if (flat_at_[i] == kNone) continue;
      for (Index k = 0; k < inputs(i).size(); ++k)
        if (const Index v = inputs(i)[k]; v != kNone && is_computed(v) && is_nested_[producer(v).op])
          f(v, Use{i, k});
    }
  };
  use_begin_.assign(value_count() + 1, 0);
  for_each_use([&](Index v, Use) { ++use_begin_[v + 1]; });
  for (std::size_t v = 1; v < use_begin_.size(); ++v) use_begin_[v] += use_begin_[v - 1];
  uses_.resize(use_begin_.back());
  std::vector<Index> next(use_begin_.begin(), use_begin_.end() - 1);
  for_each_use([&](Index v, Use use) { uses_[next[v]++] = use; });
}

std::optional<std::int64_t> Side::elements(Index op) const {
  if (!has_rank(op)) return std::nullopt;
  std::int64_t out = 1;
  for (const std::int64_t d : dims(op)) {
    if (d < 0 || (d > 0 && out > (std::int64_t{1} << 62) / d)) return std::nullopt;
    out *= d;
  }
  return out;
}

// The canonical order is topological.
void Side::add_depths() {
  Index deepest = 1;
  for (Index i = 0; i < size(); ++i) {
    Index depth = 0;
    for (const Index v : inputs(i))
      if (v != kNone && is_computed(v)) depth = std::max(depth, operators_[producer(v).op].depth + 1);
    operators_[i].depth = depth;
    deepest = std::max(deepest, depth);
  }
  for (Operator& o : operators_) o.place = static_cast<double>(o.depth) / deepest;
}

}  // namespace graphopt::mapping
