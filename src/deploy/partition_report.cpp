#include "deploy/partition_report.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "deploy/make_manifest.h"
#include "infer/multiply_adds.h"
#include "ir/type_text.h"
#include "regions/region_functions.h"
#include "schedule/throughput.h"

namespace graphopt {
namespace {

void fill_report(const Model& m, const Partitioned& p, PartitionStage::Report& report) {
  for (const Profile& profile : p.devices) {
    PartitionStage::Device& device = report.devices.emplace_back();
    device.id = profile.id;
    device.host = profile.host;
  }
  const partition::Problem& problem = p.placement.problem;
  for (std::size_t s = 0; s < p.parts.size(); ++s) {
    const ModelPart& part = p.parts[s];
    PartitionStage::Device& device = report.devices[p.partition.devices[s]];
    device.nodes += part.nodes.size();
    ++device.subgraphs;
    PartitionStage::Subgraph& sub = report.subgraphs.emplace_back();
    sub.id = deploy::subgraph_name(s);
    sub.device = device.id;
    sub.nodes = part.nodes.size();
    sub.inputs = static_cast<std::uint64_t>(
        std::ranges::count_if(part.inputs, [&](ValueId v) { return m.value(v).def.valid(); }));
    sub.first = place_of(m, part.nodes.front()).node;
  }
  bool known = true;
  for (std::size_t i = 0; i < problem.values.size(); ++i) {
    const partition::Index from = p.partition.subgraph_of[problem.values[i].producer];
    bool crosses = false;
    for (const partition::Index reader : problem.readers[i])
      crosses |= p.partition.subgraph_of[reader] != from;
    if (!crosses) continue;
    ++report.subgraphs[from].outputs;
    known &= p.placement.known_size[i];
  }
  if (known) report.border_bytes = p.partition.border_bytes;
  report.border_values = p.partition.border_values;
  report.switches = p.partition.bound.all;
  report.proven = p.partition.proven;
}

void fill_work(Model& m, const Inference& inference, const Partitioned& p, PartitionStage::Report& report) {
  std::vector<std::vector<NodeId>> nodes(p.devices.size());
  for (std::size_t s = 0; s < p.parts.size(); ++s) {
    std::vector<NodeId>& of = nodes[p.partition.devices[s]];
    of.insert(of.end(), p.parts[s].nodes.begin(), p.parts[s].nodes.end());
  }
  std::vector<std::optional<std::int64_t>> counts;
  double all = 0;
  for (std::size_t d = 0; d < nodes.size(); ++d) {
    const MultiplyAdds work = multiply_adds(m, inference, nodes[d]);
    if (work.count) report.devices[d].multiply_adds = m.dims.print(work.count);
    report.devices[d].uncounted_nodes = work.unknown;
    counts.push_back(work.count ? m.dims.value(work.count) : std::nullopt);
    if (counts.back()) all += static_cast<double>(*counts.back());
  }
  if (all == 0 || std::ranges::any_of(counts, [](const auto& count) { return !count; })) return;
  for (std::size_t d = 0; d < counts.size(); ++d)
    report.devices[d].work = static_cast<double>(*counts[d]) / all;
}

void fill_refused(const Model& m, const Partitioned& p, PartitionStage::Report& report) {
  for (const RefusedNodes& r : p.placement.refused)
    report.refused.push_back({p.devices[r.device].id, operator_name(m, r.op), r.refusal, r.detail, r.count});
}

void fill_moved(const Partitioned& p, PartitionStage::Report& report) {
  std::map<std::tuple<partition::Index, partition::Index, MoveReason>, std::size_t> at;
  for (const partition::Move& move : p.partition.moves) {
    const std::optional<MoveReason> reason = deploy::move_reason(move.reason);
    if (!reason) continue;  // it is among the reasons of refused nodes
    const auto [entry, added] = at.try_emplace({move.from, move.to, *reason}, report.moved.size());
    if (added) report.moved.push_back({p.devices[move.from].id, p.devices[move.to].id, *reason, 0});
    report.moved[entry->second].count += move.nodes.size();
  }
}

// Says of which devices a limit of memory could not be checked, since sizes are no numbers.
void warn_of_unchecked_memory(const Partitioned& p, std::vector<std::string>& out) {
  const partition::Problem& problem = p.placement.problem;
  std::vector<std::uint64_t> unknown(p.devices.size());
  for (std::size_t i = 0; i < problem.values.size(); ++i) {
    if (p.placement.known_size[i]) continue;
    std::set<partition::Index> devices;
    if (problem.values[i].producer != partition::kNone)
      devices.insert(p.partition.devices[p.partition.subgraph_of[problem.values[i].producer]]);
    for (const partition::Index reader : problem.readers[i])
      devices.insert(p.partition.devices[p.partition.subgraph_of[reader]]);
    for (const partition::Index d : devices) ++unknown[d];
  }
  for (std::size_t d = 0; d < p.devices.size(); ++d)
    if (p.devices[d].memory_bytes && unknown[d] > 0)
      out.push_back(p.devices[d].file + ": memory_bytes is not checked in full: in subgraphs on " +
                    p.devices[d].id + " the size of " + std::to_string(unknown[d]) +
                    (unknown[d] == 1 ? " value" : " values") +
                    " is not known, and counts with the least that the dims allow (give --dim)");
}

// Functions of regions hide from the profiles what they hold.
void warn_of_hidden_operators(const Model& m, const Partitioned& p, std::vector<std::string>& out) {
  std::uint64_t calls = 0;
  for (const RefusedNodes& r : p.placement.refused)
    if (m.text(m.op(r.op).domain) == kRegionDomain) calls += r.count;
  if (calls > 0)
    out.push_back(m.file +
                  ": --regions functions: regions are calls of functions, which profiles refuse whatever "
                  "operators are inside: " +
                  std::to_string(calls) +
                  " here (leave out --regions functions, or give --regions metadata)");
}

// Says where overlapped requests would gain little, since one device has nearly all of the work.
void warn_of_little_overlap(const Model& m, const Partitioned& p, std::vector<std::string>& out) {
  constexpr std::uint64_t kLittlePercent = 110;
  schedule::Problem problem;
  problem.devices = static_cast<schedule::Index>(p.devices.size());
  for (std::size_t s = 0; s < p.parts.size(); ++s) {
    schedule::Subgraph& subgraph = problem.subgraphs.emplace_back();
    subgraph.device = p.partition.devices[s];
    subgraph.ns = deploy::subgraph_ns(p.placement, subgraph.device, p.parts[s]);
  }
  const std::vector<std::uint64_t> workers(p.devices.size(), 1);
  const auto found = schedule::throughput(problem, {}, workers);
  if (!found || found->limit_percent >= kLittlePercent) return;
  const auto works = [](std::uint64_t ns) { return ns > 0; };
  if (std::ranges::count_if(found->load_ns, works) < 2) return;
  std::size_t largest = 0, subgraphs = 0;
  std::uint64_t most = 0;
  for (std::size_t s = 0; s < problem.subgraphs.size(); ++s) {
    if (problem.subgraphs[s].device != found->bottleneck) continue;
    ++subgraphs;
    if (*problem.subgraphs[s].ns <= most) continue;
    most = *problem.subgraphs[s].ns;
    largest = s;
  }
  const std::string cents = std::to_string(found->limit_percent % 100);  // of 100 to 109
  const std::string work = subgraphs == 1 ? deploy::subgraph_name(largest)
                                          : std::to_string(subgraphs) + " subgraphs, the largest of them " +
                                                deploy::subgraph_name(largest) + ',';
  out.push_back(m.file +
                ": --devices: by the costs of the profiles overlapped requests are answered at most " + "1." +
                (cents.size() < 2 ? "0" : "") + cents + " times as fast as one after the other: " + work +
                " on " + p.devices[found->bottleneck].id + (subgraphs == 1 ? " has " : " have ") +
                std::to_string(found->load_ns[found->bottleneck] * 100 /
                               std::reduce(found->load_ns.begin(), found->load_ns.end())) +
                " % of the work (throughput in docs/manifest.md)");
}

std::string and_more(std::size_t count) {
  return count == 1 ? "" : " and " + std::to_string(count - 1) + " more";
}

}  // namespace

std::string why_moved(const Partitioned& p, NodeId n, std::size_t device) {
  const partition::Index i = p.placement.index[n.index()];
  for (const partition::Move& move : p.partition.moves) {
    if (move.from != device || std::ranges::find(move.nodes, i) == move.nodes.end()) continue;
    switch (move.reason) {
      case partition::Reason::Cost: return "it is estimated to take less time elsewhere";
      case partition::Reason::MinNodes: return "its subgraph would have fewer nodes than min_nodes";
      case partition::Reason::MaxSubgraphs: return "the device would have more subgraphs than max_subgraphs";
      case partition::Reason::Memory: return "it does not fit into the device's memory";
      case partition::Reason::MinGain: return "its subgraph would save less time than --min-gain asks for";
      case partition::Reason::Atomic: break;
    }
    switch (move.kind) {
      case partition::GroupKind::NotTensor:
        return "a sequence, an optional or a map, which no border can carry, is between it and a node of "
               "another device";
      case partition::GroupKind::UnknownRank:
        return "a value of unknown rank, which no border can carry, is between it and a node of another "
               "device";
      default: break;
    }
  }
  return "it must stay with nodes that another device takes";
}

void describe_partition(Model& m, const Inference& inference, const Partitioned& p,
                        PartitionStage::Report& report) {
  fill_report(m, p, report);
  fill_work(m, inference, p, report);
  fill_refused(m, p, report);
  fill_moved(p, report);
}

std::vector<std::string> partition_warnings(const Model& m, const Partitioned& p) {
  std::vector<std::string> out;
  warn_of_unchecked_memory(p, out);
  warn_of_hidden_operators(m, p, out);
  warn_of_little_overlap(m, p, out);
  return out;
}

std::vector<std::string> describe_given(const Model& m, const Partitioned& p, const Assignments& assigned,
                                        PartitionStage::Report& report) {
  std::vector<std::string> out;
  const auto stays = [&](NodeId n) {
    const partition::Index s = p.partition.subgraph_of[p.placement.index[n.index()]];
    return assigned[n.index()] == p.partition.devices[s];
  };
  std::uint64_t given = 0;
  std::vector<NodeId> moved;
  for (const ModelPart& part : p.parts)
    for (const NodeId n : part.nodes) {
      if (n.index() >= assigned.size() || assigned[n.index()] == kNotAssigned) continue;
      if (stays(n)) ++given;
      else moved.push_back(n);
    }
  report.given = given;
  const auto place = [&m](NodeId n) { return to_string(place_of(m, n)) + ": --assignment given: "; };
  if (!moved.empty())
    out.push_back(place(moved[0]) + "this node" + and_more(moved.size()) +
                  " cannot run on the device that the model names: " +
                  why_moved(p, moved[0], assigned[moved[0].index()]));
  std::vector<const OverruledNode*> refused;
  for (const OverruledNode& o : p.placement.overruled)
    if (stays(o.node)) refused.push_back(&o);
  if (refused.empty()) return out;
  const OverruledNode& first = *refused[0];
  const bool one = refused.size() == 1;
  out.push_back(place(first.node) + "this node" + and_more(refused.size()) +
                (one ? " runs on " : " run on ") + p.devices[first.device].id +
                ", as the model says, though the profile refuses " + (one ? "it (" : "them (") +
                first.detail + ')');
  return out;
}

}  // namespace graphopt
