// Devices with a memory of their own, for tests on real threads: what is not there is poisoned, more than the
// budget is a problem, copies and runs take time and fail by a seed.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "execution/pool.h"
#include "unit/execution_case.h"

namespace graphopt::execution {

class SimulatedCards : public Devices {
 public:
  struct Setting {
    std::vector<std::optional<std::uint64_t>> budgets;  // by device
    std::uint64_t seed = 0;
    Faults faults;
    std::chrono::nanoseconds latency{0};         // of each copy
    double bytes_per_ns = 0;                     // of a copy; 0: at once
    std::vector<std::chrono::nanoseconds> runs;  // by subgraph: how long a run waits; empty: not at all
    std::atomic<bool>* is_dead = nullptr;        // while it is true each run on faults.dead fails
  };

  SimulatedCards(const Model& model, Setting setting)
      : model_(model), s_(std::move(setting)), cards_(model.problem.devices) {}

  // Before a request is submitted.
  void add(Sequence request) {
    for (Index v = 0; v < model_.problem.values.size(); ++v)
      if (!model_.problem.values[v].from) put(outside_, {request, v}, block(v, input_content(request, v)));
  }

  // After it has ended: what is wrong with its results and with what is left, and removes them.
  void take(const Scheduler::Ended& ended) {
    const Problem& whole = model_.whole;
    std::vector<Content> inputs;
    for (const Index v : whole.subgraphs[0].inputs) inputs.push_back(input_content(ended.request, v));
    const std::vector<Index>& outputs = whole.subgraphs[0].outputs;
    if (ended.state == RequestState::Done)
      for (const auto& [v, content] : expected_outputs(model_, ended.request)) {
        const auto at = static_cast<std::size_t>(std::ranges::find(outputs, v) - outputs.begin());
        const Content wanted = ended.way == Way::Devices ? content : result_content(0, at, inputs);
        const Block got = get(outside_, {ended.request, v});
        if (!got || got->front() != wanted || got->back() != wanted) problem("an output differs");
        remove(outside_, {ended.request, v});
      }
    for (Index v = 0; v < model_.problem.values.size(); ++v) {
      const bool is_there = get(outside_, {ended.request, v}) != nullptr;
      if (is_there && model_.problem.values[v].from) problem("a value is left outside");
      remove(outside_, {ended.request, v});
      for (Card& card : cards_)
        if (get(card.memory, {ended.request, v})) problem("a copy is left on a device");
    }
  }

  std::uint64_t peak(Index device) const { return cards_[device].peak; }
  std::uint64_t used(Index device) const { return cards_[device].used; }
  std::vector<std::string> problems() const {
    const std::lock_guard lock(mutex_);
    return problems_;
  }

  Outcome store(Sequence request, Way, Index value, Index device) override {
    const Block from = get(cards_[device].memory, {request, value});
    if (!from) problem("a copy to be stored is not on the device");
    wait_for_copy(value);
    if (fails(s_.faults.error / 2)) return fault();
    if (from) put(outside_, {request, value}, std::make_shared<Words>(*from));
    return {};
  }
  Outcome load(Sequence request, Way, Index value, Index device) override {
    const Block from = get(outside_, {request, value});
    if (!from) problem("a copy to be loaded is not outside");
    if (!get(cards_[device].memory, {request, value})) allocate(device, bytes_of(value));
    wait_for_copy(value);
    put(cards_[device].memory, {request, value}, from ? std::make_shared<Words>(*from) : block(value, 0));
    if (fails(s_.faults.error / 2)) return fault();
    return {};
  }
  Outcome run(const Task& task, std::size_t) override {
    const bool is_whole = task.way == Way::Fallback;
    const schedule::Subgraph& s = (is_whole ? model_.whole : model_.problem).subgraphs[task.subgraph];
    Card& card = cards_[task.device];
    allocate(task.device, s.workspace_bytes);
    std::vector<Content> inputs;
    std::vector<Block> pinned;
    for (const Index v : s.inputs) {
      pinned.push_back(get(card.memory, {task.request, v}));
      if (!pinned.back()) problem("an input is not on the device");
      else inputs.push_back(pinned.back()->front());
    }
    if (!is_whole && task.subgraph < s_.runs.size()) std::this_thread::sleep_for(s_.runs[task.subgraph]);
    release(task.device, s.workspace_bytes);
    for (const Block& b : pinned)
      if (b && b->front() != b->back()) problem("an input was overwritten while it was read");
    const bool is_dead = s_.is_dead != nullptr && *s_.is_dead && s_.faults.dead == std::optional(task.device);
    if (is_dead || fails(s_.faults.error)) return fault();
    for (std::size_t i = 0; i < s.outputs.size(); ++i) {
      // A store of the try before may have failed.
      if (!get(card.memory, {task.request, s.outputs[i]})) allocate(task.device, bytes_of(s.outputs[i]));
      put(card.memory, {task.request, s.outputs[i]},
          block(s.outputs[i], result_content(task.subgraph, i, inputs)));
    }
    return {};
  }
  void drop(const Drop& d) override {
    if (!d.device) remove(outside_, {d.request, d.value});
    else if (remove(cards_[*d.device].memory, {d.request, d.value})) release(*d.device, bytes_of(d.value));
  }
  void stop(Sequence) override {}

 private:
  using Words = std::vector<Content>;  // the first and the last one are the content
  using Block = std::shared_ptr<Words>;
  using Place = std::pair<Sequence, Index>;  // request, value
  using Memory = std::map<Place, Block>;
  struct Card {
    Memory memory;
    std::atomic<std::uint64_t> used = 0, peak = 0;
  };

  std::uint64_t bytes_of(Index v) const { return model_.problem.values[v].bytes.value_or(0); }
  Block block(Index v, Content content) const {
    return std::make_shared<Words>(1 + bytes_of(v) / sizeof(Content), content);
  }

  void problem(std::string text) {
    const std::lock_guard lock(mutex_);
    if (problems_.size() < 10) problems_.push_back(std::move(text));
  }
  Block get(const Memory& memory, Place place) const {
    const std::lock_guard lock(mutex_);
    const auto found = memory.find(place);
    return found == memory.end() ? nullptr : found->second;
  }
  void put(Memory& memory, Place place, Block block) {
    const std::lock_guard lock(mutex_);
    memory[place] = std::move(block);
  }
  // Who reads it still, sees poison.
  bool remove(Memory& memory, Place place) {
    const std::lock_guard lock(mutex_);
    const auto found = memory.find(place);
    if (found == memory.end()) return false;
    std::ranges::fill(*found->second, 0xddddddddddddddddU);
    memory.erase(found);
    return true;
  }
  void allocate(Index device, std::uint64_t bytes) {
    Card& card = cards_[device];
    const std::uint64_t now = card.used += bytes;
    std::uint64_t before = card.peak;
    while (before < now && !card.peak.compare_exchange_weak(before, now)) continue;
    if (s_.budgets[device] && now > *s_.budgets[device])
      problem("device " + std::to_string(device) + " has less memory than was used");
  }
  void release(Index device, std::uint64_t bytes) { cards_[device].used -= bytes; }

  void wait_for_copy(Index value) const {
    auto time = s_.latency;
    if (s_.bytes_per_ns > 0)
      time += std::chrono::nanoseconds(
          static_cast<std::int64_t>(static_cast<double>(bytes_of(value)) / s_.bytes_per_ns));
    if (time.count() > 0) std::this_thread::sleep_for(time);
  }
  bool fails(double chance) {
    if (chance <= 0) return false;
    const std::uint64_t drawn = mixed(s_.seed, ++draws_) >> 11;
    return static_cast<double>(drawn) < chance * 9007199254740992.0;
  }
  Outcome fault() {
    return Fault{{ErrorKind::NotChecked, {}, "a simulated error", "none"}, fails(s_.faults.may_pass)};
  }

  const Model& model_;
  const Setting s_;
  mutable std::mutex mutex_;
  Memory outside_;
  std::vector<Card> cards_;
  std::atomic<std::uint64_t> draws_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace graphopt::execution
