#include "deploy/make_schedule.h"

#include <algorithm>
#include <map>
#include <utility>

#include "schedule/facts.h"
#include "schedule/least_memory.h"
#include "schedule/memory.h"
#include "schedule/throughput.h"

namespace graphopt::deploy {
namespace {

class Scheduler {
 public:
  Scheduler(const PartitionedNetwork& network, std::size_t devices, const ScheduleFigures& figures)
      : n_(network), figures_(figures) {
    p_.devices = static_cast<Index>(devices);
    p_.subgraphs.resize(n_.subgraphs.size());
    add_values();
    for (Index s = 0; s < n_.subgraphs.size(); ++s) finish(s);
  }

  std::vector<Index> least_memory() const { return schedule::least_memory_order(p_); }

  Schedule run() {
    Schedule out;
    out.groups = schedule::groups(p_, n_.partition.order);
    const std::vector<schedule::Lifetime> lives = schedule::lifetimes(p_, n_.partition.order);
    for (Index v = 0; v < lives.size(); ++v) {
      values_[v].reference_count = lives[v].reference_count;
      values_[v].first = lives[v].first;
      values_[v].last = lives[v].last;
    }
    out.values = std::move(values_);
    for (Index d = 0; d < p_.devices; ++d)
      if (std::ranges::any_of(n_.subgraphs, [d](const Subgraph& s) { return s.device == d; }))
        out.memory.push_back(memory_of(d));
    const std::vector<std::uint64_t> workers(p_.devices, 1);
    out.throughput = schedule::throughput(p_, n_.partition.order, workers);
    return out;
  }

  ScheduleProblem problem() && { return {std::move(p_), std::move(values_)}; }

 private:
  // Inputs of the network in the order in which subgraphs name them, then results.
  void add_values() {
    for (Index s = 0; s < n_.subgraphs.size(); ++s)
      for (const PortIn& v : n_.subgraphs[s].inputs) {
        if (v.from) continue;
        const Index number = add(v.name);
        values_[number].to.push_back(s);
        p_.values[number].to.push_back(s);
      }
    for (Index s = 0; s < n_.subgraphs.size(); ++s)
      for (const PortOut& v : n_.subgraphs[s].outputs) {
        const Index number = add(v.name);
        ScheduledValue& value = values_[number];
        value.from = p_.values[number].from = s;
        value.to = v.to;
        std::ranges::sort(value.to);
        p_.values[number].to = value.to;
        p_.values[number].network_output = v.network_output;
        p_.subgraphs[s].outputs.push_back(number);
      }
  }

  Index add(const std::string& name) {
    const auto [at, is_new] = number_.try_emplace(name, static_cast<Index>(values_.size()));
    if (is_new) {
      ScheduledValue& value = values_.emplace_back();
      value.name = name;
      value.size = figures_.size_of(name);
      p_.values.emplace_back().bytes = value.size.bytes;
    }
    return at->second;
  }

  void finish(Index s) {
    schedule::Subgraph& to = p_.subgraphs[s];
    const Subgraph& from = n_.subgraphs[s];
    to.device = from.device;
    for (const PortIn& v : from.inputs) to.inputs.push_back(number_.at(v.name));
    to.ns = figures_.run_ns[s];
    if (!from.peak_bytes.bytes) return;
    std::uint64_t rest = *from.peak_bytes.bytes;
    for (const std::vector<Index>* values : {&to.inputs, &to.outputs})
      for (const Index v : *values) rest -= std::min(rest, p_.values[v].bytes.value_or(rest));
    to.workspace_bytes = rest;
  }

  DeviceMemory memory_of(Index device) const {
    DeviceMemory out;
    out.device = device;
    out.budget = figures_.budgets[device];
    for (const Subgraph& s : n_.subgraphs)
      if (s.device == device) out.weight_bytes += s.weight_bytes;
    const auto free = schedule::account(p_, n_.partition.order, device);
    if (!free) return out;
    out.peak = free->peak;
    out.peak_at = n_.partition.order[free->peak_at];
    const auto bound = schedule::account(p_, n_.partition.order, device, {.budget = out.budget});
    if (!bound || bound->misfit) return out;
    out.spills.emplace();
    for (const schedule::Step& step : bound->steps)
      if (step.event == schedule::Event::Evict)
        out.spills->push_back({step.what, n_.partition.order[step.place]});
    return out;
  }

  const PartitionedNetwork& n_;
  const ScheduleFigures& figures_;
  schedule::Problem p_;
  std::vector<ScheduledValue> values_;
  std::map<std::string, Index> number_;
};

}  // namespace

ScheduleProblem schedule_problem(const PartitionedNetwork& network, std::size_t devices,
                                 const ScheduleFigures& figures) {
  return Scheduler(network, devices, figures).problem();
}

Schedule make_schedule(const PartitionedNetwork& network, std::size_t devices,
                       const ScheduleFigures& figures) {
  return Scheduler(network, devices, figures).run();
}

std::vector<Index> least_memory_order(const PartitionedNetwork& network, std::size_t devices,
                                      const ScheduleFigures& figures) {
  return Scheduler(network, devices, figures).least_memory();
}

}  // namespace graphopt::deploy
