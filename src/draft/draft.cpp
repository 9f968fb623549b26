#include "draft/draft.h"

#include <algorithm>
#include <utility>

#include "support/hash_chains.h"
#include "support/order_keys.h"

namespace graphopt {
namespace {
constexpr std::uint32_t kNone = 0xFFFFFFFFu;
std::uint32_t raw(auto id) { return id ? id.index() : kNone; }
template <class I> I id(std::uint32_t raw) { return raw == kNone ? I{} : I{raw}; }
}  // namespace

// --- reading -----------------------------------------------------------------------------------------------

std::vector<DValue> Draft::ins(DNode n) const {
  const DraftNode& node = nodes_[n.index()];
  std::vector<DValue> out(node.in_count);
  for (std::uint32_t i = 0; i < node.in_count; ++i) out[i] = uses_[node.first_in + i].value;
  return out;
}

DNode Draft::single_user(DValue v) const {
  return single_use(v) ? uses_[values_[v.index()].first_use.index()].user : DNode{};
}

// --- lists -------------------------------------------------------------------------------------------------

void Draft::link_use(DUse u, DValue v) {
  DraftUse& use = uses_[u.index()];
  use.value = v;
  use.prev = use.next = {};
  if (!v) return;
  DraftValue& value = values_[v.index()];
  use.prev = value.last_use;
  (use.prev ? uses_[use.prev.index()].next : value.first_use) = u;
  value.last_use = u;
  ++value.use_count;
}

// Keeps the use's own links, so that relink_use can put it back at the same position.
void Draft::unlink_use(DUse u) {
  const DraftUse& use = uses_[u.index()];
  if (!use.value) return;
  DraftValue& value = values_[use.value.index()];
  (use.prev ? uses_[use.prev.index()].next : value.first_use) = use.next;
  (use.next ? uses_[use.next.index()].prev : value.last_use) = use.prev;
  --value.use_count;
}

void Draft::link_node(DNode n, DNode before) {
  DraftNode& node = nodes_[n.index()];
  node.next = before;
  node.prev = before ? nodes_[before.index()].prev : last_;
  (node.prev ? nodes_[node.prev.index()].next : first_) = n;
  (before ? nodes_[before.index()].prev : last_) = n;
  const std::uint64_t low = node.prev ? nodes_[node.prev.index()].key : 0;
  if (!before) {
    node.key = low + kKeyGap;
    return;
  }
  node.key = key_between(low, nodes_[before.index()].key);
  if (node.key == low) renumber(n);
}

void Draft::unlink_node(DNode n) {
  const DraftNode& node = nodes_[n.index()];
  (node.prev ? nodes_[node.prev.index()].next : first_) = node.next;
  (node.next ? nodes_[node.next.index()].prev : last_) = node.prev;
}

void Draft::renumber(DNode n) {
  spread_keys(
      n, [this](DNode m) { return nodes_[m.index()].prev; },
      [this](DNode m) { return nodes_[m.index()].next; },
      [this](DNode m) -> std::uint64_t& { return nodes_[m.index()].key; });
}

// --- building ----------------------------------------------------------------------------------------------

Draft::Draft(Model& model, GraphId graph, Draft&& spare) : Draft(model, graph) {
  const auto reuse = [](auto& mine, auto& other) {
    mine = std::move(other);
    mine.clear();
  };
  reuse(nodes_, spare.nodes_);
  reuse(values_, spare.values_);
  reuse(uses_, spare.uses_);
  reuse(outputs_, spare.outputs_);
  reuse(log_, spare.log_);
  reuse(is_pending_, spare.is_pending_);
  reuse(touched_at_, spare.touched_at_);
}

void Draft::reserve(std::size_t nodes) {
  const std::size_t room = nodes + nodes / 4 + 16;
  nodes_.reserve(room);
  touched_at_.reserve(room);
  is_pending_.reserve(room);
  values_.reserve(room);
  outputs_.reserve(room);
  uses_.reserve(room + room / 2);
}

DValue Draft::put_value(const DraftValue& v) {
  values_.push_back(v);
  return DValue{values_.size() - 1};
}

// Adds the node to the arrays and its operands to their use lists. The node has no position in the order and
// defines no results yet.
DNode Draft::append(DraftNode node, std::span<const DValue> in, std::span<const DValue> out) {
  const DNode n{nodes_.size()};
  node.first_in = static_cast<std::uint32_t>(uses_.size());
  node.in_count = static_cast<std::uint32_t>(in.size());
  node.first_out = static_cast<std::uint32_t>(outputs_.size());
  node.out_count = static_cast<std::uint32_t>(out.size());
  nodes_.push_back(node);
  touched_at_.push_back(0);
  is_pending_.push_back(0);
  for (const DValue v : in) {
    uses_.push_back({{}, n, {}, {}});
    link_use(DUse{uses_.size() - 1}, v);
  }
  outputs_.append(out);
  return n;
}

DNode Draft::put_node(const DraftNode& node, std::span<const DValue> in, std::span<const DValue> out) {
  const DNode n = append(node, in, out);
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    if (!out[i]) continue;
    values_[out[i].index()].def = n;
    values_[out[i].index()].slot = i;
  }
  return n;
}

void Draft::set_order(std::span<const std::uint32_t> order) {
  DNode last;
  std::uint64_t key = 0;
  for (const std::uint32_t i : order) {
    const DNode n{i};
    DraftNode& node = nodes_[n.index()];
    node.prev = last;
    (last ? nodes_[last.index()].next : first_) = n;
    node.key = key += kKeyGap;
    last = n;
  }
  last_ = last;
  std::vector<std::pair<std::uint64_t, DUse>> uses;  // by key of the user
  for (const DraftValue& value : values_) {
    if (value.use_count < 2) continue;
    uses.clear();
    for (DUse u = value.first_use; u; u = next_use(u)) uses.emplace_back(nodes_[user(u).index()].key, u);
    if (std::ranges::is_sorted(uses)) continue;
    std::ranges::sort(uses);
    const DValue v = uses_[uses[0].second.index()].value;
    for (const auto& [key, u] : uses) unlink_use(u);
    for (const auto& [key, u] : uses) link_use(u, v);
  }
}

ListId Draft::intern_list(std::vector<std::int64_t> list) {
  std::uint64_t hash = list.size();
  for (const std::int64_t i : list) hash = mix_hash(hash, static_cast<std::uint64_t>(i));
  const auto add = [&] {
    lists_.push_back(std::move(list));
    return static_cast<std::uint32_t>(lists_.size() - 1);
  };
  return ListId{list_index_.find_or_add(hash, [&](std::uint32_t id) { return lists_[id] == list; }, add)};
}

// --- changing ----------------------------------------------------------------------------------------------

void Draft::touch(DNode n) {
  if (!is_pending_[n.index()]) {
    is_pending_[n.index()] = 1;
    pending_.push_back(n);
  }
  if (touched_at_[n.index()] == epoch_) return;
  touched_at_[n.index()] = epoch_;
  touched_.push_back(n);
}

DNode Draft::next_pending() {
  if (next_pending_ == pending_.size()) return {};
  const DNode n = pending_[next_pending_++];
  is_pending_[n.index()] = 0;
  return n;
}

void Draft::clear_touched() {
  for (; next_pending_ < pending_.size(); ++next_pending_)
    if (const std::uint32_t n = pending_[next_pending_].index(); n < is_pending_.size())
      is_pending_[n] = 0;  // larger ids: nodes that were undone
  pending_.clear();
  next_pending_ = 0;
  touched_.clear();
  ++epoch_;
}

// Touches the definition of v and its user if it has one use: rules that need a single use may match them
// now.
void Draft::touch_value(DValue v) {
  if (!v) return;
  const DraftValue& value = values_[v.index()];
  if (value.def) touch(value.def);
  if (value.use_count == 1) touch(uses_[value.first_use.index()].user);
}

void Draft::mark_changed(DNode n) {
  touch(n);
  if (nodes_[n.index()].changed) return;
  nodes_[n.index()].changed = true;
  log({Change::What::Changed, n.index(), 0, 0, 0});
}

DValue Draft::new_value(ShapeId shape, DType dtype, ValueId like) {
  DraftValue v;
  v.like = like;
  v.shape = shape;
  v.dtype = dtype;
  log({Change::What::Value, 0, 0, 0, 0});
  return put_value(v);
}

DValue Draft::new_constant(TensorId t, ShapeId shape, DType dtype) {
  const DValue v = new_value(shape, dtype);
  values_[v.index()].tensor = t;
  return v;
}

void Draft::define(DValue v, DNode n, std::uint32_t slot) {
  DraftValue& value = values_[v.index()];
  log({Change::What::Def, v.index(), raw(value.def), value.slot, 0});
  value.def = n;
  value.slot = slot;
}

DNode Draft::new_node(NodeClass node_class, NodeId origin, std::span<const DValue> in,
                      std::span<const DValue> out, DNode before) {
  DraftNode node;
  node.node_class = node_class;
  node.made = true;
  node.changed = true;
  node.origin = origin;
  node.anchor = node_class == NodeClass::Concat || node_class == NodeClass::Split;
  node.real_in = static_cast<std::uint32_t>(in.size());
  const DNode n = append(node, in, out);
  log({Change::What::Node, 0, 0, 0, 0});
  for (const DValue v : in) touch_value(v);
  for (std::uint32_t i = 0; i < out.size(); ++i)
    if (out[i]) define(out[i], n, i);
  link_node(n, before);
  touch(n);
  for (const DValue v : out)
    for (DUse u = v ? first_use(v) : DUse{}; u; u = next_use(u)) touch(user(u));
  return n;
}

DNode Draft::new_elementwise(DNode like, std::span<const DValue> in, DValue out, DNode before) {
  const DNode n =
      new_node(NodeClass::Elementwise, nodes_[like.index()].origin, in, std::span(&out, 1), before);
  nodes_[n.index()].chooses_by_layout = nodes_[like.index()].chooses_by_layout;
  nodes_[n.index()].per_axis = nodes_[like.index()].per_axis;
  nodes_[n.index()].axis = nodes_[like.index()].axis;
  return n;
}

void Draft::set_axis(DNode n, std::uint32_t axis) {
  if (nodes_[n.index()].axis == axis) return;
  log({Change::What::Axis, n.index(), nodes_[n.index()].axis, 0, 0});
  nodes_[n.index()].axis = axis;
  mark_changed(n);
}

void Draft::set_list(DNode n, ListId list) {
  log({Change::What::List, n.index(), raw(nodes_[n.index()].list), 0, 0});
  nodes_[n.index()].list = list;
  mark_changed(n);
}

void Draft::set_axes_rewritten(DNode n) {
  if (nodes_[n.index()].axes_rewritten) return;
  log({Change::What::AxesRewritten, n.index(), 0, 0, 0});
  nodes_[n.index()].axes_rewritten = true;
  mark_changed(n);
}

void Draft::set_in(DNode n, std::size_t slot, DValue v) {
  const DUse u{nodes_[n.index()].first_in + slot};
  DraftUse& use = uses_[u.index()];
  if (use.value == v) return;
  const DValue old = use.value;
  log({Change::What::Use, u.index(), raw(old), raw(use.prev), raw(use.next)});
  unlink_use(u);
  link_use(u, v);
  mark_changed(n);
  touch_value(old);
  touch_value(v);
}

void Draft::set_ins(DNode n, std::span<const DValue> in) {
  const std::vector<DValue> now(in.begin(), in.end());
  DraftNode& node = nodes_[n.index()];
  log({Change::What::Ins, n.index(), node.first_in, node.in_count, node.real_in});
  for (std::uint32_t i = 0; i < node.in_count; ++i) {
    const DUse u{node.first_in + i};
    unlink_use(u);
    touch_value(uses_[u.index()].value);
  }
  node.first_in = static_cast<std::uint32_t>(uses_.size());
  node.in_count = node.real_in = static_cast<std::uint32_t>(now.size());
  for (const DValue v : now) {
    uses_.push_back({{}, n, {}, {}});
    link_use(DUse{uses_.size() - 1}, v);
    touch_value(v);
  }
  mark_changed(n);
}

void Draft::set_outs(DNode n, std::span<const DValue> out) {
  const std::vector<DValue> now(out.begin(), out.end());
  DraftNode& node = nodes_[n.index()];
  log({Change::What::Outs, n.index(), node.first_out, node.out_count, 0});
  node.first_out = static_cast<std::uint32_t>(outputs_.size());
  node.out_count = static_cast<std::uint32_t>(now.size());
  for (std::uint32_t i = 0; i < now.size(); ++i) {
    outputs_.push_back(now[i]);
    if (!now[i]) continue;
    define(now[i], n, i);
    for (DUse u = first_use(now[i]); u; u = next_use(u)) touch(user(u));
  }
  mark_changed(n);
}

void Draft::retype(DValue v, ShapeId shape) {
  DraftValue& value = values_[v.index()];
  log({Change::What::Shape, v.index(), raw(value.shape), raw(value.origin), raw(value.like)});
  value.shape = shape;
  if (value.origin) {
    value.retyped = true;
    value.like = value.origin;
    value.origin = {};
  }
  // The node stays as it is in the model, but for the axis of a quantization, which may change with the rank.
  if (value.def && nodes_[value.def.index()].per_axis) mark_changed(value.def);
  else if (value.def) touch(value.def);
  for (DUse u = value.first_use; u; u = next_use(u)) touch(user(u));
}

void Draft::replace_uses(DValue from, DValue to) {
  while (const DUse u = values_[from.index()].first_use) {
    const DNode n = user(u);
    set_in(n, slot(u), to);
  }
}

void Draft::erase(DNode n) {
  DraftNode& node = nodes_[n.index()];
  node.alive = false;
  touch(n);
  log({Change::What::Erase, n.index(), 0, 0, 0});
  for (std::uint32_t i = 0; i < node.in_count; ++i) {
    const DUse u{node.first_in + i};
    unlink_use(u);
    touch_value(uses_[u.index()].value);
  }
  unlink_node(n);
}

void Draft::move_before(DNode n, DNode before) {
  if (nodes_[n.index()].next == before || n == before) return;
  log({Change::What::Move, n.index(), raw(nodes_[n.index()].next), 0, 0});
  unlink_node(n);
  link_node(n, before);
  mark_changed(n);
}

void Draft::set_region(DNode n, DNode region) {
  if (nodes_[n.index()].region == region) return;
  log({Change::What::Region, n.index(), raw(nodes_[n.index()].region), 0, 0});
  nodes_[n.index()].region = region;
}

void Draft::set_absorbed(DNode n, bool absorbed) {
  log({Change::What::Absorbed, n.index(), nodes_[n.index()].absorbed, 0, 0});
  nodes_[n.index()].absorbed = absorbed;
}

// --- undoing -----------------------------------------------------------------------------------------------

void Draft::relink_use(DUse u, DValue v) {
  DraftUse& use = uses_[u.index()];
  use.value = v;
  if (!v) return;
  DraftValue& value = values_[v.index()];
  (use.prev ? uses_[use.prev.index()].next : value.first_use) = u;
  (use.next ? uses_[use.next.index()].prev : value.last_use) = u;
  ++value.use_count;
}

void Draft::undo(const Change& c) {
  using enum Change::What;
  switch (c.what) {
    case Value: values_.pop_back(); break;
    case Node: {
      const DraftNode& node = nodes_.back();
      unlink_node(DNode{nodes_.size() - 1});
      for (std::uint32_t i = node.in_count; i-- > 0;) unlink_use(DUse{node.first_in + i});
      uses_.resize(node.first_in);
      outputs_.resize(node.first_out);
      nodes_.pop_back();
      touched_at_.pop_back();
      is_pending_.pop_back();
      break;
    }
    case Axis: nodes_[c.a].axis = c.b; break;
    case List: nodes_[c.a].list = id<ListId>(c.b); break;
    case Use: {
      unlink_use(DUse{c.a});
      uses_[c.a].prev = id<DUse>(c.c);
      uses_[c.a].next = id<DUse>(c.d);
      relink_use(DUse{c.a}, id<DValue>(c.b));
      break;
    }
    case Ins: {
      DraftNode& node = nodes_[c.a];
      for (std::uint32_t i = node.in_count; i-- > 0;) unlink_use(DUse{node.first_in + i});
      uses_.resize(node.first_in);
      node.first_in = c.b;
      node.in_count = c.c;
      node.real_in = c.d;
      for (std::uint32_t i = node.in_count; i-- > 0;)
        relink_use(DUse{node.first_in + i}, uses_[node.first_in + i].value);
      break;
    }
    case Outs: {
      DraftNode& node = nodes_[c.a];
      outputs_.resize(node.first_out);
      node.first_out = c.b;
      node.out_count = c.c;
      break;
    }
    case Erase: {
      DraftNode& node = nodes_[c.a];
      node.alive = true;
      link_node(DNode{c.a}, node.next);  // keys may have been renumbered since
      for (std::uint32_t i = node.in_count; i-- > 0;)
        relink_use(DUse{node.first_in + i}, uses_[node.first_in + i].value);
      break;
    }
    case Move:
      unlink_node(DNode{c.a});
      link_node(DNode{c.a}, id<DNode>(c.b));
      break;
    case Region: nodes_[c.a].region = id<DNode>(c.b); break;
    case Absorbed: nodes_[c.a].absorbed = c.b != 0; break;
    case AxesRewritten: nodes_[c.a].axes_rewritten = false; break;
    case Changed: nodes_[c.a].changed = false; break;
    case Shape: {
      DraftValue& value = values_[c.a];
      value.shape = id<ShapeId>(c.b);
      value.origin = id<ValueId>(c.c);
      value.like = id<ValueId>(c.d);
      if (value.origin) value.retyped = false;
      break;
    }
    case Def:
      values_[c.a].def = id<DNode>(c.b);
      values_[c.a].slot = c.c;
      break;
  }
}

void Draft::roll_back() {
  for (; !log_.empty(); log_.pop_back()) undo(log_.back());
}

}  // namespace graphopt
