// See atomic.h. Groups that share a node are joined by a union-find over the nodes of the main graph.
#include "devices/atomic.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>

#include "devices/qdq_group.h"
#include "ops/facts.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

// The nodes of the main graph by position, and which of them are in one group.
class Groups {
 public:
  explicit Groups(const Model& m) : m_(m), position_(m.node_count(), kOutside) {
    for (NodeId n = m.first_node(m.main()); n; n = m.next_node(n)) {
      position_[n.index()] = static_cast<std::uint32_t>(nodes.size());
      nodes.push_back(n);
    }
  }

  std::vector<NodeId> nodes;

  void clear() {
    parent_.resize(nodes.size());
    std::iota(parent_.begin(), parent_.end(), 0u);
  }
  // Joins two nodes of the main graph, or the nodes of it that hold them; none and return nodes join nothing.
  void join(NodeId a, NodeId b) {
    const std::uint32_t i = holder(a), k = holder(b);
    if (i == kOutside || k == kOutside) return;
    const std::uint32_t x = find(i), y = find(k);
    parent_[std::max(x, y)] = std::min(x, y);
  }
  // Appends the groups of two nodes and more, in the order of their first nodes.
  void take(AtomicKind kind, std::vector<AtomicGroup>& out) {
    std::vector<std::uint32_t> size(nodes.size()), group(nodes.size(), kOutside);
    for (std::uint32_t i = 0; i < nodes.size(); ++i) ++size[find(i)];
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      const std::uint32_t root = find(i);
      if (size[root] < 2) continue;
      if (group[root] == kOutside) {
        group[root] = static_cast<std::uint32_t>(out.size());
        out.push_back({kind, {}});
      }
      out[group[root]].nodes.push_back(nodes[i]);
    }
  }

 private:
  static constexpr std::uint32_t kOutside = 0xFFFFFFFFu;

  std::uint32_t holder(NodeId n) const {
    if (!n) return kOutside;
    const NodeId own = m_.ancestor_in(m_.main(), n);
    return own ? position_[own.index()] : kOutside;
  }
  std::uint32_t find(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  const Model& m_;
  std::vector<std::uint32_t> position_;
  std::vector<std::uint32_t> parent_;
};

template <class F> void each_reader(const Model& m, ValueId v, F f) {
  for (UseId u = m.first_use(v); u; u = m.next_use(u)) f(m.user(u));
}

void join_qdq(const Model& m, Groups& groups) {
  const auto converts = [&m](NodeId n) { return quantizes(m, n) || dequantizes(m, n); };
  for (const NodeId q : groups.nodes) {
    if (!quantizes(m, q) || !m.input(q, 0)) continue;
    const NodeId last = m.value(m.input(q, 0)).def;
    if (!last || converts(last) || m.node(last).graph != m.main() || !only_quantized(m, last)) continue;
    const NodeId core = qdq_core(m, last);
    if (converts(core) || !reads_dequantized(m, core)) continue;
    groups.join(q, last);
    groups.join(last, core);
    for (std::size_t i = 0; i < m.input_count(core); ++i) groups.join(core, dequantizer(m, m.input(core, i)));
  }
}

void join_chains(const Model& m, const std::vector<std::string>& ops, Groups& groups) {
  const auto is = [&m](NodeId n, std::string_view op) {
    const std::size_t colons = op.rfind("::");
    std::string_view domain;
    if (colons != std::string_view::npos) {
      domain = op.substr(0, colons);
      op.remove_prefix(colons + 2);
    }
    if (domain == "ai.onnx") domain = {};
    return m.text(m.op(n).type) == op && m.text(m.op(n).domain) == domain;
  };
  std::vector<bool> taken(m.node_count());
  std::vector<NodeId> chain;
  for (const NodeId first : groups.nodes) {
    chain.clear();
    for (NodeId n = first; n && chain.size() < ops.size();) {
      if (taken[n.index()] || m.node(n).graph != m.main() || !is(n, ops[chain.size()])) break;
      chain.push_back(n);
      n = m.output_count(n) > 0 && m.output(n, 0) ? m.single_user(m.output(n, 0)) : NodeId{};
    }
    if (chain.size() != ops.size()) continue;
    for (const NodeId n : chain) {
      taken[n.index()] = true;
      groups.join(first, n);
    }
  }
}

void join_named(const Model& m, const std::vector<std::string>& names, Groups& groups) {
  std::vector<bool> wanted(m.names.size());
  for (const std::string& name : names)
    if (const NameId id = m.names.find(name)) wanted[id.index()] = true;
  NodeId first;
  for (const NodeId n : groups.nodes) {
    const NameId name = m.node(n).name;
    if (!name || !wanted[name.index()]) continue;
    if (!first) first = n;
    groups.join(first, n);
  }
}

void join_readers(const Model& m, const Inference& inference, AtomicKind kind, Groups& groups) {
  for (const NodeId n : groups.nodes) {
    for (const ValueId v : m.outputs(n)) {
      if (!v) continue;
      const TypeKind type = inference.type_of(v).kind;
      const bool wanted = kind == AtomicKind::Optional ? type == TypeKind::Optional
                                                       : type == TypeKind::Sequence || type == TypeKind::Map;
      if (wanted) each_reader(m, v, [&](NodeId user) { groups.join(n, user); });
    }
  }
}

void join_states(const Model& m, const Inference& inference, Groups& groups) {
  for (const StatePair& pair : state_pairs(m, inference)) {
    const NodeId producer = m.value(m.graph_output(m.main(), pair.output)).def;
    each_reader(m, m.graph_inputs(m.main())[pair.input], [&](NodeId user) { groups.join(producer, user); });
  }
}

// "past_key_values.0.key" -> ".0.key"; the longer beginnings come first.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kStateNames = {
    {{"past_key_values", "present_key_values"},
     {"past_key", "present_key"},
     {"past_value", "present_value"},
     {"past", "present"}}};

}  // namespace

std::vector<StatePair> state_pairs(const Model& m, const Inference& inference) {
  std::unordered_map<std::string_view, std::size_t> outputs;  // looked up only
  for (std::size_t i = 0; i < m.graph_output_count(m.main()); ++i)
    if (const ValueId v = m.graph_output(m.main(), i)) outputs.try_emplace(m.text(m.value(v).name), i);
  std::vector<StatePair> out;
  const std::span<const ValueId> inputs = m.graph_inputs(m.main());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string_view name = m.text(m.value(inputs[i]).name);
    for (const auto& [past, present] : kStateNames) {
      if (!name.starts_with(past)) continue;
      const std::string rest(name.substr(past.size()));
      auto at = outputs.find(std::string(present) + rest);
      if (at == outputs.end() && past == kStateNames.front().first) at = outputs.find("present" + rest);
      if (at == outputs.end()) continue;
      const ValueId v = m.graph_output(m.main(), at->second);
      const bool same = v != inputs[i] && inference.has_rank(v) && inference.has_rank(inputs[i]) &&
                        inference.dtype(v) == inference.dtype(inputs[i]) &&
                        inference.dims(v).size() == inference.dims(inputs[i]).size();
      if (same) out.push_back({i, at->second});
      break;
    }
  }
  return out;
}

std::vector<AtomicGroup> atomic_groups(const Model& m, const Inference& inference, const Profile& profile) {
  std::vector<AtomicGroup> out;
  if (profile.atomic.empty()) return out;
  Groups groups(m);
  for (const AtomicRule& rule : profile.atomic) {
    groups.clear();
    switch (rule.kind) {
      case AtomicKind::Qdq: join_qdq(m, groups); break;
      case AtomicKind::State: join_states(m, inference, groups); break;
      case AtomicKind::Sequence:
      case AtomicKind::Optional: join_readers(m, inference, rule.kind, groups); break;
      case AtomicKind::Chain: join_chains(m, rule.members, groups); break;
      case AtomicKind::Nodes: join_named(m, rule.members, groups); break;
    }
    groups.take(rule.kind, out);
  }
  return out;
}

}  // namespace graphopt
