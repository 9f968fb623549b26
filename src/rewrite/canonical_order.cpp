#include "rewrite/canonical_order.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "support/hash_chains.h"

namespace graphopt {
namespace {

constexpr std::int64_t kMostUnpacked =
    1024;                             // elements; a longer payload not in raw form is not unpacked for this
constexpr std::size_t kSample = 256;  // bytes of a payload that a colour covers, at either end

std::uint64_t hash_text(std::string_view s) {
  std::uint64_t h = s.size();
  for (; s.size() >= sizeof(std::uint64_t); s.remove_prefix(sizeof(std::uint64_t))) {
    std::uint64_t word;
    std::memcpy(&word, s.data(), sizeof word);
    h = mix_hash(h, word);
  }
  for (const char c : s) h = mix_hash(h, static_cast<unsigned char>(c));
  return h;
}

std::uint64_t hash_tensor(const Model& m, TensorId t) {
  const Tensor& tensor = m.tensor(t);
  std::uint64_t h = static_cast<std::uint64_t>(tensor.dtype);
  for (const std::int64_t d : tensor.dims) h = mix_hash(h, static_cast<std::uint64_t>(d));
  // A large payload that is not in raw form would have to be unpacked: type and dims must do.
  if (tensor.dtype == DType::String || (!tensor.ready && tensor.elements > kMostUnpacked)) return h;
  if (const auto raw = m.raw(t)) {
    h = mix_hash(h, hash_text(raw->substr(0, kSample)));
    if (raw->size() > kSample) h = mix_hash(h, hash_text(raw->substr(raw->size() - kSample)));
  }
  return h;
}

std::uint64_t hash_operator(const Model& m, NodeId n) {
  const Op& op = m.op(n);
  return m.kind(n) == OpKind::Opaque ? mix_hash(hash_text(m.text(op.domain)), hash_text(m.text(op.type)))
                                     : static_cast<std::uint64_t>(m.kind(n));
}

std::uint64_t hash_attributes(const Model& m, NodeId n) {
  std::uint64_t sum = 0;  // the order of attributes has no meaning
  for (const Attr& a : m.attrs(n)) {
    std::uint64_t h = hash_text(m.text(a.name));
    h = mix_hash(h, static_cast<std::uint64_t>(a.i));
    h = mix_hash(h, std::bit_cast<std::uint32_t>(a.f));
    h = mix_hash(h, hash_text(a.s));
    for (const std::int64_t i : a.ints) h = mix_hash(h, static_cast<std::uint64_t>(i));
    for (const float f : a.floats) h = mix_hash(h, std::bit_cast<std::uint32_t>(f));
    if (a.tensor) h = mix_hash(h, hash_tensor(m, a.tensor));
    sum += h;
  }
  return sum;
}

}  // namespace

void CanonicalOrder::compute(GraphId g) {
  graph_ = g;
  find_captures();
  inputs_.clear();
  for (const ValueId v : m_.graph_inputs(g))
    inputs_.emplace_back(v, static_cast<std::uint32_t>(inputs_.size()));
  std::ranges::sort(inputs_);
  for (auto* by_node : {&depth_, &first_output_, &first_slot_}) by_node->resize(m_.node_count());
  for (auto* by_node : {&colour_, &back_}) by_node->resize(m_.node_count());
  colour_forward();
  colour_backward();
  sort();
}

std::span<const std::pair<NodeId, ValueId>> CanonicalOrder::captures_of(NodeId n) const {
  if (captures_.empty()) return {};
  return std::ranges::equal_range(captures_, n, {}, &std::pair<NodeId, ValueId>::first);
}

void CanonicalOrder::find_captures() {
  captures_.clear();
  const auto collect = [&](ValueId v) {
    for (UseId u = m_.first_use(v); u; u = m_.next_use(u)) {
      const NodeId user = m_.user(u);
      if (m_.node(user).graph == graph_) continue;
      if (const NodeId holder = m_.ancestor_in(graph_, user)) captures_.emplace_back(holder, v);
    }
  };
  bool bodies = false;
  for (NodeId n = m_.first_node(graph_); n && !bodies; n = m_.next_node(n))
    for (const Attr& a : m_.attrs(n)) bodies |= !a.graphs.empty();
  if (!bodies) return;
  for (const ValueId v : m_.graph_inputs(graph_)) collect(v);
  for (const ValueId v : m_.graph(graph_).initializers)
    if (m_.alive(v)) collect(v);
  for (NodeId n = m_.first_node(graph_); n; n = m_.next_node(n))
    for (const ValueId v : m_.outputs(n))
      if (v) collect(v);
  std::ranges::sort(captures_);
  const auto rest = std::ranges::unique(captures_);
  captures_.erase(rest.begin(), rest.end());
}

std::uint64_t CanonicalOrder::value_colour(ValueId v) const {
  if (!v) return 1;
  const Value& value = m_.value(v);
  if (const TensorId t = m_.constant_of(v)) return hash_tensor(m_, t);
  if (value.graph == graph_ && value.def) return mix_hash(colour_[value.def.index()], value.def_slot);
  // An input: in the main graph its name is part of the interface, in bodies and functions its position is.
  if (value.is_input && value.graph == m_.main()) return hash_text(m_.text(value.name));
  if (value.graph != graph_) return 3;
  const auto input = std::ranges::lower_bound(inputs_, v, {}, &std::pair<ValueId, std::uint32_t>::first);
  if (input == inputs_.end() || input->first != v)
    return 4;  // a sparse initializer, or one whose name is used outside the graph
  return mix_hash(5, input->second);
}

// Hashes the operators and attributes in the bodies of a node, at any depth, but not how they are connected.
std::uint64_t CanonicalOrder::hash_bodies(NodeId n) const {
  std::uint64_t sum = 0;
  std::vector<std::pair<GraphId, std::uint64_t>> open;  // with a hash of the attributes that lead there
  const auto add = [&](NodeId holder, std::uint64_t path) {
    for (const Attr& a : m_.attrs(holder))
      for (std::uint64_t i = 0; i < a.graphs.size(); ++i)
        open.emplace_back(a.graphs[i], mix_hash(mix_hash(path, hash_text(m_.text(a.name))), i));
  };
  add(n, 0);
  while (!open.empty()) {
    const auto [g, path] = open.back();
    open.pop_back();
    for (NodeId inner = m_.first_node(g); inner; inner = m_.next_node(inner)) {
      sum += mix_hash(path, mix_hash(hash_operator(m_, inner), hash_attributes(m_, inner)));
      add(inner, path);
    }
  }
  return sum;
}

void CanonicalOrder::colour_forward() {
  nodes_.clear();
  deepest_ = 0;
  for (NodeId n = m_.first_node(graph_); n; n = m_.next_node(n)) {
    nodes_.push_back(n);
    std::uint32_t depth = 0;
    const auto see = [&](ValueId v) {
      if (v && m_.value(v).def && m_.value(v).graph == graph_)
        depth = std::max(depth, depth_[m_.value(v).def.index()] + 1);
      return value_colour(v);
    };
    std::uint64_t h = hash_operator(m_, n);
    h = mix_hash(mix_hash(h, hash_attributes(m_, n)), hash_bodies(n));
    for (std::size_t i = 0; i < m_.input_count(n); ++i) h = mix_hash(h, see(m_.input(n, i)));
    std::uint64_t captured = 0;
    for (const auto& [node, v] : captures_of(n)) captured += see(v);
    depth_[n.index()] = depth;
    colour_[n.index()] = mix_hash(h, captured);
    deepest_ = std::max(deepest_, depth);
  }
}

void CanonicalOrder::colour_backward() {
  const NodeId ret = m_.graph(graph_).ret;
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    const std::size_t n = nodes_[i].index();
    std::uint64_t h = colour_[n];
    std::uint32_t first = ~std::uint32_t{0}, slot = ~std::uint32_t{0};
    for (const ValueId v : m_.outputs(nodes_[i])) {
      std::uint64_t sum = 0;
      for (UseId u = v ? m_.first_use(v) : UseId{}; u; u = m_.next_use(u)) {
        const NodeId user = m_.user(u);
        slot = std::min(slot, m_.slot(u));
        if (user == ret) {
          sum += mix_hash(11, m_.slot(u));
          first = std::min(first, m_.slot(u));
        } else if (m_.node(user).graph == graph_) {
          sum += mix_hash(back_[user.index()], m_.slot(u));
          first = std::min(first, first_output_[user.index()]);
        } else if (const NodeId holder = m_.ancestor_in(graph_, user)) {  // in one of its bodies
          const GraphId body = m_.node(user).graph;
          sum += mix_hash(mix_hash(back_[holder.index()], hash_text(m_.text(m_.graph(body).attribute))),
                          m_.is_return(user) ? 13 : mix_hash(hash_operator(m_, user), m_.slot(u)));
          first = std::min(first, first_output_[holder.index()]);
        }
      }
      h = mix_hash(h, sum);
    }
    back_[n] = h;
    first_output_[n] = first;
    first_slot_[n] = slot;
  }
}

// Sorts by depth (counting sort), then by key within a depth; equal keys keep the order of the file.
void CanonicalOrder::sort() {
  struct SortKey {
    std::uint64_t reader;  // first_output, first_slot
    std::uint64_t colour;
    std::uint32_t index;
    auto operator<=>(const SortKey&) const = default;
  };
  std::vector<std::uint32_t> start(deepest_ + 2);
  for (const NodeId n : nodes_) ++start[depth_[n.index()] + 1];
  for (std::size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
  order_.resize(nodes_.size());
  std::vector<std::uint32_t> next(start.begin(), start.end());
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) order_[next[depth_[nodes_[i].index()]]++] = i;
  std::vector<SortKey> keys;
  for (std::size_t depth = 0; depth <= deepest_; ++depth) {
    const std::span<std::uint32_t> order =
        std::span(order_).subspan(start[depth], start[depth + 1] - start[depth]);
    if (order.size() < 2) continue;
    keys.clear();
    for (const std::uint32_t i : order) {
      const std::size_t n = nodes_[i].index();
      keys.push_back({std::uint64_t{first_output_[n]} << 32 | first_slot_[n], back_[n], i});
    }
    std::ranges::sort(keys);
    std::ranges::transform(keys, order.begin(), &SortKey::index);
  }
}

}  // namespace graphopt
