#include "execution/plan.h"

#include <algorithm>

#include "schedule/facts.h"

namespace graphopt::execution {
namespace {

// Returns false where the sum is kMostPlanBytes or more.
bool add_bytes(std::uint64_t bytes, std::uint64_t& sum) {
  if (bytes >= kMostPlanBytes - sum) return false;
  sum += bytes;
  return true;
}

}  // namespace

std::optional<Plan> Plan::make(const schedule::Problem& problem, const schedule::Order& order,
                               schedule::Retain retain) {
  Plan out;
  out.order_ = order;
  out.devices_ = problem.devices;
  out.uses_.resize(problem.devices);
  out.subgraphs_.resize(problem.subgraphs.size());
  out.values_.resize(problem.values.size());
  const std::vector<Index> places = schedule::places_of(order);
  std::uint64_t sum = 0;
  for (Index s = 0; s < problem.subgraphs.size(); ++s) {
    PlannedSubgraph& to = out.subgraphs_[s];
    to.device = problem.subgraphs[s].device;
    to.place = places[s];
    to.workspace = to.needed = problem.subgraphs[s].workspace_bytes;
    out.uses_[to.device] = true;
    if (!add_bytes(to.workspace, sum)) return std::nullopt;
  }
  for (Index v = 0; v < problem.values.size(); ++v) {
    const schedule::Value& from = problem.values[v];
    PlannedValue& to = out.values_[v];
    to.network_input = !from.from;
    to.network_output = from.network_output;
    to.reads = from.to.size();
    // Those of one device one after the other, in the order.
    std::vector<Index> readers = from.to;
    std::ranges::sort(readers, {}, [&](Index s) { return std::pair(out.subgraphs_[s].device, places[s]); });
    const auto copy_on = [&](Index device) {
      if (!to.copies.empty() && out.copies_[to.copies.back()].device == device) return to.copies.back();
      const auto number = static_cast<Index>(out.copies_.size());
      out.copies_.push_back({v, device, from.bytes.value_or(0), {}});
      to.copies.push_back(number);
      return number;
    };
    for (const Index s : readers) {
      const Index copy = copy_on(out.subgraphs_[s].device);
      out.copies_[copy].reads.push_back(places[s]);
      out.subgraphs_[s].inputs.push_back(copy);
    }
    if (from.from) {
      PlannedSubgraph& producer = out.subgraphs_[*from.from];
      const auto at_home =
          std::ranges::find(to.copies, producer.device, [&](Index copy) { return out.copies_[copy].device; });
      const bool is_read_at_home = at_home != to.copies.end();
      producer.outputs.push_back(is_read_at_home ? *at_home : copy_on(producer.device));
      const std::size_t elsewhere = to.copies.size() - 1;
      if (from.network_output || elsewhere > 0 || retain == schedule::Retain::All)
        producer.stores.push_back(v);
      for (const Index s : from.to) producer.consumers.push_back(s);
    }
    if (!from.bytes) out.has_sizes_ = false;
    for (std::size_t i = 0; i < to.copies.size(); ++i)
      if (!add_bytes(from.bytes.value_or(0), sum)) return std::nullopt;
  }
  for (PlannedSubgraph& s : out.subgraphs_) {
    std::ranges::sort(s.consumers);
    s.consumers.erase(std::ranges::unique(s.consumers).begin(), s.consumers.end());
    for (const Index reader : s.consumers) ++out.subgraphs_[reader].producers;
    for (const std::vector<Index>* copies : {&s.inputs, &s.outputs})
      for (const Index copy : *copies) s.needed += out.copies_[copy].bytes;
  }
  return out;
}

std::optional<Index> Plan::misfit(std::span<const std::optional<std::uint64_t>> budgets) const {
  for (const Index s : order_) {
    const std::optional<std::uint64_t>& budget = budgets[subgraphs_[s].device];
    if (budget && (!has_sizes_ || subgraphs_[s].needed > *budget)) return s;
  }
  return std::nullopt;
}

std::size_t Plan::longest_way() const {
  std::vector<std::size_t> ways(subgraphs_.size(), 1);
  std::size_t out = 0;
  for (const Index s : order_) {
    out = std::max(out, ways[s]);
    for (const Index reader : subgraphs_[s].consumers) ways[reader] = std::max(ways[reader], ways[s] + 1);
  }
  return out;
}

}  // namespace graphopt::execution
