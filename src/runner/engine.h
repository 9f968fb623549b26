// Runs requests on a partitioned model, from its manifest alone: the reference meaning of a manifest.
//
// Problem: a manifest says how parts belong together; somebody has to obey it, and several requests at once
// keep several devices busy. Method: load() checks the files against the manifest and opens a session for
// each content; submit() hands a request to a pool of threads (execution/pool.h), which knows what may run
// when and what each device's memory holds; wait() returns the outputs.
//
//   Engine::load("net.manifest.json", {})  ->  submit({{"x", ...}})  ->  wait(...)  =>  {{"y", ...}}
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "execution/pool.h"
#include "runner/runtime_devices.h"
#include "runtime/inputs.h"

namespace graphopt::runner {

enum class Mode : std::uint8_t {
  Overlap,  // several requests at once
  Async1,   // one request at a time, whose subgraphs run at once where they can
  Sync,     // one subgraph at a time, in the order of the manifest, on one thread
};

struct EngineOptions {
  std::string ort;  // the library of ONNX Runtime; empty: it is searched (runtime/ort.h)
  Mode mode = Mode::Overlap;
  std::size_t in_flight = 0;  // requests at once; 0: as many as keep the devices busy and fit the budgets
  // By id of a device; without an entry 1 worker, and the budget of the manifest.
  std::map<std::string, std::size_t> workers;
  std::map<std::string, std::uint64_t> budgets;  // bytes
  std::uint64_t retries = 0;                     // of a subgraph, after an error that may pass
  bool has_fallback = true;                      // OUT as a whole on the host, where the parts fail
  bool loads_whole = false;                      // also without a fallback
  bool optimize = true;                          // sessions, with all of ONNX Runtime's own optimizations
  schedule::Retain retain = schedule::Retain::Outputs;
};

struct Answer {
  execution::RequestState state = execution::RequestState::Done;
  execution::Way way = execution::Way::Devices;
  std::vector<NamedValue> outputs;  // in the order of the network's; empty unless it is Done
  std::optional<Error> error;       // why it is not, or why it was answered by the fallback
  std::uint64_t retries = 0;
  std::chrono::nanoseconds latency{0};
};

class Engine {
 public:
  // Errors: Input of what is wrong with the manifest or its files, NotChecked without ONNX Runtime or where
  // it does not load a part, Usage for an unknown device.
  static Result<std::unique_ptr<Engine>> load(const std::string& manifest, const EngineOptions& options);
  ~Engine();  // cancels what has not ended
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const deploy::Manifest& manifest() const { return manifest_; }
  std::size_t in_flight() const { return limits_.in_flight; }
  bool has_sizes() const { return plan_->has_sizes(); }  // bytes of all values are known
  std::size_t workers(Index device) const { return workers_[device]; }
  std::string runtime() const { return sessions_->runtime()->version(); }
  std::size_t sessions() const { return sessions_->loaded(); }

  // Thread-safe, as all below. Waits while as many requests are queued as are in flight. The inputs are those
  // of the manifest, each once, and those with a default may be left out. timeout: 0: none. Error: Usage for
  // inputs that the network does not take.
  Result<execution::Sequence> submit(const std::vector<NamedValue>& inputs,
                                     std::chrono::nanoseconds timeout = {});
  // Waits until the request has ended. Each request is waited for once.
  Answer wait(execution::Sequence request);
  void cancel(execution::Sequence request) { pool_->cancel(request); }

  // Runs a request by itself, on the thread of the caller, one subgraph after the other: on the parts, or on
  // OUT as a whole, which was loaded if the options say so. Not counted. For comparisons.
  Result<std::vector<NamedValue>> run_alone(const std::vector<NamedValue>& inputs, execution::Way way) const;

  execution::DeviceCounts counts(Index device) const { return pool_->counts(device); }
  // Of all runs of a subgraph so far, those of the fallback apart.
  RuntimeDevices::Times times(Index subgraph) const { return devices_->times(subgraph); }
  const Stages& parts() const { return parts_; }
  std::optional<std::uint64_t> budget(Index device) const { return limits_.devices[device].budget; }

 private:
  Engine() = default;
  Status open(const std::string& path, const EngineOptions& options);
  Status check_files(const std::string& path) const;
  Status read_options(const EngineOptions& options);
  std::size_t usual_window() const;
  Result<std::vector<RuntimeValue>> values_of(const std::vector<NamedValue>& inputs) const;
  Result<std::vector<NamedValue>> named_outputs(const std::vector<RuntimeValue>& values) const;

  deploy::Manifest manifest_;
  execution::Limits limits_;
  std::vector<std::size_t> workers_;  // by device
  std::unique_ptr<Sessions> sessions_;
  Stages parts_;
  std::optional<Stages> whole_;
  std::shared_ptr<const execution::Plan> plan_, whole_plan_;
  std::unique_ptr<RuntimeDevices> devices_;
  std::unique_ptr<execution::Pool> pool_;  // gone before what it uses
};

}  // namespace graphopt::runner
