// Runs a partitioned model from its manifest: what `graphopt run` does, and the same for tensors in memory.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/optimize.h"
#include "graphopt/stages/infer.h"
#include "graphopt/words.h"

namespace graphopt {

enum class RunMode : std::uint8_t {
  Overlap,  // several requests at once
  Async1,   // one request at a time, whose subgraphs run at once where they can
  Sync,     // one subgraph at a time, in the order of the manifest, on one thread
};

template <> struct Words<RunMode> {
  static constexpr std::string_view plural = "modes";
  static constexpr std::array<std::string_view, 3> all = {"overlap", "async1", "sync"};
};

// What is kept of values that one device alone reads.
enum class RunRetain : std::uint8_t {
  Outputs,  // nothing
  All,      // each is stored outside of the device when its last reader has run: for debugging
};

template <> struct Words<RunRetain> {
  static constexpr std::string_view plural = "ways to retain values";
  static constexpr std::array<std::string_view, 2> all = {"outputs", "all"};
};

// How requests run.
struct RunnerOptions {
  RunMode mode = RunMode::Overlap;
  std::uint64_t in_flight = 0;  // requests at once; 0: as many as keep the devices busy and fit the budgets
  std::map<std::string, std::uint64_t> workers;  // threads, by id of a device; 1 where there is no entry
  std::map<std::string, std::uint64_t> budgets;  // bytes of tensors, the same; that of the manifest
  std::uint64_t retries = 0;                     // of a subgraph, after an error that may pass
  bool fallback = true;                          // OUT as a whole on the host, where parts fail
  std::vector<std::string> on_host;  // devices whose parts run on the CPU, whatever their profiles name
  RunRetain retain = RunRetain::Outputs;
  std::string ort;  // the library of ONNX Runtime; empty: it is searched
};

// Where requests come from: exactly one of `inputs`, `requests`, `draws` and `test_data` is given.
struct RunOptions : RunnerOptions {
  std::string manifest;  // or a folder of manifests, of which requests name networks
  std::string network;   // the beginning of "network.id": of requests that do not name one themselves
  std::vector<std::string> inputs;  // of one request: NAME=FILE.npy, NAME=FILE.pb, NAME=FILE.npz, FILE.npz
  std::string requests;             // a list, one JSON object on each line (docs/running.md); "-": stdin
  std::uint64_t draws = 0;          // so many requests with drawn inputs,
  std::vector<DimOption> dims;      // sizes for their symbols, and
  std::uint64_t seed = 0;
  std::string test_data;  // a folder with folders test_data_set_N of ONNX, whose outputs are compared
  std::string output;     // an .npz for one request, a folder for several; empty: nothing is written

  double request_timeout = 0;  // seconds; 0: none
  bool unordered = false;      // answers are compared and written as requests end, not in their order
  std::uint64_t warm_up = 1;   // runs of each model that requests take, before they begin
  bool trace = false;          // RunReport::trace is wanted
  std::optional<std::uint64_t> check_sequential;  // so many requests are compared with `sync`; 0: all
  bool check_whole = false;                       // each request is compared with OUT as a whole
  std::optional<double> tolerance;                // of check_whole and test_data; none: that of --check
};

// Times are seconds.
struct RunReport {
  struct Device {
    std::string id;
    std::uint64_t workers = 0, runs = 0;        // of subgraphs
    double busy = 0;                            // of its workers' time while requests ran, 0 to 1
    std::optional<std::uint64_t> peak;          // bytes of tensors at once; none: sizes are not known
    std::optional<std::uint64_t> planned_peak;  // of one request, the largest of them, by the manifest
    std::optional<std::uint64_t> budget;
    std::uint64_t loaded_bytes = 0, stored_bytes = 0;  // from and to the memory outside
    std::uint64_t waits = 0;                           // subgraphs that waited for memory
    std::uint64_t spills = 0, failures = 0;
  };
  // OUT in its parts, or the model of a bucket.
  struct Model {
    std::string file;
    std::uint64_t requests = 0;  // that it answered
  };
  struct Subgraph {
    std::string model, id, device;  // model: its file
    std::uint64_t runs = 0;
    double mean = 0, longest = 0;
  };
  struct Latency {
    double p50 = 0, p90 = 0, p99 = 0, longest = 0;
  };
  struct Check {
    std::uint64_t compared = 0, different = 0;  // requests
  };
  // What went wrong with a request, or with the writing of its file.
  struct Problem {
    std::string request;  // its id
    Error error;
  };

  // A manifest that requests ran with.
  struct Network {
    std::string manifest, id;  // its path; "network.id"
    std::uint64_t in_flight = 0, sessions = 0;
    std::vector<Model> models;
    std::vector<Device> devices;
    std::vector<Subgraph> subgraphs;
  };

  std::string runtime;
  RunMode mode = RunMode::Overlap;
  std::uint64_t requests = 0, done = 0, by_fallback = 0, failed = 0, timed_out = 0, retries = 0;
  double load_seconds = 0, run_seconds = 0;
  std::optional<Latency> latency;  // of requests that are done
  std::vector<Network> networks;
  std::optional<Check> sequential, whole, test_data;
  std::vector<std::string> files;  // that were written
  std::vector<Problem> problems;   // the first kMaxErrors of each kind
  bool interrupted = false;        // by Observer::stop_requested: requests that ran have ended
  std::string trace;               // what ran when, in Chrome's trace format; not in to_json()
};

// Errors: what is wrong with the options, the manifest, its files or a request, before anything runs. What
// goes wrong later is in `problems`, in the order in which the exit status is chosen: Usage, Input, Output,
// CheckFailed, Limit, NotChecked.
Result<RunReport> run_manifest(const RunOptions& options, Observer& observer);
std::string to_json(const RunReport& report);

// A tensor of a request.
struct RunTensor {
  std::string name;
  std::string type = "float";  // as in ONNX text: "float", "int64", "bfloat16", "string"
  std::vector<std::int64_t> dims;
  std::string bytes;               // the elements, little-endian, row by row; types below 8 bits are packed
  std::vector<std::string> texts;  // the elements of type "string"
};

// A manifest that is ready for requests, for programs that have their inputs in memory. Several threads may
// call submit(), wait() and cancel() at once.
//
//   auto runner = Runner::load("net.manifest.json");
//   auto request = runner->submit({{.name = "x", .dims = {2}, .bytes = bytes}});
//   auto outputs = runner->wait(*request);
class Runner {
 public:
  using Ticket = std::uint64_t;

  // Opens the manifest, and a session for each of its parts. Errors: Input of the manifest or its files, and
  // for a network with inputs or outputs that are no tensors; Usage for a device that it does not have;
  // NotChecked without ONNX Runtime, or where it does not load a part.
  static Result<Runner> load(const std::string& manifest, const RunnerOptions& options = {});
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;
  ~Runner();  // cancels what has not ended

  // Waits while as many requests are queued as run at once. Inputs may come in any order, and those with a
  // default may be left out. timeout: seconds; 0: none. Errors: Usage for inputs that the network does not
  // take; Limit where there is no memory.
  Result<Ticket> submit(std::vector<RunTensor> inputs, double timeout = 0);
  // Waits until a request has ended, and returns its outputs in the order of the network's. A request is
  // waited for once. Errors: Usage for a request that there is not; Limit where it did not end in time, or
  // needs more memory than a budget; NotChecked where it failed or was cancelled.
  Result<std::vector<RunTensor>> wait(Ticket request);
  // Without effect on a request that has ended.
  void cancel(Ticket request);

 private:
  struct State;
  explicit Runner(std::unique_ptr<State> state);
  std::unique_ptr<State> s_;
};

}  // namespace graphopt
