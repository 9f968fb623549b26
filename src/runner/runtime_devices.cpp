#include "runner/runtime_devices.h"

#include <algorithm>
#include <utility>

namespace graphopt::runner {

using execution::Drop;
using execution::Fault;
using execution::Sequence;
using execution::Task;
using execution::Way;
using Clock = std::chrono::steady_clock;

void RuntimeDevices::add(Sequence request, Entry entry) {
  auto live = std::make_shared<Live>();
  live->entry = std::move(entry);
  const std::size_t values =
      std::max(live->entry.parts->named.values.size(),
               live->entry.whole != nullptr ? live->entry.whole->named.values.size() : 0);
  live->outside.resize(values);
  live->on.assign(devices_, std::vector<RuntimeValue>(values));
  const std::unique_lock lock(mutex_);
  live_[request] = std::move(live);
}

std::vector<RuntimeValue> RuntimeDevices::take(const execution::Scheduler::Ended& ended) {
  std::shared_ptr<Live> live;
  {
    const std::unique_lock lock(mutex_);
    live = std::move(live_.extract(ended.request).mapped());
  }
  const Stages& stages = live->stages(ended.way);
  if (ended.state != execution::RequestState::Done) return std::vector<RuntimeValue>(stages.outputs.size());
  return outputs_of(stages, live->inputs(ended.way), live->outside);
}

std::shared_ptr<RuntimeDevices::Live> RuntimeDevices::find(Sequence request) const {
  const std::shared_lock lock(mutex_);
  const auto found = live_.find(request);
  return found == live_.end() ? nullptr : found->second;
}

void RuntimeDevices::note_copy(TraceEvent::Kind kind, const Live& live, Sequence request, Way way,
                               Index value, Index device, Time begin) const {
  if (trace_ == nullptr) return;
  trace_->add({.kind = kind,
               .way = way,
               .request = request,
               .model = live.entry.model,
               .device = device,
               .what = value,
               .begin = begin,
               .end = Clock::now()});
}

RuntimeDevices::Outcome RuntimeDevices::store(Sequence request, Way way, Index value, Index device) {
  const auto begin = Clock::now();
  const auto live = find(request);
  live->outside[value] = live->on[device][value];
  note_copy(TraceEvent::Kind::Store, *live, request, way, value, device, begin);
  return {};
}

RuntimeDevices::Outcome RuntimeDevices::load(Sequence request, Way way, Index value, Index device) {
  const auto begin = Clock::now();
  const auto live = find(request);
  const std::optional<Index> input = live->stages(way).input_of[value];
  live->on[device][value] = input ? live->inputs(way)[*input] : live->outside[value];
  note_copy(TraceEvent::Kind::Load, *live, request, way, value, device, begin);
  return {};
}

RuntimeDevices::Outcome RuntimeDevices::run(const Task& task, std::size_t worker) {
  const auto live = find(task.request);
  const Stage& stage = live->stages(task.way).stages[task.subgraph];
  if (!stage.session) return {};
  std::vector<RuntimeValue>& memory = live->on[task.device];
  const RuntimeSession::Feeds feeds = feeds_of(stage, memory);
  RuntimeRun run(*stage.session->runtime());
  {
    const std::lock_guard lock(live->mutex);
    live->runs.insert(&run);
  }
  const auto begin = Clock::now();
  auto results = stage.session->run(feeds, &run);
  const auto end = Clock::now();
  if (task.way == Way::Devices) times_[live->entry.first_clock + task.subgraph].add(end - begin);
  if (trace_ != nullptr)
    trace_->add({.kind = TraceEvent::Kind::Run,
                 .way = task.way,
                 .request = task.request,
                 .model = live->entry.model,
                 .device = task.device,
                 .what = task.subgraph,
                 .worker = worker,
                 .begin = begin,
                 .end = end});
  {
    const std::lock_guard lock(live->mutex);
    live->runs.erase(&run);
  }
  if (!results) return Fault{results.error(), run.may_pass()};
  for (std::size_t i = 0; i < stage.made.size(); ++i)
    if (stage.made[i]) memory[*stage.made[i]] = std::move((*results)[i]);
  return {};
}

RuntimeDevices::Times RuntimeDevices::times(std::size_t clock) const {
  const Clocked& t = times_[clock];
  return {t.runs, std::chrono::nanoseconds(t.sum), std::chrono::nanoseconds(t.most)};
}

void RuntimeDevices::Clocked::add(std::chrono::nanoseconds time) {
  const auto ns = static_cast<std::int64_t>(time.count());
  ++runs;
  sum += ns;
  std::int64_t before = most;
  while (before < ns && !most.compare_exchange_weak(before, ns)) continue;
}

void RuntimeDevices::drop(const Drop& drop) {
  const auto live = find(drop.request);
  if (!live) return;
  if (drop.device) live->on[*drop.device][drop.value].reset();
  else live->outside[drop.value].reset();
}

void RuntimeDevices::stop(Sequence request) {
  const auto live = find(request);
  if (!live) return;
  const std::lock_guard lock(live->mutex);
  for (RuntimeRun* run : live->runs) run->stop();
}

}  // namespace graphopt::runner
