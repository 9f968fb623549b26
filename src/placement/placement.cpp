#include "placement/placement.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "devices/atomic.h"
#include "ir/canonical_order.h"
#include "placement/node_times.h"
#include "rewrite/cost.h"

namespace graphopt {
namespace {

using partition::Group;
using partition::GroupKind;
using partition::Index;
using partition::kNone;

constexpr std::size_t kMostExplained = 1000;  // of overruled nodes

GroupKind kind_of(AtomicKind kind) {
  switch (kind) {
    case AtomicKind::Qdq: return GroupKind::Quantization;
    case AtomicKind::State: return GroupKind::State;
    case AtomicKind::Sequence:
    case AtomicKind::Optional: return GroupKind::NotTensor;
    case AtomicKind::Chain:
    case AtomicKind::Nodes: break;
  }
  return GroupKind::User;
}

// What no border can carry: a value that is no tensor, or whose element type or rank is not known.
std::optional<GroupKind> what_stays_inside(const Type& type) {
  switch (type.kind) {
    case TypeKind::Sequence:
    case TypeKind::Optional:
    case TypeKind::Map: return GroupKind::NotTensor;
    case TypeKind::Tensor:
    case TypeKind::SparseTensor:
      if (type.elem != DType::Undefined && type.has_rank) return std::nullopt;
      return GroupKind::UnknownRank;
    default: return GroupKind::UnknownRank;
  }
}

std::optional<std::uint64_t> positive(std::optional<std::int64_t> v) {
  return v && *v > 0 ? std::optional(static_cast<std::uint64_t>(*v)) : std::nullopt;
}

class Placer {
 public:
  Placer(Model& m, const Inference& inference, std::span<const Profile> devices,
         std::span<const Assignment> assigned)
      : m_(m), inference_(inference), devices_(devices), assigned_(assigned) {
    out_.index.assign(m.node_count(), kNone);
  }

  Placement run() {
    number_nodes();
    find_support();
    find_values();
    find_groups();
    describe_devices();
    return std::move(out_);
  }

 private:
  void number_nodes() {
    CanonicalOrder canonical(m_);
    canonical.compute(m_.main());
    for (const NodeId n : canonical.nodes()) {
      out_.index[n.index()] = static_cast<Index>(out_.nodes.size());
      out_.nodes.push_back(n);
    }
    std::uint32_t most = 0;  // ranks are distinct, not dense
    for (const NodeId n : out_.nodes) most = std::max(most, canonical.rank(n));
    std::vector<Index> by_rank(out_.nodes.empty() ? 0 : std::size_t{most} + 1, kNone);
    for (std::size_t i = 0; i < out_.nodes.size(); ++i)
      by_rank[canonical.rank(out_.nodes[i])] = static_cast<Index>(i);
    out_.problem.rank.resize(out_.nodes.size());
    Index rank = 0;
    for (const Index i : by_rank)
      if (i != kNone) out_.problem.rank[i] = rank++;
    for (Index i = 0; i < out_.nodes.size(); ++i)
      for (const auto& [holder, v] : canonical.captures_of(out_.nodes[i])) out_.captures.emplace_back(i, v);
    std::ranges::stable_sort(out_.captures, {}, [this](const auto& capture) {
      const Value& v = m_.value(capture.second);
      return std::tuple(capture.first, v.def ? out_.rank_of(v.def) : kNone, v.def_slot);
    });
  }

  Assignment assigned(NodeId n) const {
    return n.index() < assigned_.size() ? assigned_[n.index()] : kNotAssigned;
  }

  // Nodes share few lists of devices. A Constant node that is left goes wherever its readers go.
  void find_support() {
    const std::size_t host = devices_.size() - 1;
    std::vector<std::vector<Index>> lists(out_.nodes.size());
    std::map<std::tuple<std::size_t, OpId, DeviceRefusal>, RefusedNodes> refused;
    for (std::size_t d = 0; d < host; ++d) {
      Support support(devices_[d], m_, inference_);
      const std::vector<Verdict> verdicts = support.check_all();
      for (std::size_t i = 0; i < out_.nodes.size(); ++i) {
        const NodeId n = out_.nodes[i];
        const Verdict& verdict = verdicts[n.index()];
        const bool takes = verdict.supported() || m_.kind(n) == OpKind::Constant;
        const Assignment given = assigned(n);
        if (given != kNotAssigned && given != d) continue;
        if (takes || given == d) lists[i].push_back(static_cast<Index>(d));
        if (takes) continue;
        if (given == d) {
          const bool told = out_.overruled.size() < kMostExplained;
          out_.overruled.push_back({n, d, told ? support.explain(n, verdict) : std::string()});
          continue;
        }
        RefusedNodes& entry = refused[{d, m_.node(n).op, verdict.refusal}];
        if (entry.count++ > 0) continue;
        entry = {d, m_.node(n).op, verdict.refusal, n, support.explain(n, verdict), 1};
      }
    }
    std::map<std::vector<Index>, Index> rows;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const auto [row, is_new] = rows.emplace(lists[i], static_cast<Index>(rows.size()));
      if (is_new) out_.problem.supports.add_row(lists[i]);
      out_.problem.support_of.push_back(row->second);
    }
    for (auto& [key, entry] : refused) out_.refused.push_back(std::move(entry));
    std::ranges::sort(out_.refused, [this](const RefusedNodes& a, const RefusedNodes& b) {
      if (a.count != b.count) return a.count > b.count;
      if (a.device != b.device) return a.device < b.device;
      return out_.index[a.first.index()] < out_.index[b.first.index()];
    });
  }

  // Edges, values and weights. A node in a body reads for the node of the main graph that holds it.
  void find_values() {
    std::vector<std::vector<Index>> producers(out_.nodes.size()), weights(out_.nodes.size());
    std::vector<Index> readers;
    for (std::size_t i = 0; i < out_.nodes.size(); ++i)
      for (const ValueId v : m_.outputs(out_.nodes[i])) {
        if (!v) continue;
        partition::Value value{.producer = static_cast<Index>(i), .bytes = 1, .network_output = false};
        find_readers(v, readers, value.network_output);
        if (readers.empty() && !value.network_output) continue;
        for (const Index reader : readers) producers[reader].push_back(value.producer);
        const auto bytes = value_bytes(m_, inference_, v);
        if (bytes) value.bytes = *bytes;
        else value.least_bytes = least_value_bytes(m_, inference_, v);
        out_.values.push_back(v);
        out_.known_size.push_back(bytes.has_value());
        out_.problem.values.push_back(value);
        out_.problem.readers.add_row(readers);
        if (const auto kind = readers.empty() ? std::nullopt : what_stays_inside(inference_.type_of(v))) {
          Group& group = out_.problem.groups.emplace_back(Group{*kind, {value.producer}});
          group.nodes.insert(group.nodes.end(), readers.begin(), readers.end());
        }
      }
    for (const ValueId v : m_.graph(m_.main()).initializers) {
      if (!m_.alive(v) || !m_.value(v).tensor) continue;
      bool returned = false;
      find_readers(v, readers, returned);
      if (readers.empty()) continue;
      const Tensor& tensor = m_.tensor(m_.value(v).tensor);
      const auto weight = static_cast<Index>(out_.problem.weight_bytes.size());
      out_.problem.weight_bytes.push_back(
          raw_size(tensor.dtype, static_cast<std::uint64_t>(tensor.elements)).value_or(0));
      for (const Index reader : readers) weights[reader].push_back(weight);
    }
    for (const auto& list : producers) out_.problem.producers.add_row(list);
    for (const auto& list : weights) out_.problem.weights.add_row(list);
  }

  // The nodes of the main graph that read v, each once, in the order of the graph.
  void find_readers(ValueId v, std::vector<Index>& readers, bool& returned) const {
    readers.clear();
    for (UseId u = m_.first_use(v); u; u = m_.next_use(u)) {
      NodeId user = m_.user(u);
      if (m_.node(user).graph != m_.main()) user = m_.ancestor_in(m_.main(), user);
      if (user && m_.is_return(user)) returned = true;
      else if (user) readers.push_back(out_.index[user.index()]);
    }
    std::ranges::sort(readers);
    const auto rest = std::ranges::unique(readers);
    readers.erase(rest.begin(), rest.end());
  }

  void find_groups() {
    for (std::size_t d = 0; d + 1 < devices_.size(); ++d)
      for (const AtomicGroup& group : atomic_groups(m_, inference_, devices_[d])) {
        if (assigned_apart(group.nodes)) continue;
        Group& made = out_.problem.groups.emplace_back(Group{kind_of(group.kind), {}});
        for (const NodeId n : group.nodes) made.nodes.push_back(out_.index[n.index()]);
      }
  }

  // What a profile wants together, and the model puts on two devices, is apart. (What no border can carry
  // stays together.)
  bool assigned_apart(std::span<const NodeId> nodes) const {
    Assignment one = kNotAssigned;
    for (const NodeId n : nodes) {
      const Assignment a = assigned(n);
      if (a != kNotAssigned && one != kNotAssigned && a != one) return true;
      if (a != kNotAssigned) one = a;
    }
    return false;
  }

  void describe_devices() {
    for (const Profile& p : devices_) {
      partition::Device& device = out_.problem.devices.emplace_back();
      device.connected = p.connected;
      device.min_nodes = static_cast<Index>(std::min<std::int64_t>(p.min_nodes, kNone - 1));
      if (p.max_subgraphs)
        device.max_subgraphs = static_cast<Index>(std::min<std::int64_t>(*p.max_subgraphs, kNone - 1));
      if (p.memory_bytes) device.memory_bytes = static_cast<std::uint64_t>(*p.memory_bytes);
      if (!knows_costs(p) || !knows_costs(devices_.back())) continue;
      partition::DeviceCost& cost = device.cost.emplace();
      cost.launch_ns = static_cast<std::uint64_t>(p.launch_ns);
      cost.latency_ns = static_cast<std::uint64_t>(p.transfer_latency_ns);
      cost.to_bytes_per_s = positive(p.to_device_bytes_per_s).value_or(0);
      cost.from_bytes_per_s = positive(p.from_device_bytes_per_s).value_or(0);
    }
    out_.problem.node_ns = node_times(m_, inference_, devices_, out_.nodes);
  }

  Model& m_;
  const Inference& inference_;
  std::span<const Profile> devices_;
  std::span<const Assignment> assigned_;
  Placement out_;
};

}  // namespace

Placement place(Model& m, const Inference& inference, std::span<const Profile> devices,
                std::span<const Assignment> assigned) {
  return Placer(m, inference, devices, assigned).run();
}

}  // namespace graphopt
