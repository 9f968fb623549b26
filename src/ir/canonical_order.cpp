#include "ir/canonical_order.h"

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
  for (auto* by_node : {&depth_, &rank_, &seen_}) by_node->resize(m_.node_count());
  find_captures();
  find_depths();
  rank_nodes();
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

// Of an operand of a node that no output needs.
std::uint64_t CanonicalOrder::value_colour(ValueId v) const {
  if (!v) return 1;
  const Value& value = m_.value(v);
  if (const TensorId t = m_.constant_of(v)) return hash_tensor(m_, t);
  if (value.graph == graph_ && value.def) {
    const std::size_t n = value.def.index();
    return mix_hash(reached(value.def) ? mix_hash(7, rank_[n]) : colour_[n], value.def_slot);
  }
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

// Constant nodes have depth 0, and their readers are as deep as if they read initializers.
void CanonicalOrder::find_depths() {
  nodes_.clear();
  deepest_ = 0;
  for (NodeId n = m_.first_node(graph_); n; n = m_.next_node(n)) {
    nodes_.push_back(n);
    std::uint32_t depth = m_.kind(n) == OpKind::Constant ? 0 : 1;
    const auto see = [&](ValueId v) {
      if (v && m_.value(v).def && m_.value(v).graph == graph_)
        depth = std::max(depth, depth_[m_.value(v).def.index()] + 1);
    };
    for (std::size_t i = 0; i < m_.input_count(n); ++i) see(m_.input(n, i));
    for (const auto& [node, v] : captures_of(n)) see(v);
    depth_[n.index()] = depth;
    deepest_ = std::max(deepest_, depth);
  }
}

void CanonicalOrder::enter(NodeId n) {
  if (reached(n)) return;
  seen_[n.index()] = epoch_;
  rank_[n.index()] = next_rank_++;
  stack_.push_back({n});
}

// The return node of a body stands for its outputs. The last one on the stack is walked first.
void CanonicalOrder::enter_bodies(NodeId n) {
  if (m_.attrs(n).empty()) return;
  std::vector<std::pair<std::string_view, GraphId>> bodies;
  for (const Attr& a : m_.attrs(n))
    for (const GraphId body : a.graphs) bodies.emplace_back(m_.text(a.name), body);
  std::ranges::stable_sort(bodies, {}, &std::pair<std::string_view, GraphId>::first);
  for (std::size_t i = bodies.size(); i-- > 0;) enter(m_.graph(bodies[i].second).ret);
}

void CanonicalOrder::walk(NodeId start) {
  enter(start);
  while (!stack_.empty()) {
    Frame& at = stack_.back();
    const NodeId n = at.node;
    if (at.next == m_.input_count(n)) {
      stack_.pop_back();
      enter_bodies(n);
      continue;
    }
    const ValueId v = m_.input(n, at.next++);
    const NodeId producer = v ? m_.value(v).def : NodeId{};
    if (!producer) continue;
    const GraphId g = m_.value(v).graph;
    if (g == graph_ || m_.inside(g, graph_)) enter(producer);
  }
}

void CanonicalOrder::rank_nodes() {
  ++epoch_;
  next_rank_ = 0;
  walk(m_.graph(graph_).ret);
  if (std::ranges::any_of(nodes_, [this](NodeId n) { return !reached(n); })) rank_unreached();
}

void CanonicalOrder::rank_unreached() {
  inputs_.clear();
  for (const ValueId v : m_.graph_inputs(graph_))
    inputs_.emplace_back(v, static_cast<std::uint32_t>(inputs_.size()));
  std::ranges::sort(inputs_);
  colour_.resize(m_.node_count());
  std::vector<std::pair<std::uint64_t, NodeId>> unread;
  for (const NodeId n : nodes_) {
    if (reached(n)) continue;
    std::uint64_t h = mix_hash(mix_hash(hash_operator(m_, n), hash_attributes(m_, n)), hash_bodies(n));
    for (std::size_t i = 0; i < m_.input_count(n); ++i) h = mix_hash(h, value_colour(m_.input(n, i)));
    std::uint64_t captured = 0;
    for (const auto& [node, v] : captures_of(n)) captured += value_colour(v);
    colour_[n.index()] = mix_hash(h, captured);
    if (std::ranges::none_of(m_.outputs(n), [this](ValueId v) { return v && m_.use_count(v) > 0; }))
      unread.emplace_back(colour_[n.index()], n);
  }
  std::ranges::stable_sort(unread, {}, &std::pair<std::uint64_t, NodeId>::first);
  for (const auto& [colour, n] : unread) walk(n);
  for (const NodeId n : nodes_) walk(n);  // those that only dead nodes in bodies read
}

// By rank, then, stably, by depth.
void CanonicalOrder::sort() {
  constexpr std::uint32_t kNone = 0xFFFFFFFFu;
  std::vector<std::uint32_t> by_rank(next_rank_, kNone), start(deepest_ + 2);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    by_rank[rank_[nodes_[i].index()]] = i;
    ++start[depth_[nodes_[i].index()] + 1];
  }
  for (std::size_t i = 1; i < start.size(); ++i) start[i] += start[i - 1];
  order_.resize(nodes_.size());
  for (const std::uint32_t i : by_rank)
    if (i != kNone) order_[start[depth_[nodes_[i].index()]]++] = i;
}

}  // namespace graphopt
