// Requests on simulated devices, below a simulated clock: for tests of the state machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "execution/scheduler.h"
#include "schedule/facts.h"
#include "unit/schedule_case.h"

namespace graphopt::execution {

using schedule::Order;
using schedule::Problem;

// How many plans a test draws: as many as the variable says, which its long form sets.
inline std::uint64_t plans_of_test(const char* variable, std::uint64_t usual) {
  const char* text = std::getenv(variable);
  return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}

// What a value holds: a number that follows from all that it was made of.
using Content = std::uint64_t;

inline Content mixed(Content a, Content b) {
  a ^= b + 0x9e3779b97f4a7c15U + (a << 6) + (a >> 2);
  return a * 0xbf58476d1ce4e5b9U;
}
inline Content input_content(Sequence request, Index value) { return mixed(mixed(17, request), value); }
inline Content result_content(Index subgraph, std::size_t output, const std::vector<Content>& inputs) {
  Content out = mixed(subgraph + 1, output);
  for (const Content c : inputs) out = mixed(out, c);
  return out;
}

// A model in two ways: cut, and whole on the host, with the same inputs and outputs.
struct Model {
  Problem problem, whole;
  Order order;
  std::shared_ptr<const Plan> plan, fallback;
};

// The outputs of a request when its subgraphs run one after the other.
inline std::map<Index, Content> expected_outputs(const Model& m, Sequence request) {
  std::vector<Content> values(m.problem.values.size());
  for (Index v = 0; v < values.size(); ++v) values[v] = input_content(request, v);
  std::map<Index, Content> out;
  for (const Index s : m.order) {
    std::vector<Content> inputs;
    for (const Index v : m.problem.subgraphs[s].inputs) inputs.push_back(values[v]);
    const std::vector<Index>& outputs = m.problem.subgraphs[s].outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      values[outputs[i]] = result_content(s, i, inputs);
      if (m.problem.values[outputs[i]].network_output) out[outputs[i]] = values[outputs[i]];
    }
  }
  return out;
}

// Of the whole model: one subgraph on the host that reads the inputs and makes the outputs. Values keep their
// numbers.
inline Problem whole_problem(const Problem& p) {
  Problem out;
  out.devices = p.devices;
  out.values = p.values;
  schedule::Subgraph one{
      .device = p.devices - 1, .inputs = {}, .outputs = {}, .workspace_bytes = 0, .ns = {}};
  for (Index v = 0; v < p.values.size(); ++v) {
    schedule::Value& value = out.values[v];
    if (!value.from && !value.to.empty()) {
      one.inputs.push_back(v);
      value.to = {0};
    } else if (value.from && value.network_output) {
      one.outputs.push_back(v);
      value.from = 0;
      value.to = {};
    } else {
      value = {.from = {}, .to = {}, .bytes = 0, .network_output = false};
    }
  }
  out.subgraphs.push_back(std::move(one));
  return out;
}

inline Model made_model(Problem p, schedule::Retain retain = schedule::Retain::Outputs) {
  Model out;
  out.order = schedule::file_order(p);
  out.plan = std::make_shared<const Plan>(*Plan::make(p, out.order, retain));
  out.whole = whole_problem(p);
  out.fallback = std::make_shared<const Plan>(*Plan::make(out.whole, {0}, retain));
  out.problem = std::move(p);
  return out;
}

// What happens to a simulated run, by a seed.
struct Faults {
  double error = 0;                // chance of each run, and half as much of each load and store
  double may_pass = 0.5;           // of an error
  double cancel = 0, timeout = 0;  // of each request
  std::optional<Index> dead;       // a device whose every run fails, from dead_from on
  Nanoseconds dead_from = 0;
};

// Devices whose workers wait. `problems()` has what went wrong: a copy that is not where it is read, more
// bytes than the budget, a wrong result, something that is left, a state that is broken().
class Simulation {
 public:
  struct Setting {
    Limits limits;
    std::vector<std::size_t> workers;  // by device
    Faults faults;
    std::uint64_t seed = 0;
    bool checks_state = true;  // broken() after each transition
    bool drops_at_once = false;
  };

  explicit Simulation(const Setting& setting)
      : s_(setting),
        rng_(static_cast<std::mt19937::result_type>(setting.seed)),
        scheduler_(setting.limits),
        idle_(setting.workers),
        memory_(setting.limits.devices.size()),
        bytes_(memory_.size()),
        peaks_(memory_.size()) {}

  // Runs `requests` of them and returns whether all have ended.
  bool run(const Model& m, std::size_t requests, bool has_fallback) {
    model_ = &m;
    for (Sequence id = 0; id < requests; ++id) {
      Scheduler::Submission one{m.plan, has_fallback ? m.fallback : nullptr, 0};
      if (chance(s_.faults.timeout)) one.deadline = now_ + 1 + below(400);
      for (Index v = 0; v < m.problem.values.size(); ++v)
        if (!m.problem.values[v].from) outside_[{id, v}] = input_content(id, v);
      scheduler_.submit(id, std::move(one), now_);
      if (chance(s_.faults.cancel)) at(below(400), [this, id] { handle(scheduler_.cancel(id, now_)); });
      look();
    }
    begin_all();
    while (!events_.empty() || scheduler_.next_deadline() != 0) {
      const Nanoseconds deadline = scheduler_.next_deadline();
      if (events_.empty() || (deadline != 0 && deadline < events_.top().time)) {
        now_ = std::max(now_, deadline);
        handle(scheduler_.expire(now_));
      } else {
        const Event event = events_.top();
        events_.pop();
        now_ = event.time;
        actions_[event.number]();
        actions_.erase(event.number);
      }
      look();
      begin_all();
    }
    if (scheduler_.unfinished() != 0)
      problem(std::to_string(scheduler_.unfinished()) + " requests never end");
    for (Index d = 0; d < memory_.size(); ++d) {
      if (!memory_[d].empty()) problem("device " + std::to_string(d) + " holds copies after the end");
      if (bytes_[d] != 0) problem("device " + std::to_string(d) + " holds bytes after the end");
      if (scheduler_.counts(d).used != 0) problem("bytes are counted after the end");
      if (scheduler_.counts(d).peak < peaks_[d]) problem("the peak is counted wrong");
    }
    for (const auto& [key, content] : outside_)
      if (m.problem.values[key.second].from) problem("a value is left outside after the end");
    if (ended_.size() != requests) problem("requests are lost");
    return scheduler_.unfinished() == 0;
  }

  const std::vector<std::string>& problems() const { return problems_; }
  const std::vector<Scheduler::Ended>& ended() const { return ended_; }
  const Scheduler& scheduler() const { return scheduler_; }
  Nanoseconds now() const { return now_; }
  std::uint64_t peak(Index device) const { return peaks_[device]; }

  // How long a run of a subgraph takes, and a copy of so many bytes.
  std::function<Nanoseconds(Index)> run_time = [this](Index) { return Nanoseconds{1 + below(20)}; };
  std::function<Nanoseconds(std::uint64_t)> copy_time = [this](std::uint64_t) {
    return Nanoseconds{below(6)};
  };

 private:
  using Place = std::pair<Sequence, Index>;  // request, value
  struct Event {
    Nanoseconds time;
    std::uint64_t number;
    bool operator<(const Event& o) const { return std::pair(o.time, o.number) < std::pair(time, number); }
  };

  std::uint64_t below(std::uint64_t n) { return rng_() % n; }
  bool chance(double p) { return p > 0 && static_cast<double>(rng_()) < p * 4294967296.0; }
  void problem(std::string text) {
    if (problems_.size() < 10) problems_.push_back(std::move(text));
  }
  void at(Nanoseconds later, std::function<void()> action) {
    events_.push({now_ + later, number_});
    actions_[number_++] = std::move(action);
  }
  const Plan& plan_of(Way way) const { return way == Way::Devices ? *model_->plan : *model_->fallback; }

  void look() {
    if (s_.checks_state)
      if (std::string broken = scheduler_.broken(); !broken.empty()) problem(std::move(broken));
    for (Scheduler::Ended& e : scheduler_.take_ended()) {
      if (e.state == RequestState::Done) {
        for (const auto& [value, content] : expected_outputs(*model_, e.request)) {
          const auto found = outside_.find({e.request, value});
          // The whole model computes the same; its content says another subgraph.
          if (found == outside_.end()) problem("an output is missing");
          else if (found->second != (e.way == Way::Devices ? content : whole(e.request, value)))
            problem("an output differs");
          if (found != outside_.end()) outside_.erase(found);
        }
      }
      for (const auto& memory : memory_)
        for (const auto& [place, content] : memory)
          if (place.first == e.request) problem("a copy of an ended request is left");
      ended_.push_back(std::move(e));
    }
  }

  Content whole(Sequence request, Index value) const {
    const Problem& p = model_->whole;
    std::vector<Content> inputs;
    for (const Index v : p.subgraphs[0].inputs) inputs.push_back(input_content(request, v));
    const std::vector<Index>& outputs = p.subgraphs[0].outputs;
    return result_content(0, static_cast<std::size_t>(std::ranges::find(outputs, value) - outputs.begin()),
                          inputs);
  }

  void begin_all() {
    for (Index d = 0; d < idle_.size(); ++d)
      while (idle_[d] > 0) {
        std::optional<Task> task = scheduler_.next(d);
        look();
        if (!task) break;
        --idle_[d];
        evict(std::move(*task));
      }
  }

  void allocate(Index device, std::uint64_t bytes) {
    bytes_[device] += bytes;
    peaks_[device] = std::max(peaks_[device], bytes_[device]);
    if (s_.limits.devices[device].budget && bytes_[device] > *s_.limits.devices[device].budget)
      problem("device " + std::to_string(device) + " has less memory than was used");
  }

  std::uint64_t bytes_of(Index value) const { return model_->problem.values[value].bytes.value_or(0); }

  void remove(Sequence request, Index value, Index device) {
    if (memory_[device].erase({request, value}) != 0) bytes_[device] -= bytes_of(value);
  }

  void evict(Task task) {
    if (task.evicted.empty()) return load(std::move(task));
    at(copy_time(1), [this, task = std::move(task)] {
      if (chance(s_.faults.error / 2)) {
        const bool may_pass = chance(s_.faults.may_pass);
        ++idle_[task.device];
        return handle(scheduler_.failed(task, may_pass, true, now_));
      }
      for (const Task::Evicted& e : task.evicted) {
        const auto found = memory_[task.device].find({e.request, e.value});
        if (found == memory_[task.device].end()) problem("an evicted copy is not there");
        else if (e.store) outside_[{e.request, e.value}] = found->second;
        if (!outside_.contains({e.request, e.value})) problem("an evicted copy is nowhere else");
        remove(e.request, e.value, task.device);
      }
      handle(scheduler_.evicted(task, now_));
      load(task);
    });
  }

  void load(Task task) {
    // All of the memory is there from here on.
    const PlannedSubgraph& s = plan_of(task.way).subgraphs()[task.subgraph];
    const Plan& plan = plan_of(task.way);
    std::uint64_t sum = s.workspace, bytes = 0;
    for (const Index v : task.loads) bytes += bytes_of(v);
    if (!task.has_memory) {
      sum += bytes;
      for (const Index c : s.outputs) sum += plan.copies()[c].bytes;
    }
    allocate(s.device, sum);
    at(copy_time(bytes), [this, task = std::move(task)] {
      for (const Index v : task.loads) {
        const auto found = outside_.find({task.request, v});
        if (found == outside_.end()) problem("a copy to be loaded is nowhere");
        else memory_[task.device][{task.request, v}] = found->second;
      }
      if (chance(s_.faults.error / 2)) return fail(task);
      compute(task);
    });
  }

  void compute(Task task) {
    at(run_time(task.subgraph), [this, task = std::move(task)] {
      const bool is_dead = s_.faults.dead == std::optional(task.device) && now_ >= s_.faults.dead_from;
      if (is_dead || chance(s_.faults.error)) return fail(task);
      const Plan& plan = plan_of(task.way);
      const PlannedSubgraph& s = plan.subgraphs()[task.subgraph];
      const Problem& p = task.way == Way::Devices ? model_->problem : model_->whole;
      std::vector<Content> inputs;
      for (const Index v : p.subgraphs[task.subgraph].inputs) {
        const auto found = memory_[task.device].find({task.request, v});
        if (found == memory_[task.device].end()) problem("an input is not on the device");
        else inputs.push_back(found->second);
      }
      const std::vector<Index>& outputs = p.subgraphs[task.subgraph].outputs;
      for (std::size_t i = 0; i < outputs.size(); ++i)
        memory_[task.device][{task.request, outputs[i]}] = result_content(task.subgraph, i, inputs);
      for (const Index v : task.stores) outside_[{task.request, v}] = memory_[task.device][{task.request, v}];
      bytes_[task.device] -= s.workspace;
      ++idle_[task.device];
      handle(scheduler_.done(task, now_));
    });
  }

  void fail(const Task& task) {
    ++idle_[task.device];
    bytes_[task.device] -= plan_of(task.way).subgraphs()[task.subgraph].workspace;
    handle(scheduler_.failed(task, chance(s_.faults.may_pass), false, now_));
  }

  void handle(Scheduler::Drops drops) {
    if (drops.empty()) return;
    const auto act = [this, drops = std::move(drops)] {
      for (const Drop& d : drops) {
        if (!d.device) {
          if (outside_.erase({d.request, d.value}) == 0) problem("a copy outside was dropped twice");
          continue;
        }
        memory_[*d.device].erase({d.request, d.value});
        bytes_[*d.device] -= d.bytes;
      }
      handle(scheduler_.dropped(drops, now_));
    };
    if (s_.drops_at_once) act();
    else at(below(4), act);
  }

  const Setting s_;
  std::mt19937 rng_;
  Scheduler scheduler_;
  const Model* model_ = nullptr;
  std::vector<std::size_t> idle_;
  std::vector<std::map<Place, Content>> memory_;  // by device
  std::vector<std::uint64_t> bytes_, peaks_;
  std::map<Place, Content> outside_;
  std::priority_queue<Event> events_;
  std::map<std::uint64_t, std::function<void()>> actions_;
  std::uint64_t number_ = 0;
  Nanoseconds now_ = 1;
  std::vector<Scheduler::Ended> ended_;
  std::vector<std::string> problems_;
};

}  // namespace graphopt::execution
