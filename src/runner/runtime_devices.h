// The devices of a manifest as ONNX Runtime has them: their runs are sessions, and their memory is its own.
//
// Problem: values pass between subgraphs of one request, of which several run at once. Method: a value is a
// handle of the runtime, and a copy on another device of the same memory is the same handle; so nothing is
// copied between parts on the CPU. Each request has an array of handles for each device and for the outside.
// Calls for one value follow each other (execution::Devices), so that an element needs no lock; one lock
// guards the table of requests alone.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "execution/pool.h"
#include "runner/stages.h"
#include "runner/trace.h"

namespace graphopt::runner {

class RuntimeDevices : public execution::Devices {
 public:
  // How many there are: devices, and subgraphs of all models. `trace`: null, or it outlives this.
  RuntimeDevices(std::size_t devices, std::size_t subgraphs, Trace* trace)
      : devices_(devices), times_(subgraphs), trace_(trace) {}

  // What a request runs in. The stages outlive it. Inputs are by input of the model, null for one that is
  // left to its default.
  struct Entry {
    const Stages* parts = nullptr;
    std::vector<RuntimeValue> inputs;
    const Stages* whole = nullptr;  // of the fallback; may be null
    std::vector<RuntimeValue> whole_inputs;
    std::size_t model = 0;        // what traces call the parts
    std::size_t first_clock = 0;  // of the parts' subgraphs
  };
  void add(execution::Sequence request, Entry entry);
  // Removes a request that has ended, and returns its outputs, by output of the network; all are null
  // where it is not Done.
  std::vector<RuntimeValue> take(const execution::Scheduler::Ended& ended);

  struct Times {
    std::uint64_t runs = 0;
    std::chrono::nanoseconds sum{0}, most{0};
  };
  // Of the runs of a subgraph so far, those that failed too. `clock`: first_clock of its model, and its
  // index.
  Times times(std::size_t clock) const;

  Outcome store(execution::Sequence request, execution::Way way, Index value, Index device) override;
  Outcome load(execution::Sequence request, execution::Way way, Index value, Index device) override;
  Outcome run(const execution::Task& task, std::size_t worker) override;
  void drop(const execution::Drop& drop) override;
  void stop(execution::Sequence request) override;

 private:
  struct Live {
    Entry entry;
    std::vector<RuntimeValue> outside;
    std::vector<std::vector<RuntimeValue>> on;  // by device, then by value
    std::mutex mutex;
    std::set<RuntimeRun*> runs;  // guarded by the mutex

    const Stages& stages(execution::Way way) const {
      return way == execution::Way::Devices ? *entry.parts : *entry.whole;
    }
    const std::vector<RuntimeValue>& inputs(execution::Way way) const {
      return way == execution::Way::Devices ? entry.inputs : entry.whole_inputs;
    }
  };
  std::shared_ptr<Live> find(execution::Sequence request) const;

  using Time = TraceEvent::Time;
  void note_copy(TraceEvent::Kind kind, const Live& live, execution::Sequence request, execution::Way way,
                 Index value, Index device, Time begin) const;

  struct Clocked {
    std::atomic<std::uint64_t> runs = 0;
    std::atomic<std::int64_t> sum = 0, most = 0;  // ns
    void add(std::chrono::nanoseconds time);
  };

  const std::size_t devices_;
  std::vector<Clocked> times_;
  Trace* const trace_;
  mutable std::shared_mutex mutex_;
  std::unordered_map<execution::Sequence, std::shared_ptr<Live>> live_;
};

}  // namespace graphopt::runner
