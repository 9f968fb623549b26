#include "execution/pool.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace graphopt::execution {

Pool::Pool(Options options, Devices& devices)
    : devices_(devices), limit_(options.limits.in_flight), scheduler_(options.limits) {
  const auto count = static_cast<Index>(options.workers.size());
  for (Index d = 0; d < count; ++d) {
    if (groups_.empty() || !options.one_thread) groups_.push_back(std::make_unique<Group>());
    groups_.back()->devices.push_back(d);
  }
  try {
    for (const auto& group : groups_) {
      const std::size_t threads = options.one_thread ? 1 : options.workers[group->devices.front()];
      for (std::size_t worker = threads; worker-- > 0;) group->free.push_back(worker);
    }
    for (const auto& group : groups_) {
      for (std::size_t i = group->free.size(); i-- > 0;)
        threads_.emplace_back([this, g = group.get()](const std::stop_token& stop) { work(stop, *g); });
    }
    threads_.emplace_back([this](const std::stop_token& stop) { keep_time(stop); });
  } catch (...) {
    end_threads();  // those that there are wait, and would be waited for
    throw;
  }
}

Pool::~Pool() {
  cancel_all();
  {
    Lock lock(mutex_);
    has_ended_.wait(lock, [this] { return scheduler_.unfinished() == 0; });
  }
  end_threads();
}

void Pool::end_threads() {
  for (std::jthread& t : threads_) t.request_stop();
  {
    // A thread that has looked at its token and not waited yet is woken, too.
    const Lock lock(mutex_);
    for (const auto& group : groups_) group->work.notify_all();
  }
  threads_.clear();
}

Nanoseconds Pool::now() const {
  const auto since = std::chrono::steady_clock::now() - begin_;
  // Never 0, which says that there is no deadline.
  return static_cast<Nanoseconds>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count()) + 1;
}

// --- requests
// -----------------------------------------------------------------------------------------------

void Pool::submit(Sequence request, Scheduler::Submission submission, std::chrono::nanoseconds timeout) {
  Lock lock(mutex_);
  has_room_.wait(lock, [this] { return has_room(); });
  enter(request, std::move(submission), timeout);
}

bool Pool::try_submit(Sequence request, Scheduler::Submission submission, std::chrono::nanoseconds timeout) {
  const Lock lock(mutex_);
  if (!has_room()) return false;
  enter(request, std::move(submission), timeout);
  return true;
}

void Pool::enter(Sequence request, Scheduler::Submission submission, std::chrono::nanoseconds timeout) {
  const Nanoseconds at = now();
  if (timeout.count() > 0) submission.deadline = at + static_cast<Nanoseconds>(timeout.count());
  submitted_[request] = at;
  scheduler_.submit(request, std::move(submission), at);
  if (timeout.count() > 0) timer_.notify_all();
  after_change();
}

Pool::Ended Pool::wait(Sequence request) {
  Lock lock(mutex_);
  has_ended_.wait(lock, [&] { return ended_.contains(request); });
  return std::move(ended_.extract(request).mapped());
}

std::optional<Pool::Ended> Pool::wait_any() {
  Lock lock(mutex_);
  has_ended_.wait(lock, [&] { return !ended_.empty() || scheduler_.unfinished() == 0; });
  if (ended_.empty()) return std::nullopt;
  return std::move(ended_.extract(ended_.begin()).mapped());
}

void Pool::cancel(Sequence request) {
  Lock lock(mutex_);
  drop(scheduler_.cancel(request, now()), lock);
  lock.unlock();
  devices_.stop(request);
}

void Pool::cancel_all() {
  std::vector<Sequence> all;
  {
    const Lock lock(mutex_);
    for (const auto& [request, at] : submitted_) all.push_back(request);
  }
  for (const Sequence request : all) cancel(request);
}

DeviceCounts Pool::counts(Index device) const {
  const Lock lock(mutex_);
  return scheduler_.counts(device);
}

// --- threads
// ------------------------------------------------------------------------------------------------

void Pool::work(const std::stop_token& stop, Group& own) {
  Lock lock(mutex_);
  while (!stop.stop_requested()) {
    const Chosen chosen = choose(own);
    assert(scheduler_.broken().empty());
    if (chosen.task) {
      const std::size_t worker = chosen.group->free.back();
      chosen.group->free.pop_back();
      after_change();
      carry_out(*chosen.task, worker, lock);
      chosen.group->free.push_back(worker);
    } else {
      ++own.idle;
      own.work.wait(lock);
      --own.idle;
    }
  }
}

// The mutex is held.
Pool::Chosen Pool::choose(Group& own) {
  Chosen out;
  const auto take = [&](Group& group) {
    for (const Index d : group.devices)
      if (!group.free.empty() && !out.task) out = {scheduler_.next(d), &group};
    return out.task.has_value();
  };
  if (take(own)) return out;
  for (const auto& group : groups_)
    if (group.get() != &own && take(*group)) return out;
  return {};
}

void Pool::carry_out(const Task& task, std::size_t worker, Lock& lock) {
  bool evicting = false;
  std::optional<Fault> fault = try_task(task, worker, lock, evicting);
  expire(lock);  // what ends too late is no result, whether the timer has woken or not
  Scheduler::Drops drops;
  if (fault) {
    drops = scheduler_.failed(task, fault->may_pass, evicting, now());
    if (submitted_.contains(task.request)) errors_[task.request] = std::move(fault->error);
  } else {
    drops = scheduler_.done(task, now());
  }
  after_change(true);
  drop(std::move(drops), lock, true);
}

// The mutex is held before and after, and not meanwhile.
std::optional<Fault> Pool::try_task(const Task& task, std::size_t worker, Lock& lock, bool& evicting) {
  lock.unlock();
  std::optional<Fault> fault;
  evicting = true;
  std::size_t saved = 0;
  for (; saved < task.evicted.size() && !fault; ++saved)
    if (const Task::Evicted& e = task.evicted[saved]; e.store)
      fault = devices_.store(e.request, e.way, e.value, task.device);
  if (fault)  // the copies stay where they are, and nowhere else
    for (std::size_t i = 0; i < saved; ++i)
      if (const Task::Evicted& e = task.evicted[i]; e.store)
        devices_.drop({e.request, e.value, std::nullopt, 0});
  if (!fault && !task.evicted.empty()) {
    for (const Task::Evicted& e : task.evicted) devices_.drop({e.request, e.value, task.device, 0});
    lock.lock();
    Scheduler::Drops drops = scheduler_.evicted(task, now());
    after_change();
    drop(std::move(drops), lock);
    lock.unlock();
  }
  if (!fault) {
    evicting = false;
    for (const Index v : task.loads)
      if (!fault) fault = devices_.load(task.request, task.way, v, task.device);
    if (!fault) fault = devices_.run(task, worker);
    std::size_t stored = 0;
    for (; stored < task.stores.size() && !fault; ++stored)
      fault = devices_.store(task.request, task.way, task.stores[stored], task.device);
    if (fault)
      for (std::size_t i = 0; i < stored; ++i) devices_.drop({task.request, task.stores[i], std::nullopt, 0});
  }
  lock.lock();
  return fault;
}

// The mutex is held before and after.
void Pool::drop(Scheduler::Drops drops, Lock& lock, bool takes) {
  while (!drops.empty()) {
    lock.unlock();
    for (const Drop& d : drops) devices_.drop(d);
    lock.lock();
    drops = scheduler_.dropped(drops, now());
    after_change(takes);
  }
  after_change(takes);
}

// Hands on what has ended, and wakes who has something to do. The mutex is held.
void Pool::after_change(bool takes) {
  assert(scheduler_.broken().empty());
  bool any = false;
  for (const Scheduler::Ended& e : scheduler_.take_ended()) {
    Ended out;
    static_cast<Scheduler::Ended&>(out) = e;
    out.submitted = submitted_.extract(out.request).mapped();
    out.ended = now();
    if (auto error = errors_.extract(out.request)) out.error = std::move(error.mapped());
    ended_.emplace(out.request, std::move(out));
    any = true;
  }
  if (any) {
    has_ended_.notify_all();
    has_room_.notify_all();
  }
  for (const auto& group : groups_) {
    const auto has_work = [this](Index d) { return scheduler_.has_work(d); };
    if (group->free.empty() || std::ranges::none_of(group->devices, has_work)) continue;
    if (std::exchange(takes, false)) continue;
    const auto is_idle = [](const auto& g) { return g->idle > 0; };
    const auto other = std::ranges::find_if(groups_, is_idle);
    if (group->idle > 0) group->work.notify_one();
    else if (other != groups_.end()) (*other)->work.notify_one();
  }
}

void Pool::keep_time(const std::stop_token& stop) {
  Lock lock(mutex_);
  while (!stop.stop_requested()) {
    const Nanoseconds deadline = scheduler_.next_deadline();
    if (deadline == 0) {
      timer_.wait(lock, stop, [this] { return scheduler_.next_deadline() != 0; });
      continue;
    }
    if (now() < deadline) {
      timer_.wait_until(lock, stop, begin_ + std::chrono::nanoseconds(deadline), [&] {
        const Nanoseconds first = scheduler_.next_deadline();
        return first == 0 || first < deadline;
      });
      continue;
    }
    expire(lock);
  }
}

// Ends the requests whose deadline is there. The mutex is held before and after.
void Pool::expire(Lock& lock) {
  const Nanoseconds deadline = scheduler_.next_deadline();
  if (deadline == 0 || now() < deadline) return;
  std::vector<Sequence> expired;
  drop(scheduler_.expire(now(), &expired), lock);
  lock.unlock();
  for (const Sequence request : expired) devices_.stop(request);
  lock.lock();
}

}  // namespace graphopt::execution
