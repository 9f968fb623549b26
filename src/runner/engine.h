// Runs requests on a partitioned model, from its manifest alone: the reference meaning of a manifest.
//
// Problem: a manifest says how parts belong together; somebody has to obey it, and several requests at once
// keep several devices busy. Method: load() checks the files against the manifest and opens a session for
// each content; submit() hands a request to a pool of threads (execution/pool.h), which knows what may run
// when and what each device's memory holds; wait() returns the outputs. With buckets a request runs in the
// smallest model that holds it, on padded inputs, and its outputs are cut; without such a model, and where
// parts fail, it runs in OUT.
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
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "execution/pool.h"
#include "runner/bucket_request.h"
#include "runner/planned_model.h"
#include "runner/runtime_devices.h"
#include "runtime/inputs.h"

namespace graphopt::runner {

enum class Mode : std::uint8_t {
  Overlap,  // several requests at once
  Async1,   // one request at a time, whose subgraphs run at once where they can
  Sync,     // one subgraph at a time, in the order of the manifest, on one thread
};

inline constexpr std::size_t kMostWorkers = 256, kMostInFlight = 1024;

struct EngineOptions {
  std::string ort;  // the library of ONNX Runtime; empty: it is searched (runtime/ort.h)
  Mode mode = Mode::Overlap;
  // Requests at once, kMostInFlight at most; 0: as many as keep the devices busy and fit the budgets.
  std::size_t in_flight = 0;
  // By id of a device; without an entry 1 worker (kMostWorkers at most), and the budget of the manifest.
  std::map<std::string, std::size_t> workers;
  std::map<std::string, std::uint64_t> budgets;  // bytes
  std::uint64_t retries = 0;                     // of a subgraph, after an error that may pass
  bool has_fallback = true;                      // OUT as a whole on the host, where the parts fail
  bool loads_whole = false;                      // also without a fallback
  bool optimize = true;                          // sessions, with all of ONNX Runtime's own optimizations
  schedule::Retain retain = schedule::Retain::Outputs;
  std::set<std::string> on_host;  // devices whose parts run on the CPU, whatever execution provider they name
  std::size_t cores = 0;          // for all sessions that run at once; 0: those of the machine
  Trace* trace = nullptr;         // outlives the engine
};

struct Answer {
  execution::RequestState state = execution::RequestState::Done;
  execution::Way way = execution::Way::Devices;
  std::size_t model = 0;            // in whose parts it ran, of Engine::models()
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
  // The same for a manifest that was read from this path.
  static Result<std::unique_ptr<Engine>> load(const std::string& path, deploy::Manifest manifest,
                                              const EngineOptions& options);
  ~Engine();  // cancels what has not ended
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const deploy::Manifest& manifest() const { return manifest_; }
  std::size_t in_flight() const { return limits_.in_flight; }
  // OUT in its parts, and then the models of buckets, in the order of the manifest.
  std::size_t models() const { return models_.size(); }
  const Stages& model(std::size_t at) const { return models_[at].planned->stages(); }
  // OUT as a whole. Precondition: the options had a fallback, or loads_whole.
  const Stages& whole() const { return whole_->stages(); }
  // Returns the model that a request takes. Errors: as those of submit().
  Result<std::size_t> model_of(const std::vector<NamedValue>& inputs) const;
  std::size_t workers(Index device) const { return workers_[device]; }
  std::string runtime() const { return sessions_->runtime()->version(); }
  std::size_t sessions() const { return sessions_->loaded(); }
  // Why devices run on the CPU though they name an execution provider, by their ids.
  const std::map<std::string, std::string>& on_cpu() const { return sessions_->on_cpu(); }

  // Thread-safe, as all below. Waits while as many requests are queued as are in flight. The inputs are those
  // of the manifest, each once, and those with a default may be left out. timeout: 0: none. Error: Usage for
  // inputs that the network does not take.
  Result<execution::Sequence> submit(const std::vector<NamedValue>& inputs,
                                     std::chrono::nanoseconds timeout = {});
  // Waits until the request has ended. Each request is waited for once.
  Answer wait(execution::Sequence request);
  // Waits until any request has ended; none where none is left. One thread waits at a time, and none by
  // wait().
  std::optional<std::pair<execution::Sequence, Answer>> wait_any();
  void cancel(execution::Sequence request) { pool_->cancel(request); }

  // Runs a request by itself, on the thread of the caller, one subgraph after the other: in the parts of its
  // model, or in OUT as a whole, which was loaded if the options say so. Not counted. For comparisons.
  Result<std::vector<NamedValue>> run_alone(const std::vector<NamedValue>& inputs, execution::Way way) const;

  execution::DeviceCounts counts(Index device) const { return pool_->counts(device); }
  // Of all runs of a subgraph so far, those of the fallback apart.
  RuntimeDevices::Times times(std::size_t model, Index subgraph) const {
    return devices_->times(models_[model].first_clock + subgraph);
  }
  std::optional<std::uint64_t> budget(Index device) const { return limits_.devices[device].budget; }
  // Of all requests so far: the greatest peak of one that runs alone; none: not known of each.
  std::optional<std::uint64_t> planned_peak(Index device) const;

 private:
  struct Model {
    std::unique_ptr<PlannedModel> planned;
    std::size_t first_clock = 0;
  };
  // A request, ready to be run.
  struct Routed {
    std::size_t model = 0;
    Extents extents;  // of the request
    std::vector<RuntimeValue> inputs, whole_inputs;
    std::shared_ptr<const SizedPlan> plan, whole_plan;
  };
  // What is to be done with the outputs of a request.
  struct Sent {
    std::size_t model = 0;
    Extents extents;
  };

  Engine() = default;
  Status open(const std::string& path, const EngineOptions& options);
  Answer answer_of(execution::Pool::Ended ended);
  Status open_models(const EngineOptions& options);
  Status check_files(const std::string& path) const;
  Status read_options(const EngineOptions& options);
  std::size_t usual_window() const;
  std::size_t workers_in_use() const;
  Result<Routed> route(const std::vector<NamedValue>& inputs) const;
  Result<std::vector<RuntimeValue>> values_of(std::vector<NamedValue> inputs,
                                              const std::vector<deploy::NetworkValue>& wanted) const;
  Result<std::vector<NamedValue>> named_outputs(const std::vector<RuntimeValue>& values) const;
  // Cuts what a model of a bucket made.
  Result<std::vector<NamedValue>> true_outputs(const std::vector<RuntimeValue>& values, const Sent& sent,
                                               execution::Way way) const;

  deploy::Manifest manifest_;
  execution::Limits limits_;
  std::vector<std::size_t> workers_;  // by device
  std::unique_ptr<Sessions> sessions_;
  std::vector<Model> models_;
  std::optional<BucketRequests> buckets_;
  std::unique_ptr<PlannedModel> whole_;
  bool has_fallback_ = false;
  std::unique_ptr<RuntimeDevices> devices_;
  mutable std::mutex mutex_;
  std::map<execution::Sequence, Sent> sent_;           // guarded by the mutex, as are the next ones
  std::vector<std::optional<std::uint64_t>> planned_;  // by device: planned_peak()
  std::unique_ptr<execution::Pool> pool_;              // gone before what it uses
};

}  // namespace graphopt::runner
