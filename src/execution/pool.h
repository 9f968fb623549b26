// Threads that carry out what the state machine (scheduler.h) says: a few for each device.
//
// Problem: devices compute and copy for a long time, in which nobody may wait who does not need the result.
// Method: one mutex guards the state machine, and is held for its bookkeeping alone: no run, no copy and no
// call of Devices happens below it. There are as many threads as devices have workers together. A thread
// takes a task, carries it out, reports, and takes the next one: of its own device, or of another one that
// has a worker to spare, since to wake a thread takes longer than to run a small subgraph. It wakes others
// only for what it does not take itself. One more thread waits for deadlines. Why nothing waits for ever: see
// scheduler.h; after each transition the thread that made it takes what can begin, or wakes a thread for it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "execution/scheduler.h"
#include "graphopt/error.h"

namespace graphopt::execution {

struct Fault {
  Error error;
  bool may_pass = false;  // it is worth another try
};

// What devices do. Several threads call at once, for different tasks; calls with the same request and value
// follow each other, but for loads of the copy outside for several devices. Nothing throws.
class Devices {
 public:
  virtual ~Devices() = default;
  using Outcome = std::optional<Fault>;  // nothing: it went well

  // Copies a value from the device to the outside. After an error there may be a copy: it is dropped.
  virtual Outcome store(Sequence request, Way way, Index value, Index device) = 0;
  // Copies a value from the outside to the device. After an error there may be a copy: it is dropped.
  virtual Outcome load(Sequence request, Way way, Index value, Index device) = 0;
  // Runs a subgraph; its inputs are on the device, and its outputs are after it. `worker`: of the device,
  // from 0 on.
  virtual Outcome run(const Task& task, std::size_t worker) = 0;
  // Removes a copy, where it is there.
  virtual void drop(const Drop& drop) = 0;
  // Asks a run of a request to end early; its outcome is not used. May do nothing.
  virtual void stop(Sequence request) = 0;
};

class Pool {
 public:
  struct Options {
    Limits limits;
    std::vector<std::size_t> workers;  // threads by device, at least 1
    bool one_thread = false;           // for all devices
  };
  struct Ended : Scheduler::Ended {
    std::optional<Error> error;            // the last one of a device
    Nanoseconds submitted = 0, ended = 0;  // of the pool's clock
  };

  // `devices` outlives the pool. Throws std::system_error where the system gives no more threads.
  Pool(Options options, Devices& devices);
  ~Pool();  // cancels what has not ended, and waits until it has
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Returns the number of the next request, by which Devices know its inputs before it is submitted. All that
  // follow are thread-safe.
  Sequence reserve() { return next_.fetch_add(1); }
  // Submits a request by a number of reserve(), each once. Waits while limits.in_flight of them are queued.
  // timeout: 0: none.
  void submit(Sequence request, Scheduler::Submission submission, std::chrono::nanoseconds timeout);
  // The same; returns false, and submits nothing, where it would wait.
  bool try_submit(Sequence request, Scheduler::Submission submission, std::chrono::nanoseconds timeout);

  // Waits until a request has ended. Each one is waited for once.
  Ended wait(Sequence request);
  // Waits until any request has ended. One thread waits at a time, and none by wait() meanwhile. Returns
  // nothing where none is left.
  std::optional<Ended> wait_any();
  void cancel(Sequence request);
  void cancel_all();

  DeviceCounts counts(Index device) const;
  Nanoseconds now() const;  // since the pool was made

 private:
  using Lock = std::unique_lock<std::mutex>;
  // Devices that share workers: one, or with one_thread all.
  struct Group {
    std::vector<Index> devices;
    std::vector<std::size_t> free;  // workers that carry out nothing
    std::condition_variable work;   // of the threads that were made for it
    std::size_t idle = 0;           // of them: those that wait
  };
  struct Chosen {
    std::optional<Task> task;
    Group* group = nullptr;  // of its device
  };

  bool has_room() const { return scheduler_.unfinished() < 2 * limit_; }
  void enter(Sequence request, Scheduler::Submission submission, std::chrono::nanoseconds timeout);
  void work(const std::stop_token& stop, Group& own);
  Chosen choose(Group& own);
  void carry_out(const Task& task, std::size_t worker, Lock& lock);
  std::optional<Fault> try_task(const Task& task, std::size_t worker, Lock& lock, bool& evicting);
  // `takes`: the thread chooses next, so that there is nobody to wake for one of the groups that have work.
  void drop(Scheduler::Drops drops, Lock& lock, bool takes = false);
  void after_change(bool takes = false);
  void keep_time(const std::stop_token& stop);
  void expire(Lock& lock);
  void end_threads();

  Devices& devices_;
  const std::size_t limit_;  // requests
  std::atomic<Sequence> next_ = 0;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();

  mutable std::mutex mutex_;
  Scheduler scheduler_;
  std::map<Sequence, Nanoseconds> submitted_;
  std::map<Sequence, Error> errors_;
  std::map<Sequence, Ended> ended_;
  std::condition_variable has_room_, has_ended_;
  std::vector<std::unique_ptr<Group>> groups_;
  std::condition_variable_any timer_;
  std::vector<std::jthread> threads_;
};

}  // namespace graphopt::execution
