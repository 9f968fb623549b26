// What has to hold of the state machine at each instant (Scheduler::broken), computed anew from its parts.
#include <algorithm>

#include "execution/scheduler.h"

namespace graphopt::execution {

std::string Scheduler::broken() const {
  std::vector<std::uint64_t> used(devices_.size()), evictable(devices_.size());
  std::size_t admitted = 0, waiting = 0, in_queues = 0, in_sets = 0;
  for (const auto& [id, r] : requests_) {
    const std::string who = "request " + std::to_string(id) + ": ";
    if (r.state == RequestState::Queued) {
      ++waiting;
      continue;
    }
    ++admitted;
    if (r.plan == nullptr) continue;
    const Plan& plan = *r.plan;
    std::vector<std::uint64_t> pins(r.copies.size());
    std::size_t left = 0;
    std::uint64_t running = 0;
    for (Index s = 0; s < r.stages.size(); ++s) {
      const Stage& stage = r.stages[s];
      const PlannedSubgraph& planned = plan.subgraphs()[s];
      const std::string which = who + "subgraph " + std::to_string(s) + ": ";
      left += stage.state != StageState::Done ? 1 : 0;
      running += stage.state == StageState::Running ? 1 : 0;
      const Device& d = devices_[planned.device];
      if ((stage.state == StageState::Ready) != d.queue.contains({id, planned.place}))
        return which + "it is ready and not queued, or the reverse";
      if ((stage.state == StageState::Retry) != d.retries.contains({id, planned.place}))
        return which + "it is to run again and not listed, or the reverse";
      in_queues += stage.state == StageState::Ready || stage.state == StageState::Retry ? 1 : 0;
      if (stage.state == StageState::Running || stage.state == StageState::Retry) {
        for (const Index c : planned.inputs) ++pins[c];
        used[planned.device] += planned.workspace;
      }
      if (r.end == RequestState::Running && stage.state != StageState::Done) {
        std::uint64_t pending = 0;
        for (Index p = 0; p < r.stages.size(); ++p)
          if (r.stages[p].state != StageState::Done &&
              std::ranges::binary_search(plan.subgraphs()[p].consumers, s))
            ++pending;
        if (pending != stage.pending) return which + "producers are counted wrong";
      }
    }
    if (left != r.left) return who + "subgraphs that have not run are counted wrong";
    if (running != r.running) return who + "running subgraphs are counted wrong";
    for (Index c = 0; c < r.copies.size(); ++c) {
      const CopyInfo& copy = r.copies[c];
      const Copy& planned = plan.copies()[c];
      const std::string which = who + "value " + std::to_string(planned.value) + " on device " +
                                std::to_string(planned.device) + ": ";
      const bool has_memory = copy.state == CopyState::Loading || copy.state == CopyState::Producing ||
                              copy.state == CopyState::Resident;
      if (has_memory) used[planned.device] += planned.bytes;
      // A copy that a running subgraph reads is there.
      if (copy.pins != pins[c]) return which + "readers that run are counted wrong";
      if (copy.pins != 0 && copy.state != CopyState::Resident && copy.state != CopyState::Loading)
        return which + "it left while a subgraph needs it";
      const bool can_leave = copy.state == CopyState::Resident && copy.pins == 0;
      if (can_leave != devices_[planned.device].evictable.contains({id, c}))
        return which + "it may be evicted and is not listed, or the reverse";
      if (can_leave) evictable[planned.device] += planned.bytes;
      in_sets += can_leave ? 1 : 0;
      // Each reader that has run counts once, whatever it took.
      const auto have_run = static_cast<std::uint64_t>(std::ranges::count_if(planned.reads, [&](Index place) {
        return r.stages[plan.order()[place]].state == StageState::Done;
      }));
      if (copy.read != have_run) return which + "readers that have run are counted wrong";
      if (r.end == RequestState::Running && has_memory && copy.state == CopyState::Resident &&
          copy.read == planned.reads.size())
        return which + "it is kept after its last reader";
      if (r.end == RequestState::Running && copy.state == CopyState::Freed &&
          copy.read != planned.reads.size())
        return which + "it was freed before its last reader";
    }
    for (Index v = 0; v < r.outside.size(); ++v) {
      std::uint64_t have_run = 0;
      for (const Index c : plan.values()[v].copies) have_run += r.copies[c].read;
      if (r.outside[v].read != have_run)
        return who + "value " + std::to_string(v) + ": readers of all devices are counted wrong";
    }
  }
  if (admitted != admitted_ || waiting != queued_.size()) return "requests are counted wrong";
  if (admitted_ > limits_.in_flight) return "more requests are admitted than are allowed";
  for (Index d = 0; d < devices_.size(); ++d) {
    const Device& device = devices_[d];
    const std::string which = "device " + std::to_string(d) + ": ";
    in_queues -= device.queue.size() + device.retries.size();
    in_sets -= device.evictable.size();
    if (device.counts.used != used[d] + device.dropping + device.slack)
      return which + "bytes are counted wrong";
    if (device.evictable_bytes != evictable[d]) return which + "bytes that may leave are counted wrong";
    if (limits_.devices[d].budget && device.counts.used > *limits_.devices[d].budget)
      return which + "more bytes are used than the budget has";
  }
  if (in_queues != 0 || in_sets != 0) return "a list holds something of no request";
  return {};
}

}  // namespace graphopt::execution
