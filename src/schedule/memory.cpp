#include "schedule/memory.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

#include "schedule/facts.h"

namespace graphopt::schedule {
namespace {

constexpr Index kNever = std::numeric_limits<Index>::max();

class Accountant {
 public:
  Accountant(const Problem& p, const Order& order, Index device, const AccountOptions& options)
      : p_(p), order_(order), device_(device), options_(options), values_(p.values.size()) {
    const std::vector<Index> place = places_of(order);
    for (Index v = 0; v < p.values.size(); ++v) {
      const Value& value = p.values[v];
      State& s = values_[v];
      for (const Index reader : value.to)
        if (p.subgraphs[reader].device == device) s.reads.push_back(place[reader]);
      std::ranges::sort(s.reads);
      s.on_host = !value.from.has_value();
      s.host_needs_it = value.network_output || s.reads.size() < value.to.size();
    }
  }

  std::optional<Account> run() {
    for (Index at = 0; at < order_.size(); ++at) {
      const Subgraph& s = p_.subgraphs[order_[at]];
      at_ = at;
      if (s.device != device_) {
        for (const Index v : s.outputs) values_[v].on_host = true;
        continue;
      }
      if (!knows_sizes(s)) return std::nullopt;
      if (out_.steps.empty()) out_.peak_at = at;
      if (!start(s)) break;
      end(s);
    }
    return std::move(out_);
  }

 private:
  struct State {
    std::vector<Index> reads;  // places of its readers on the device, ascending
    std::size_t next = 0;      // into reads: the first that has not run
    bool on_device = false, on_host = false, host_needs_it = false;
  };
  using Key = std::tuple<Index, std::uint64_t, Index>;  // next use, bytes, value

  std::uint64_t bytes(Index v) const { return p_.values[v].bytes.value_or(0); }
  Key key_of(Index v) const {
    const State& s = values_[v];
    return {s.next < s.reads.size() ? s.reads[s.next] : kNever, bytes(v), v};
  }
  void note(Event event, Index what) { out_.steps.push_back({event, what, at_}); }

  bool knows_sizes(const Subgraph& s) const {
    const auto is_known = [this](Index v) { return p_.values[v].bytes.has_value(); };
    return std::ranges::all_of(s.inputs, is_known) && std::ranges::all_of(s.outputs, is_known);
  }

  void see_peak(std::uint64_t workspace) {
    if (now_ + workspace <= out_.peak) return;
    out_.peak = now_ + workspace;
    out_.peak_at = at_;
  }

  void enter(Index v) {
    values_[v].on_device = true;
    on_device_.insert(key_of(v));
    now_ += bytes(v);
  }

  void leave(Index v, Event event) {
    on_device_.erase(key_of(v));
    values_[v].on_device = false;
    now_ -= bytes(v);
    note(event, v);
  }

  void store(Index v, Event event) {
    if (values_[v].on_host) return;
    values_[v].on_host = true;
    out_.stored_bytes += bytes(v);
    note(event, v);
  }

  // Inputs of the subgraph have their next use at this place, and so before all others; they stay.
  bool make_room(std::uint64_t needed) {
    while (options_.budget && (now_ > *options_.budget || needed > *options_.budget - now_)) {
      if (on_device_.empty() || std::get<0>(*on_device_.rbegin()) == at_) {
        out_.misfit = Misfit{order_[at_], needed, now_, *options_.budget};
        return false;
      }
      const Index v = std::get<2>(*on_device_.rbegin());
      store(v, Event::Spill);
      leave(v, Event::Evict);
    }
    return true;
  }

  bool start(const Subgraph& s) {
    for (const Index v : s.inputs) {
      if (values_[v].on_device) continue;
      if (!make_room(bytes(v))) return false;
      enter(v);
      note(Event::Load, v);
      see_peak(0);
    }
    std::uint64_t needed = s.workspace_bytes;
    for (const Index v : s.outputs) needed += bytes(v);
    if (!make_room(needed)) return false;
    for (const Index v : s.outputs) enter(v);
    see_peak(s.workspace_bytes);
    note(Event::Run, order_[at_]);
    return true;
  }

  void end(const Subgraph& s) {
    for (const Index v : s.outputs)
      if (values_[v].host_needs_it) store(v, Event::Store);
    for (const Index v : s.inputs) {
      on_device_.erase(key_of(v));
      ++values_[v].next;
      on_device_.insert(key_of(v));
    }
    const auto give_up = [this](Index v) {
      if (values_[v].next < values_[v].reads.size()) return;
      if (options_.retain == Retain::All) store(v, Event::Store);
      leave(v, Event::Free);
    };
    for (const Index v : s.inputs) give_up(v);
    for (const Index v : s.outputs) give_up(v);
  }

  const Problem& p_;
  const Order& order_;
  const Index device_;
  const AccountOptions& options_;
  std::vector<State> values_;
  std::set<Key> on_device_;
  std::uint64_t now_ = 0;
  Index at_ = 0;
  Account out_;
};

// So no sum below overflows.
bool bytes_add_up(const Problem& p) {
  std::uint64_t sum = 0;
  for (const Value& v : p.values)
    if (__builtin_add_overflow(sum, v.bytes.value_or(0), &sum)) return false;
  for (const Subgraph& s : p.subgraphs)
    if (__builtin_add_overflow(sum, s.workspace_bytes, &sum)) return false;
  return true;
}

}  // namespace

std::optional<Account> account(const Problem& p, const Order& order, Index device,
                               const AccountOptions& options) {
  if (!bytes_add_up(p)) return std::nullopt;
  return Accountant(p, order, device, options).run();
}

}  // namespace graphopt::schedule
