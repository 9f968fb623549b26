// The state machine of requests on devices: what runs next, what is in a device's memory, and what leaves it.
//
// Problem: several requests run at once on devices with little memory. Each value has to stay until its last
// reader has run and no longer, a subgraph that waits for memory must not keep others from what they need,
// and failures, cancels and timeouts must leave nothing behind.
// Method: bookkeeping without threads, tensors and clocks. Who drives it asks next() for a device's next
// task, carries it out, and reports how it went; each call is one transition. So the same code runs below a
// lock with real threads (pool.h), and below a simulated clock in tests.
//   - A device's queue is ordered by the sequence of requests, then by the place in the plan. Only its head
//   is
//     looked at, and so nobody overtakes it for memory.
//   - A subgraph gets its missing inputs, its outputs and its workspace at once, or nothing.
//   - Room is made by evicting copies that no running subgraph needs: of the youngest request first, then the
//     one whose next reader is the furthest in the plan, then the larger one. A copy that is nowhere else is
//     stored before.
//   - After an error that may pass, the same subgraph runs again, and keeps its memory meanwhile. After the
//     last try the request starts anew from its inputs with its fallback, where it has one.
//   - After several failures in a row a device is not given new requests that have a fallback, but for one
//   from
//     time to time that tries it.
// Why nothing waits for ever: what waits holds no memory that cannot be evicted, and running tasks end. The
// oldest unfinished request is at the head of a queue or running, and once nothing runs, all of the memory
// can be evicted for the head, which fits the budget by itself (Plan::misfit). Sequences only grow, so each
// request becomes the oldest.
//
//   budget 100; request 1 runs a (60 bytes), request 2 waits with b (60)    =>    done(a): b gets its memory
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "execution/plan.h"

namespace graphopt::execution {

using Sequence = std::uint64_t;  // of a request: its number; the oldest request is that with the lowest one
using Nanoseconds = std::uint64_t;

enum class RequestState : std::uint8_t {
  Queued,
  Running,  // it was admitted
  Done,
  Failed,
  Cancelled,
  TimedOut,
};
enum class Way : std::uint8_t { Devices, Fallback };
// Why a request did not get to its end on devices.
enum class FailureKind : std::uint8_t {
  None,
  Error,   // of a subgraph, after all tries
  Misfit,  // a subgraph needs more than the budget of its device
};
struct Failure {
  FailureKind kind = FailureKind::None;
  Index subgraph = 0;  // Misfit: of the plan of the devices; Error: of that of the last way that was tried
};

// A copy of a value that leaves: of a device, or the one outside.
struct Drop {
  Sequence request = 0;
  Index value = 0;
  std::optional<Index> device;  // none: the copy outside
  std::uint64_t bytes = 0;
};

// The run of a subgraph, in this order: the evicted copies are stored where it is said, and dropped; then
// evicted() is called. The loads are copied from outside; then the subgraph runs; then the stores are copied
// to the outside. Then done() or failed() is called.
struct Task {
  struct Evicted {
    Sequence request = 0;
    Way way = Way::Devices;
    Index value = 0;
    bool store = false;  // there is no copy outside
  };
  Sequence request = 0;
  Way way = Way::Devices;
  Index device = 0, subgraph = 0;
  std::vector<Evicted> evicted;
  std::vector<Index> loads, stores;  // values
  std::uint64_t tries = 0;           // that failed before
  bool has_memory = false;           // it kept that of the try before; loads are those that are still missing
  std::uint64_t slack = 0;           // bytes; the scheduler's own
};

struct DeviceLimits {
  std::optional<std::uint64_t> budget;  // bytes of tensors; none: no end
};

struct Limits {
  std::vector<DeviceLimits> devices;   // the last one is the host
  std::size_t in_flight = 1;           // requests that are admitted at once
  std::uint64_t retries = 0;           // of a subgraph, after errors that may pass
  bool in_order = false;               // one subgraph at a time, in the order of the plan; in_flight is 1
  std::uint64_t failures_to_open = 3;  // of a device in a row
  Nanoseconds probe_interval = 1'000'000'000;  // between requests that try such a device
};

// Of all requests so far.
struct DeviceCounts {
  std::uint64_t used = 0, peak = 0;  // bytes, now and at most
  std::uint64_t loads = 0, loaded_bytes = 0, stores = 0, stored_bytes = 0;
  std::uint64_t spills = 0, evictions = 0;  // evicted copies that were stored for it, and all
  std::uint64_t runs = 0, failures = 0, opened = 0;
  std::uint64_t waits = 0;  // subgraphs at the head of the queue for which there was no memory at first
};

class Scheduler {
 public:
  explicit Scheduler(Limits limits);

  // What a request runs: `plan`, or `fallback` where that fails or a device is not to be used; null: it has
  // none. Both have as many devices as the limits. deadline: 0: none.
  struct Submission {
    std::shared_ptr<const Plan> plan, fallback;
    Nanoseconds deadline = 0;
  };
  // `id` is that of no other request.
  void submit(Sequence id, Submission request, Nanoseconds now);

  bool has_work(Index device) const {
    return !devices_[device].queue.empty() || !devices_[device].retries.empty();
  }
  // Returns the next task of a device, which begins now; nothing while there is none, or no memory for it.
  std::optional<Task> next(Index device);
  // What the calls below return leaves its memory; dropped() is called when that was done.
  using Drops = std::vector<Drop>;
  Drops evicted(const Task& task, Nanoseconds now);
  Drops done(const Task& task, Nanoseconds now);
  // An error of a load, the run or a store, of which nothing is outside; `evicting`: of the store of an
  // evicted copy, before evicted() was called: all of them are on the device as before, and none that was to
  // be stored is outside. may_pass: it is worth another try.
  Drops failed(const Task& task, bool may_pass, bool evicting, Nanoseconds now);
  Drops dropped(const Drops& drops, Nanoseconds now);
  // Without effect on a request that has ended.
  Drops cancel(Sequence request, Nanoseconds now);
  // Those whose deadline is not after `now`; adds them to `expired`.
  Drops expire(Nanoseconds now, std::vector<Sequence>* expired = nullptr);
  // Returns the earliest deadline of requests that have not ended; 0: none.
  Nanoseconds next_deadline() const;

  // Returns the requests that ended since the last call, as they ended. Inputs of the network are the
  // caller's all the time, and of a request that is Done the copies outside of the network's outputs are from
  // here on.
  struct Ended {
    Sequence request = 0;
    RequestState state = RequestState::Done;
    Way way = Way::Devices;
    Failure failure;  // also of one whose fallback is Done
    std::uint64_t retries = 0;
  };
  std::vector<Ended> take_ended();

  std::size_t unfinished() const { return requests_.size(); }  // requests
  const DeviceCounts& counts(Index device) const { return devices_[device].counts; }
  bool is_open(Index device) const { return devices_[device].open; }

  // Returns what is wrong with the state, "" where nothing is: for assertions. It looks at everything.
  std::string broken() const;

 private:
  enum class StageState : std::uint8_t { Pending, Ready, Running, Retry, Done, Failed };
  struct Stage {
    StageState state = StageState::Pending;
    std::uint64_t pending = 0;  // producers that have not run
    std::uint64_t tries = 0;
  };
  enum class CopyState : std::uint8_t {
    Absent,
    Loading,
    Producing,
    Resident,
    Leaving,  // it is being evicted
    Evicted,
    Freed,
  };
  struct CopyInfo {
    CopyState state = CopyState::Absent;
    std::uint64_t read = 0;  // readers on the device that have run
    std::uint64_t pins = 0;  // running subgraphs that need it
  };
  struct OutsideInfo {
    bool is_there = false;
    std::uint64_t read = 0;  // readers on all devices that have run
  };
  struct Request {
    Submission submission;
    const Plan* plan = nullptr;  // of the way
    Way way = Way::Devices;
    RequestState state = RequestState::Queued;
    RequestState end =
        RequestState::Running;  // what it becomes when nothing of it is in use; Running: goes on
    bool restarts = false;      // it begins its fallback then
    Failure failure;
    std::vector<Stage> stages;
    std::vector<CopyInfo> copies;
    std::vector<OutsideInfo> outside;
    std::size_t left = 0;  // subgraphs that have not run
    Index next_place = 0;  // with in_order
    std::uint64_t running = 0, leaving = 0,
                  drops = 0;  // tasks; copies that tasks of others evict; open drops
    std::uint64_t retries = 0;
  };
  using Key = std::pair<Sequence, Index>;  // request; place in the plan, or copy
  struct Device {
    std::set<Key> queue;
    // Those that have their memory and are to run again. They do not queue: its head might wait for what they
    // hold.
    std::set<Key> retries;
    std::set<Key> evictable;  // copies that are Resident and have no pin
    std::uint64_t evictable_bytes = 0;
    std::uint64_t dropping = 0;  // bytes of drops that are not done
    std::uint64_t slack = 0;     // bytes of copies that are being evicted and that no task gets
    std::optional<Key> waiting;  // the last one that waited for memory
    std::uint64_t failures = 0;  // in a row
    bool open = false;
    Nanoseconds next_probe = 0;
    DeviceCounts counts;
  };

  void admit(Drops& drops, Nanoseconds now);
  bool is_usable(const Plan& plan, Nanoseconds now);
  bool fits(const Plan& plan, Failure& failure) const;
  void start(Sequence id, Request& r, Way way);
  void push(Sequence id, Request& r, Index subgraph);
  Task begin(Sequence id, Request& r, Index subgraph);
  std::optional<std::vector<Key>> victims(Index device, const Request& r, Index subgraph, Sequence id,
                                          std::uint64_t missing) const;
  Index next_read(const Request& r, Index copy) const;
  void set_evictable(Sequence id, const Request& r, Index copy, bool is);
  void pin(Sequence id, Request& r, Index copy);
  void unpin(Sequence id, Request& r, Index copy);
  void free_copy(Sequence id, Request& r, Index copy, Drops& drops);
  void drop_outside(Sequence id, Request& r, Index value, Drops& drops);
  void count_reads(Sequence id, Request& r, const PlannedSubgraph& s, Drops& drops);
  void release(Sequence id, Request& r, Index subgraph, bool had_memory, Drops& drops);
  void count_failure(Index device, Nanoseconds now);
  void give_up(Sequence id, Request& r, Index subgraph, Drops& drops);
  void begin_end(Sequence id, Request& r, RequestState end, bool restarts, Drops& drops);
  void settle(Sequence id, Request& r, Drops& drops);

  const Limits limits_;
  std::vector<std::optional<std::uint64_t>> budgets_;  // those of the limits
  std::vector<Device> devices_;
  std::map<Sequence, Request> requests_;  // that have not ended
  std::deque<Sequence> queued_;
  std::set<std::pair<Nanoseconds, Sequence>> deadlines_;
  std::size_t admitted_ = 0;  // requests
  std::vector<Ended> ended_;
};

}  // namespace graphopt::execution
