#include "deploy/make_manifest.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "deploy/make_schedule.h"
#include "deploy/value_types.h"
#include "devices/atomic.h"
#include "ir/type_text.h"
#include "rewrite/cost.h"

namespace graphopt::deploy {
namespace {

using partition::kNone;

UnsupportedReason reason_of(DeviceRefusal refusal) {
  switch (refusal) {
    case DeviceRefusal::NoRule: return UnsupportedReason::Operator;
    case DeviceRefusal::Opset: return UnsupportedReason::Opset;
    case DeviceRefusal::Dtype: return UnsupportedReason::Dtype;
    case DeviceRefusal::Rank: return UnsupportedReason::Rank;
    case DeviceRefusal::DynamicShape: return UnsupportedReason::DynamicShape;
    case DeviceRefusal::Attribute: return UnsupportedReason::Attribute;
    case DeviceRefusal::Constant: return UnsupportedReason::NotConstant;
    case DeviceRefusal::Denied: return UnsupportedReason::Denied;
    case DeviceRefusal::ControlFlow: return UnsupportedReason::ControlFlow;
    default: return UnsupportedReason::Other;
  }
}

bool moves_for_time(MoveReason reason) { return reason == MoveReason::Cost || reason == MoveReason::MinGain; }

// The reason of a move among those of the statistics, which have no words for all of them.
UnsupportedReason unsupported_reason(std::optional<MoveReason> reason) {
  if (!reason) return UnsupportedReason::Atomic;
  if (*reason == MoveReason::Memory) return UnsupportedReason::Memory;
  return moves_for_time(*reason) ? UnsupportedReason::Cost : UnsupportedReason::Other;
}

class Maker {
 public:
  explicit Maker(const ManifestSource& source)
      : s_(source),
        m_(source.model),
        p_(source.partition),
        stated_(source.model, source.types),
        whole_(source.model, source.whole_types),
        number_of_(source.model.value_count(), kNone),
        state_of_(source.model.value_count()),
        reads_(source.model.value_count()),
        above_(source.placement.nodes.size()),
        border_(source.model) {
    readers_.resize(p_.size());
    for (Index i = 0; i < s_.placement.values.size(); ++i) number_of_[s_.placement.values[i].index()] = i;
    for (const StatePair& pair : state_pairs(m_, s_.inference))
      if (const ValueId v = m_.graph_output(m_.main(), pair.output))
        state_of_[v.index()] = m_.graph_inputs(m_.main())[pair.input];
  }

  Manifest run() {
    NetworkIds ids(m_, s_.hashes);
    Manifest out;
    out.tool = {s_.version, s_.options};
    out.network = network(ids);
    out.devices = devices();
    add_partition(out, ids);
    out.groups = groups();
    return out;
  }

  BucketModel bucket() {
    NetworkIds ids(m_, s_.hashes);
    BucketModel out;
    out.nodes = s_.placement.nodes.size();
    add_partition(out, ids);
    return out;
  }

  std::optional<std::uint64_t> whole_peak() {
    ModelPart whole;
    whole.nodes = in_order();
    for (const ValueId v : m_.graph_inputs(m_.main())) whole.inputs.push_back(v);
    for (std::size_t i = 0; i < m_.graph_output_count(m_.main()); ++i)
      if (const ValueId v = m_.graph_output(m_.main(), i)) whole.outputs.push_back(v);
    note_reads(whole);
    return peak_of(whole);
  }

 private:
  void add_partition(PartitionedNetwork& out, NetworkIds& ids) {
    out.partition = plan();
    for (Index s = 0; s < p_.size(); ++s) out.subgraphs.push_back(subgraph(s, ids));
    for (Index s = 0; s < p_.size(); ++s)  // readers are known when all subgraphs are
      out.subgraphs[s].reference_count = readers_[s].size();
    out.borders = std::move(borders_);
    out.statistics = statistics();
    const ScheduleFigures figures = schedule_figures();
    const std::size_t devices = s_.devices.size();
    if (s_.least_memory) out.partition.order = least_memory_order(out, devices, figures);
    out.schedule = make_schedule(out, devices, figures);
  }

  ScheduleFigures schedule_figures() const {
    ScheduleFigures out;
    out.size_of = [this](const std::string& name) { return sizes_.at(name); };
    out.budgets = s_.budgets;
    out.budgets.resize(s_.devices.size());
    for (Index s = 0; s < p_.size(); ++s)
      out.run_ns.push_back(subgraph_ns(s_.placement, p_.devices[s], s_.parts[s]));
    return out;
  }

  std::string name_of(ValueId v) const { return std::string(m_.text(m_.value(v).name)); }
  std::string name_of(NodeId n) const { return std::string(m_.text(m_.node(n).name)); }
  NetworkValue network_value(ValueId v) const { return {name_of(v), value_type(whole_.of(v)), false}; }
  std::span<const Index> readers_of(ValueId v) const {
    const Index i = number_of_[v.index()];
    return i == kNone ? std::span<const Index>{} : s_.placement.problem.readers[i];
  }
  Index subgraph_of(NodeId n) const { return p_.subgraph_of[s_.placement.index[n.index()]]; }

  Network network(NetworkIds& ids) {
    Network out;
    out.id = ids.network(whole_);
    out.source_id = s_.source_id;
    out.name = std::string(m_.text(m_.graph(m_.main()).name));
    out.ir_version = m_.ir_version;
    std::set<std::pair<std::string_view, std::int64_t>> imports;
    for (const OpsetImport& o : m_.opset_tables[0]) imports.emplace(m_.text(o.domain), o.version);
    for (const auto& [domain, version] : imports) out.opset.push_back({std::string(domain), version});
    for (const ValueId v : m_.graph_inputs(m_.main())) {
      NetworkValue& input = out.inputs.emplace_back(network_value(v));
      input.optional = m_.value(v).is_initializer;
      for (const StatedDim& d : whole_.of(v).dims) {
        const auto* name = std::get_if<std::string>(&d);
        if (const DimId symbol = name ? m_.dims.find_symbol(*name) : DimId{})
          out.symbols[*name] = bounds_of(symbol);
      }
    }
    for (std::size_t i = 0; i < m_.graph_output_count(m_.main()); ++i)
      if (const ValueId v = m_.graph_output(m_.main(), i)) out.outputs.push_back(network_value(v));
    return out;
  }

  Bounds bounds_of(DimId d) const {
    const Range range = m_.dims.range(d);
    Bounds out;
    out.min = std::max<std::int64_t>(range.low, 0);
    if (range.high < kMaxInputExtent) out.max = range.high;
    return out;
  }

  std::vector<Device> devices() const {
    std::vector<Device> out;
    for (std::size_t i = 0; i < s_.devices.size(); ++i) {
      const graphopt::Profile& p = s_.devices[i];
      Device& one = out.emplace_back();
      one.id = p.id;
      one.kind = p.kind;
      one.priority = static_cast<std::int64_t>(i);
      one.host = p.host;
      if (!p.sha256.empty()) one.profile = {p.id, p.profile_version, p.sha256};
      if (p.ep.empty()) continue;
      one.ep.emplace().name = p.ep;
      for (const auto& [key, value] : p.ep_options) one.ep->options[key] = value;
    }
    return out;
  }

  PartitionPlan plan() const {
    PartitionPlan out;
    out.algorithm = s_.algorithm;
    out.connected = s_.connected;
    out.lower_bound = p_.bound.all;
    out.proven = p_.proven;
    for (Index s = 0; s < p_.size(); ++s) {
      out.order.push_back(s);
      if (out.stages.size() <= p_.stages[s]) out.stages.resize(p_.stages[s] + 1);
      out.stages[p_.stages[s]].push_back(s);
    }
    for (const partition::Move& move : p_.moves) {
      const std::optional<MoveReason> reason = move_reason(move.reason);
      if (!reason) continue;  // stands among the reasons of refused nodes
      Absorbed& one = out.absorbed.emplace_back();
      one.nodes = move.nodes.size();
      one.from = move.from;
      one.to = move.to;
      one.reason = *reason;
      if (moves_for_time(*reason)) one.saved_ns = move.saved_ns;
    }
    return out;
  }

  Subgraph subgraph(Index s, NetworkIds& ids) {
    const ModelPart& part = s_.parts[s];
    note_reads(part);
    Subgraph out;
    out.id = subgraph_name(s);
    out.device = p_.devices[s];
    out.content = ids.content(part, stated_);
    out.weight_bytes = weight_bytes(part);
    out.components = components(part);
    out.peak_bytes.bytes = peak_of(part);
    for (const NodeId n : part.nodes) out.nodes.push_back(name_of(n));
    std::set<Index> depends;
    for (const ValueId v : part.inputs) {
      PortIn& input = out.inputs.emplace_back();
      input.name = name_of(v);
      input.type = value_type(stated_.of(v));
      note_size(v);
      if (const NodeId producer = m_.value(v).def) {
        input.from = subgraph_of(producer);
        depends.insert(*input.from);
      }
      const Read& read = reads_[v.index()];
      input.capture = read.epoch == epoch_ && !read.is_operand;
    }
    out.depends.assign(depends.begin(), depends.end());
    for (const ValueId v : part.outputs) out.outputs.push_back(output_port(v, s));
    return out;
  }

  PortOut output_port(ValueId v, Index s) {
    PortOut out;
    out.name = name_of(v);
    out.type = value_type(stated_.of(v));
    std::set<Index> to;
    for (const Index reader : readers_of(v))
      if (p_.subgraph_of[reader] != s) to.insert(p_.subgraph_of[reader]);
    for (const Index t : to) {
      readers_[s].insert(t);
      borders_.push_back({out.name, s, t, note_size(v)});
      border_.add(s_.inference, v);
    }
    note_size(v);
    out.to.assign(to.begin(), to.end());
    out.network_output = s_.placement.problem.values[number_of_[v.index()]].network_output;
    if (const ValueId past = state_of_[v.index()]) out.state_of = name_of(past);
    return out;
  }

  const Size& note_size(ValueId v) {
    const auto [at, is_new] = sizes_.try_emplace(name_of(v));
    if (is_new) at->second = size_of(m_, s_.inference, v);
    return at->second;
  }

  std::uint64_t weight_bytes(const ModelPart& part) const {
    std::uint64_t sum = 0;
    for (const ValueId v : part.initializers) {
      const TensorId t = m_.value(v).tensor;
      if (!t) continue;
      const Tensor& tensor = m_.tensor(t);
      sum += raw_size(tensor.dtype, static_cast<std::uint64_t>(tensor.elements)).value_or(0);
    }
    return sum;
  }

  // Calls `see` for each value that the node or a body of it reads: see(value, is_operand).
  template <class See> void each_read(NodeId n, See see) const {
    for (std::size_t i = 0; i < m_.input_count(n); ++i)
      if (const ValueId v = m_.input(n, i)) see(v, true);
    const auto captures = std::ranges::equal_range(s_.placement.captures, s_.placement.index[n.index()], {},
                                                   &std::pair<Index, ValueId>::first);
    for (const auto& [holder, v] : captures) see(v, false);
  }

  // Notes the last reader of each value that the part reads, and which values are operands.
  void note_reads(const ModelPart& part) {
    ++epoch_;
    for (Index i = 0; i < part.nodes.size(); ++i)
      each_read(part.nodes[i], [&](ValueId v, bool is_operand) {
        Read& read = reads_[v.index()];
        if (read.epoch != epoch_) read = {epoch_, i, false};
        read.last = i;
        read.is_operand |= is_operand;
      });
  }

  // Weakly connected pieces: nodes of the part, joined by values that one makes and another reads.
  std::size_t components(const ModelPart& part) {
    const auto find = [this](Index i) {
      while (above_[i] != i) i = above_[i] = above_[above_[i]];
      return i;
    };
    for (const NodeId n : part.nodes) above_[s_.placement.index[n.index()]] = s_.placement.index[n.index()];
    std::size_t count = part.nodes.size();
    for (const NodeId n : part.nodes)
      each_read(n, [&](ValueId v, bool) {
        const NodeId producer = m_.value(v).def;
        if (!producer || m_.node(producer).graph != m_.main() || subgraph_of(producer) != subgraph_of(n))
          return;
        const Index a = find(s_.placement.index[n.index()]), b = find(s_.placement.index[producer.index()]);
        if (a == b) return;
        above_[a] = b;
        --count;
      });
    return count;
  }

  // The most bytes of activations that are needed at once when the nodes run in their order: inputs of the
  // part until their last reader, its outputs to the end. None where a size is not a number.
  std::optional<std::uint64_t> peak_of(const ModelPart& part) const {
    std::uint64_t now = 0, peak = 0;
    bool known = true;
    std::vector<std::uint64_t> freed(part.nodes.size());
    const std::set<ValueId> kept(part.outputs.begin(), part.outputs.end());
    const auto begins = [&](ValueId v, Index at) {
      const auto bytes = value_bytes(m_, s_.inference, v);
      known &= bytes.has_value();
      if (!bytes) return;
      now += *bytes;
      const Read& read = reads_[v.index()];
      if (!kept.contains(v)) freed[read.epoch == epoch_ ? std::max(read.last, at) : at] += *bytes;
    };
    for (const ValueId v : part.inputs)
      if (!m_.value(v).is_initializer && !part.nodes.empty()) begins(v, 0);
    for (Index i = 0; i < part.nodes.size(); ++i) {
      for (const ValueId v : m_.outputs(part.nodes[i]))
        if (v) begins(v, i);
      peak = std::max(peak, now);
      now -= freed[i];
    }
    return known ? std::optional(peak) : std::nullopt;
  }

  // Values of a subgraph that several of its nodes read: the front node's result is needed until the last of
  // them has run.
  std::vector<Group> groups() const {
    std::vector<Group> out;
    for (const NodeId front : in_order())
      for (const ValueId v : m_.outputs(front)) {
        if (!v) continue;
        std::vector<Index> back;
        for (const Index reader : readers_of(v))
          if (p_.subgraph_of[reader] == subgraph_of(front)) back.push_back(reader);
        if (back.size() < 2) continue;
        std::ranges::sort(back, {}, [this](Index i) { return s_.placement.problem.rank[i]; });
        Group& one = out.emplace_back();
        one.subgraph = subgraph_of(front);
        one.value = name_of(v);
        one.front = name_of(front);
        one.reference_count = back.size();
        one.size = size_of(m_, s_.inference, v);
        for (const Index i : back) one.back.push_back(name_of(s_.placement.nodes[i]));
      }
    return out;
  }

  std::vector<NodeId> in_order() const {
    std::vector<NodeId> out;
    for (const ModelPart& part : s_.parts) out.insert(out.end(), part.nodes.begin(), part.nodes.end());
    return out;
  }

  Statistics statistics() const {
    Statistics out;
    out.device_nodes.resize(s_.devices.size());
    std::size_t largest = 0;
    for (Index s = 0; s < p_.size(); ++s) {
      out.device_nodes[p_.devices[s]] += s_.parts[s].nodes.size();
      if (p_.devices[s] + 1 < s_.devices.size()) largest = std::max(largest, s_.parts[s].nodes.size());
    }
    out.nodes = s_.placement.nodes.size();
    out.subgraphs = p_.size();
    out.accelerator_subgraphs = p_.accelerator_count;
    out.border_values = p_.border_values;
    out.border = border_.size();
    out.largest_accelerator_subgraph_nodes = largest;
    out.unsupported = unsupported();
    return out;
  }

  std::vector<Unsupported> unsupported() const {
    std::vector<Unsupported> out;
    for (const RefusedNodes& r : s_.placement.refused)
      out.push_back(
          {static_cast<Index>(r.device), operator_name(m_, r.op), reason_of(r.refusal), r.detail, r.count});
    std::map<std::tuple<Index, partition::Reason, std::string>, std::uint64_t> moved;
    for (const partition::Move& move : p_.moves)
      for (const Index i : move.nodes)
        ++moved[{move.from, move.reason, operator_name(m_, m_.node(s_.placement.nodes[i]).op)}];
    for (const auto& [key, count] : moved) {
      const auto& [from, moved_for, op] = key;
      const std::optional<MoveReason> reason = move_reason(moved_for);
      Unsupported& one = out.emplace_back();
      one.device = from;
      one.op = op;
      one.reason = unsupported_reason(reason);
      one.count = count;
      if (one.reason == UnsupportedReason::Other) one.detail = std::string(word(*reason));
    }
    std::ranges::stable_sort(out, std::ranges::greater{}, &Unsupported::count);
    return out;
  }

  struct Read {
    std::uint32_t epoch = 0;
    Index last = 0;  // position in the part
    bool is_operand = false;
  };

  const ManifestSource& s_;
  Model& m_;
  const partition::Partition& p_;
  StatedTypes stated_, whole_;
  std::vector<Index> number_of_;   // by value: its number in the problem
  std::vector<ValueId> state_of_;  // by value: the input that it feeds in the next run
  std::vector<Read> reads_;        // by value: of the part with this epoch
  std::vector<Index> above_;       // by node of the problem: union-find
  std::uint32_t epoch_ = 0;
  std::vector<std::set<Index>> readers_;  // by subgraph: the subgraphs that read from it
  std::vector<Border> borders_;
  std::map<std::string, Size> sizes_;  // of values that cross between subgraphs, and of the network's
  SizeSum border_;
};

}  // namespace

std::optional<MoveReason> move_reason(partition::Reason reason) {
  switch (reason) {
    case partition::Reason::Atomic: return std::nullopt;
    case partition::Reason::Cost: return MoveReason::Cost;
    case partition::Reason::MinNodes: return MoveReason::MinNodes;
    case partition::Reason::MaxSubgraphs: return MoveReason::MaxSubgraphs;
    case partition::Reason::MinGain: return MoveReason::MinGain;
    case partition::Reason::Memory: break;
  }
  return MoveReason::Memory;
}

Manifest make_manifest(const ManifestSource& source) { return Maker(source).run(); }

BucketModel make_bucket_model(const ManifestSource& source, std::span<const std::int64_t> at,
                              std::optional<std::uint64_t> peak_bytes) {
  BucketModel out = Maker(source).bucket();
  out.at.assign(at.begin(), at.end());
  out.peak_bytes = peak_bytes;
  return out;
}

std::optional<std::uint64_t> peak_bytes(const ManifestSource& source) { return Maker(source).whole_peak(); }

std::optional<std::uint64_t> subgraph_ns(const Placement& placement, Index device, const ModelPart& part) {
  const partition::Problem& problem = placement.problem;
  const auto& cost = problem.devices[device].cost;
  if (!cost) return std::nullopt;
  std::uint64_t out = cost->launch_ns;
  if (problem.node_ns.empty()) return out;
  for (const NodeId n : part.nodes)
    out += problem.node_ns[std::size_t{placement.index[n.index()]} * problem.devices.size() + device];
  return out;
}

std::string subgraph_name(std::size_t i) { return "s" + std::to_string(i); }

}  // namespace graphopt::deploy
