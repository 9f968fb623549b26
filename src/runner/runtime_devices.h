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

namespace graphopt::runner {

class RuntimeDevices : public execution::Devices {
 public:
  // How many there are.
  RuntimeDevices(std::size_t devices, std::size_t subgraphs) : devices_(devices), times_(subgraphs) {}

  // What a request runs on. Both outlive it; `whole` may be null. `inputs`: by input of the network, null for
  // one that is left to its default.
  void add(execution::Sequence request, const Stages& parts, const Stages* whole,
           std::vector<RuntimeValue> inputs);
  // Removes a request that has ended, and returns its outputs, by output of the network; all are null
  // where it is not Done.
  std::vector<RuntimeValue> take(const execution::Scheduler::Ended& ended);

  struct Times {
    std::uint64_t runs = 0;
    std::chrono::nanoseconds sum{0}, most{0};
  };
  Times times(Index subgraph) const;  // of its runs so far, those that failed too

  Outcome store(execution::Sequence request, execution::Way way, Index value, Index device) override;
  Outcome load(execution::Sequence request, execution::Way way, Index value, Index device) override;
  Outcome run(const execution::Task& task, std::size_t worker) override;
  void drop(const execution::Drop& drop) override;
  void stop(execution::Sequence request) override;

 private:
  struct Live {
    const Stages* parts = nullptr;
    const Stages* whole = nullptr;
    std::vector<RuntimeValue> inputs, outside;
    std::vector<std::vector<RuntimeValue>> on;  // by device, then by value
    std::mutex mutex;
    std::set<RuntimeRun*> runs;  // guarded by the mutex
  };
  std::shared_ptr<Live> find(execution::Sequence request) const;
  static const Stages& stages_of(const Live& live, execution::Way way) {
    return way == execution::Way::Devices ? *live.parts : *live.whole;
  }

  struct Clocked {
    std::atomic<std::uint64_t> runs = 0;
    std::atomic<std::int64_t> sum = 0, most = 0;  // ns
    void add(std::chrono::nanoseconds time);
  };

  const std::size_t devices_;
  std::vector<Clocked> times_;  // by subgraph of the parts
  mutable std::shared_mutex mutex_;
  std::unordered_map<execution::Sequence, std::shared_ptr<Live>> live_;
};

}  // namespace graphopt::runner
