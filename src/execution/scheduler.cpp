#include "execution/scheduler.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace graphopt::execution {

Scheduler::Scheduler(Limits limits) : limits_(std::move(limits)), devices_(limits_.devices.size()) {
  for (const DeviceLimits& d : limits_.devices) budgets_.push_back(d.budget);
}

void Scheduler::submit(Sequence id, Submission request, Nanoseconds now) {
  Request& r = requests_[id];
  r.submission = std::move(request);
  if (r.submission.deadline != 0) deadlines_.insert({r.submission.deadline, id});
  queued_.push_back(id);
  Drops none;  // what has not run has nothing in memory
  admit(none, now);
}

// --- the beginning of a request
// -----------------------------------------------------------------------------

void Scheduler::admit(Drops& drops, Nanoseconds now) {
  while (admitted_ < limits_.in_flight && !queued_.empty()) {
    const Sequence id = queued_.front();
    queued_.pop_front();
    Request& r = requests_.at(id);
    r.state = RequestState::Running;
    ++admitted_;
    const Plan* fallback = r.submission.fallback.get();
    const bool has_room = fits(*r.submission.plan, r.failure);
    Failure none;
    const bool has_fallback = fallback != nullptr && fits(*fallback, none);
    if (has_room && (!has_fallback || is_usable(*r.submission.plan, now))) start(id, r, Way::Devices);
    else if (has_fallback) start(id, r, Way::Fallback);
    else begin_end(id, r, RequestState::Failed, false, drops);
    settle(id, r, drops);
  }
}

bool Scheduler::fits(const Plan& plan, Failure& failure) const {
  const std::optional<Index> misfit = plan.misfit(budgets_);
  if (misfit) failure = {FailureKind::Misfit, *misfit};
  return !misfit;
}

// One request in a while may use an open device.
bool Scheduler::is_usable(const Plan& plan, Nanoseconds now) {
  bool out = true;
  for (Index d = 0; d < devices_.size(); ++d)
    if (devices_[d].open && plan.uses(d) && now < devices_[d].next_probe) out = false;
  if (!out) return false;
  for (Index d = 0; d < devices_.size(); ++d)
    if (devices_[d].open && plan.uses(d)) devices_[d].next_probe = now + limits_.probe_interval;
  return true;
}

void Scheduler::start(Sequence id, Request& r, Way way) {
  r.way = way;
  r.plan = way == Way::Devices ? r.submission.plan.get() : r.submission.fallback.get();
  const Plan& plan = *r.plan;
  r.end = RequestState::Running;
  r.restarts = false;
  r.stages.assign(plan.subgraphs().size(), {});
  r.copies.assign(plan.copies().size(), {});
  r.outside.assign(plan.values().size(), {});
  r.left = plan.subgraphs().size();
  r.next_place = 0;
  for (Index v = 0; v < plan.values().size(); ++v) r.outside[v].is_there = plan.values()[v].network_input;
  for (Index s = 0; s < plan.subgraphs().size(); ++s) {
    r.stages[s].pending = plan.subgraphs()[s].producers;
    if (limits_.in_order ? plan.subgraphs()[s].place == 0 : r.stages[s].pending == 0) push(id, r, s);
  }
  if (r.left == 0) r.end = RequestState::Done;
}

void Scheduler::push(Sequence id, Request& r, Index subgraph) {
  const PlannedSubgraph& s = r.plan->subgraphs()[subgraph];
  r.stages[subgraph].state = StageState::Ready;
  devices_[s.device].queue.insert({id, s.place});
}

// --- the run of a subgraph
// ----------------------------------------------------------------------------------

std::optional<Task> Scheduler::next(Index device) {
  Device& d = devices_[device];
  if (!d.retries.empty()) {
    const auto [id, place] = *d.retries.begin();
    d.retries.erase(d.retries.begin());
    Request& r = requests_.at(id);
    Task again = begin(id, r, r.plan->order()[place]);
    again.has_memory = true;
    return again;
  }
  if (d.queue.empty()) return std::nullopt;
  const auto [id, place] = *d.queue.begin();
  Request& r = requests_.at(id);
  const Index subgraph = r.plan->order()[place];
  const PlannedSubgraph& s = r.plan->subgraphs()[subgraph];
  std::uint64_t missing = s.needed;
  for (const Index c : s.inputs) {
    const CopyState state = r.copies[c].state;
    // Another task copies it just now, or evicts it.
    if (state == CopyState::Loading || state == CopyState::Leaving) return std::nullopt;
    if (state == CopyState::Resident) missing -= r.plan->copies()[c].bytes;
  }
  const auto evicted = victims(device, r, subgraph, id, missing);
  if (!evicted) {
    if (d.waiting != Key{id, place}) ++d.counts.waits;
    d.waiting = Key{id, place};
    return std::nullopt;
  }
  d.queue.erase(d.queue.begin());
  std::uint64_t room = 0;
  Task task;
  for (const auto& [owner, copy] : *evicted) {
    Request& o = requests_.at(owner);
    const Copy& c = o.plan->copies()[copy];
    set_evictable(owner, o, copy, false);
    o.copies[copy].state = CopyState::Leaving;
    ++o.leaving;
    room += c.bytes;
    task.evicted.push_back({owner, o.way, c.value, !o.outside[c.value].is_there});
  }
  // Until the evicted copies are gone they have their memory; what they leave beyond the need is free only
  // then.
  task.slack = room - std::min(room, missing);
  d.slack += task.slack;
  d.counts.used += missing - std::min(room, missing);
  d.counts.peak = std::max(d.counts.peak, d.counts.used);
  for (const Index c : s.inputs) {
    if (r.copies[c].state != CopyState::Resident) r.copies[c].state = CopyState::Loading;
    pin(id, r, c);
  }
  for (const Index c : s.outputs) r.copies[c].state = CopyState::Producing;
  Task begun = begin(id, r, subgraph);
  begun.evicted = std::move(task.evicted);
  begun.slack = task.slack;
  return begun;
}

Task Scheduler::begin(Sequence id, Request& r, Index subgraph) {
  const PlannedSubgraph& s = r.plan->subgraphs()[subgraph];
  Task out;
  out.request = id;
  out.way = r.way;
  out.device = s.device;
  out.subgraph = subgraph;
  out.stores = s.stores;
  out.tries = r.stages[subgraph].tries;
  for (const Index c : s.inputs)
    if (r.copies[c].state == CopyState::Loading) out.loads.push_back(r.plan->copies()[c].value);
  r.stages[subgraph].state = StageState::Running;
  ++r.running;
  return out;
}

// Returns what leaves so that `missing` bytes have room; nothing where that cannot be.
std::optional<std::vector<Scheduler::Key>> Scheduler::victims(Index device, const Request& r, Index subgraph,
                                                              Sequence id, std::uint64_t missing) const {
  const Device& d = devices_[device];
  const std::optional<std::uint64_t>& budget = limits_.devices[device].budget;
  std::vector<Key> out;
  if (!budget || missing <= *budget - d.counts.used) return out;
  std::uint64_t lacking = missing - (*budget - d.counts.used);
  const std::vector<Index>& own = r.plan->subgraphs()[subgraph].inputs;
  std::uint64_t evictable = d.evictable_bytes;
  for (const Index c : own)
    if (d.evictable.contains({id, c})) evictable -= r.plan->copies()[c].bytes;
  if (evictable < lacking) return std::nullopt;
  using Rank = std::tuple<Sequence, Index, std::uint64_t, Index>;  // request, next reader, bytes, copy
  std::vector<Rank> ranked;
  for (const auto& [owner, copy] : d.evictable) {
    if (owner == id && std::ranges::find(own, copy) != own.end()) continue;
    const Request& o = requests_.at(owner);
    ranked.emplace_back(owner, next_read(o, copy), o.plan->copies()[copy].bytes, copy);
  }
  std::ranges::sort(ranked, std::ranges::greater{});
  for (const auto& [owner, place, bytes, copy] : ranked) {
    if (bytes == 0) continue;
    out.emplace_back(owner, copy);
    if (bytes >= lacking) break;
    lacking -= bytes;
  }
  return out;
}

// The place of the first reader on the copy's device that has not run.
Index Scheduler::next_read(const Request& r, Index copy) const {
  for (const Index place : r.plan->copies()[copy].reads)
    if (r.stages[r.plan->order()[place]].state != StageState::Done) return place;
  return std::numeric_limits<Index>::max();
}

Scheduler::Drops Scheduler::evicted(const Task& task, Nanoseconds now) {
  Drops drops;
  Device& d = devices_[task.device];
  for (const Task::Evicted& e : task.evicted) {
    Request& o = requests_.at(e.request);
    ++d.counts.evictions;
    const std::uint64_t bytes = [&] {
      for (const Index c : o.plan->values()[e.value].copies)
        if (o.plan->copies()[c].device == task.device) {
          o.copies[c].state = CopyState::Evicted;
          return o.plan->copies()[c].bytes;
        }
      return std::uint64_t{0};
    }();
    if (e.store) {
      o.outside[e.value].is_there = true;
      ++d.counts.spills;
      ++d.counts.stores;
      d.counts.stored_bytes += bytes;
    }
    --o.leaving;
    settle(e.request, o, drops);
  }
  d.counts.used -= task.slack;
  d.slack -= task.slack;
  admit(drops, now);
  return drops;
}

Scheduler::Drops Scheduler::done(const Task& task, Nanoseconds now) {
  Drops drops;
  Device& d = devices_[task.device];
  Request& r = requests_.at(task.request);
  const PlannedSubgraph& s = r.plan->subgraphs()[task.subgraph];
  --r.running;
  ++d.counts.runs;
  d.failures = 0;
  d.open = false;
  for (const Index c : s.inputs)
    if (r.copies[c].state == CopyState::Loading) {
      r.copies[c].state = CopyState::Resident;
      ++d.counts.loads;
      d.counts.loaded_bytes += r.plan->copies()[c].bytes;
    }
  for (const Index v : s.stores) {
    r.outside[v].is_there = true;
    ++d.counts.stores;
    for (const Index c : s.outputs)
      if (r.plan->copies()[c].value == v) d.counts.stored_bytes += r.plan->copies()[c].bytes;
  }
  if (r.end != RequestState::Running) {
    r.stages[task.subgraph].state = StageState::Failed;
    release(task.request, r, task.subgraph, true, drops);
  } else {
    r.stages[task.subgraph].state = StageState::Done;
    d.counts.used -= s.workspace;
    for (const Index c : s.outputs) {
      r.copies[c].state = CopyState::Resident;
      set_evictable(task.request, r, c, true);
    }
    count_reads(task.request, r, s, drops);
    --r.left;
    for (const Index reader : s.consumers)
      if (--r.stages[reader].pending == 0 && !limits_.in_order) push(task.request, r, reader);
    if (limits_.in_order && ++r.next_place < r.plan->order().size())
      push(task.request, r, r.plan->order()[r.next_place]);
    if (r.left == 0) begin_end(task.request, r, RequestState::Done, false, drops);
  }
  settle(task.request, r, drops);
  admit(drops, now);
  return drops;
}

// Each reader counts each of its inputs down once, when it has run.
void Scheduler::count_reads(Sequence id, Request& r, const PlannedSubgraph& s, Drops& drops) {
  const auto give_up_read = [&](Index c) {
    if (r.copies[c].read == r.plan->copies()[c].reads.size()) free_copy(id, r, c, drops);
  };
  const auto give_up_outside = [&](Index v) {
    const PlannedValue& value = r.plan->values()[v];
    if (r.outside[v].read == value.reads && !value.network_output) drop_outside(id, r, v, drops);
  };
  for (const Index c : s.inputs) {
    const Index v = r.plan->copies()[c].value;
    unpin(id, r, c);
    ++r.copies[c].read;
    ++r.outside[v].read;
    give_up_read(c);
    give_up_outside(v);
  }
  for (const Index c : s.outputs) {
    give_up_read(c);
    give_up_outside(r.plan->copies()[c].value);
  }
}

Scheduler::Drops Scheduler::failed(const Task& task, bool may_pass, bool evicting, Nanoseconds now) {
  Drops drops;
  Device& d = devices_[task.device];
  Request& r = requests_.at(task.request);
  Stage& stage = r.stages[task.subgraph];
  --r.running;
  // One that was stopped says nothing of its device.
  if (r.end == RequestState::Running) count_failure(task.device, now);
  const bool again = r.end == RequestState::Running && may_pass && stage.tries < limits_.retries;
  ++stage.tries;
  if (again) ++r.retries;
  if (evicting) {
    // Nothing has left: the memory is again that of the copies.
    std::uint64_t room = 0;
    for (const Task::Evicted& e : task.evicted) {
      Request& o = requests_.at(e.request);
      for (const Index c : o.plan->values()[e.value].copies) {
        if (o.plan->copies()[c].device != task.device) continue;
        room += o.plan->copies()[c].bytes;
        o.copies[c].state = CopyState::Resident;
        set_evictable(e.request, o, c, true);
        if (o.end != RequestState::Running) free_copy(e.request, o, c, drops);
      }
      --o.leaving;
    }
    d.counts.used += room - task.slack;
    d.slack -= task.slack;
    release(task.request, r, task.subgraph, false, drops);
    if (again) push(task.request, r, task.subgraph);
  } else if (again) {
    stage.state = StageState::Retry;
    d.retries.insert({task.request, r.plan->subgraphs()[task.subgraph].place});
  } else {
    release(task.request, r, task.subgraph, true, drops);
  }
  if (!again) give_up(task.request, r, task.subgraph, drops);
  if (evicting)
    for (const Task::Evicted& e : task.evicted)
      if (const auto o = requests_.find(e.request); o != requests_.end() && e.request != task.request)
        settle(e.request, o->second, drops);
  settle(task.request, r, drops);
  admit(drops, now);
  return drops;
}

void Scheduler::count_failure(Index device, Nanoseconds now) {
  Device& d = devices_[device];
  ++d.counts.failures;
  if (++d.failures < limits_.failures_to_open || d.open) return;
  d.open = true;
  d.next_probe = now + limits_.probe_interval;
  ++d.counts.opened;
}

// After the last try.
void Scheduler::give_up(Sequence id, Request& r, Index subgraph, Drops& drops) {
  r.stages[subgraph].state = StageState::Failed;
  if (r.end != RequestState::Running) return;
  r.failure = {FailureKind::Error, subgraph};
  Failure none;
  const bool has_fallback =
      r.way == Way::Devices && r.submission.fallback != nullptr && fits(*r.submission.fallback, none);
  begin_end(id, r, RequestState::Failed, has_fallback, drops);
}

// --- copies
// -------------------------------------------------------------------------------------------------

void Scheduler::set_evictable(Sequence id, const Request& r, Index copy, bool is) {
  const Copy& c = r.plan->copies()[copy];
  Device& d = devices_[c.device];
  if (is && d.evictable.insert({id, copy}).second) d.evictable_bytes += c.bytes;
  if (!is && d.evictable.erase({id, copy}) != 0) d.evictable_bytes -= c.bytes;
}

void Scheduler::pin(Sequence id, Request& r, Index copy) {
  ++r.copies[copy].pins;
  set_evictable(id, r, copy, false);
}

void Scheduler::unpin(Sequence id, Request& r, Index copy) {
  CopyInfo& c = r.copies[copy];
  if (--c.pins == 0 && c.state == CopyState::Resident) set_evictable(id, r, copy, true);
}

// The copy is not pinned. Its bytes are free when dropped() says so.
void Scheduler::free_copy(Sequence id, Request& r, Index copy, Drops& drops) {
  const Copy& c = r.plan->copies()[copy];
  set_evictable(id, r, copy, false);
  r.copies[copy].state = CopyState::Freed;
  devices_[c.device].dropping += c.bytes;
  drops.push_back({id, c.value, c.device, c.bytes});
  ++r.drops;
}

void Scheduler::drop_outside(Sequence id, Request& r, Index value, Drops& drops) {
  if (!r.outside[value].is_there || r.plan->values()[value].network_input) return;
  r.outside[value].is_there = false;
  drops.push_back({id, value, std::nullopt, 0});
  ++r.drops;
}

// Gives back what a subgraph got that was to run and has not: its inputs stay where they were before.
void Scheduler::release(Sequence id, Request& r, Index subgraph, bool had_memory, Drops& drops) {
  const PlannedSubgraph& s = r.plan->subgraphs()[subgraph];
  const auto undo = [&](Index c) {
    if (had_memory) free_copy(id, r, c, drops);
    else devices_[s.device].counts.used -= r.plan->copies()[c].bytes;
    r.copies[c].state = CopyState::Absent;
  };
  for (const Index c : s.inputs) {
    unpin(id, r, c);
    if (r.copies[c].state == CopyState::Loading) undo(c);
    else if (r.end != RequestState::Running && r.copies[c].pins == 0) free_copy(id, r, c, drops);
  }
  for (const Index c : s.outputs) undo(c);
  devices_[s.device].counts.used -= s.workspace;
}

Scheduler::Drops Scheduler::dropped(const Drops& drops, Nanoseconds now) {
  Drops more;
  for (const Drop& d : drops) {
    if (d.device) {
      devices_[*d.device].counts.used -= d.bytes;
      devices_[*d.device].dropping -= d.bytes;
    }
    Request& r = requests_.at(d.request);
    --r.drops;
    settle(d.request, r, more);
  }
  admit(more, now);
  return more;
}

// --- the end of a request
// -----------------------------------------------------------------------------------

Scheduler::Drops Scheduler::cancel(Sequence request, Nanoseconds now) {
  Drops drops;
  const auto at = requests_.find(request);
  if (at == requests_.end()) return drops;
  begin_end(request, at->second, RequestState::Cancelled, false, drops);
  settle(request, at->second, drops);
  admit(drops, now);
  return drops;
}

Scheduler::Drops Scheduler::expire(Nanoseconds now, std::vector<Sequence>* expired) {
  Drops drops;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const Sequence id = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    Request& r = requests_.at(id);
    begin_end(id, r, RequestState::TimedOut, false, drops);
    if (expired != nullptr) expired->push_back(id);
    settle(id, r, drops);
  }
  admit(drops, now);
  return drops;
}

Nanoseconds Scheduler::next_deadline() const { return deadlines_.empty() ? 0 : deadlines_.begin()->first; }

// From here on nothing of the request begins, and what is not in use leaves.
void Scheduler::begin_end(Sequence id, Request& r, RequestState end, bool restarts, Drops& drops) {
  if (r.end != RequestState::Running && !r.restarts) return;
  const bool has_begun = r.end != RequestState::Running;
  r.end = end;
  r.restarts = restarts;
  if (r.state == RequestState::Queued) std::erase(queued_, id);
  if (has_begun || r.plan == nullptr) return;
  for (Index s = 0; s < r.stages.size(); ++s) {
    Stage& stage = r.stages[s];
    const PlannedSubgraph& planned = r.plan->subgraphs()[s];
    const Key key{id, planned.place};
    if (stage.state == StageState::Ready) {
      devices_[planned.device].queue.erase(key);
      stage.state = StageState::Pending;
    } else if (stage.state == StageState::Retry) {
      devices_[planned.device].retries.erase(key);
      stage.state = StageState::Failed;
      release(id, r, s, true, drops);
    }
  }
  for (Index c = 0; c < r.copies.size(); ++c)
    if (r.copies[c].state == CopyState::Resident && r.copies[c].pins == 0) free_copy(id, r, c, drops);
}

// Lets a request end, or begin its fallback, when nothing of it is in use any more. The request may be gone
// after it.
void Scheduler::settle(Sequence id, Request& r, Drops& drops) {
  if (r.end == RequestState::Running || r.running != 0 || r.leaving != 0) return;
  // A task may have copied from outside until now.
  for (Index v = 0; v < r.outside.size(); ++v)
    if (r.end != RequestState::Done || !r.plan->values()[v].network_output) drop_outside(id, r, v, drops);
  if (r.drops != 0) return;
  if (r.restarts) start(id, r, Way::Fallback);
  if (r.end == RequestState::Running) return;
  ended_.push_back({id, r.end, r.way, r.failure, r.retries});
  if (r.state == RequestState::Running) --admitted_;
  if (r.submission.deadline != 0) deadlines_.erase({r.submission.deadline, id});
  requests_.erase(id);
}

std::vector<Scheduler::Ended> Scheduler::take_ended() { return std::exchange(ended_, {}); }

}  // namespace graphopt::execution
