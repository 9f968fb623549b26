// ONNX Runtime, opened at run time: everything but --check and --fold ort works without it.
//
// Searched in this order: the path that the user gave (--ort), $GRAPHOPT_ORT; then the Python package
// onnxruntime in the environments $VIRTUAL_ENV and $CONDA_PREFIX, and in those of each python3 on $PATH; then
// the system's libonnxruntime.so, and the wheel in the cache that tools/setup fills. Any version from 1.21 on
// is accepted: the C API is versioned, and the headers are those of 1.21. A place that the user named must
// work; only the others are tried in turn.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graphopt/error.h"
#include "runtime/host_value.h"
#include "runtime/inputs.h"
#include "runtime/model_source.h"

struct OrtValue;  // of the C API

namespace graphopt {

// A value of the runtime, which sessions pass on without a copy; null: an absent optional.
using RuntimeValue = std::shared_ptr<const OrtValue>;

class Runtime {
 public:
  // ErrorKind::NotChecked when there is none. `path`: --ort; empty to search. A folder is searched for the
  // library.
  static Result<std::shared_ptr<Runtime>> open(const std::string& path);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  std::string version() const;      // "1.31.1"
  const std::string& file() const;  // the library
  // The execution providers that it was built with, best first: "CPUExecutionProvider" is one.
  std::vector<std::string> providers() const;

  // Tensors are not copied: the result keeps `value`. Thread-safe, as is the next one.
  Result<RuntimeValue> make_value(const std::shared_ptr<const HostValue>& value) const;
  Result<HostValue> read_value(const RuntimeValue& value) const;

  struct State;
  State& state() const { return *s_; }

 private:
  Runtime();
  std::unique_ptr<State> s_;
};

struct SessionSettings {
  bool optimize = false;  // with all of ONNX Runtime's own optimizations, or none
  int threads = 0;        // of one operator; 0: one for each core
  // "QNNExecutionProvider", and its options; empty: the CPU's, which takes what another one leaves.
  std::string provider = {};
  std::map<std::string, std::string> provider_options = {};
};

// Returns whether ONNX Runtime's generic call opens a provider; others have a function of their own each.
bool can_open_provider(std::string_view name);

// A run that can be ended early: the session then returns an error, as soon as an operator has ended.
class RuntimeRun {
 public:
  explicit RuntimeRun(const Runtime& runtime);
  ~RuntimeRun();
  RuntimeRun(const RuntimeRun&) = delete;
  RuntimeRun& operator=(const RuntimeRun&) = delete;
  void stop();  // thread-safe
  // Whether the run failed in a device, and not for its inputs or the model: another try may go well.
  bool may_pass() const;
  struct State;

 private:
  friend class RuntimeSession;
  std::unique_ptr<State> s_;
};

// A loaded model. Errors contain ONNX Runtime's message, shortened to one line.
class RuntimeSession {
 public:
  static Result<std::unique_ptr<RuntimeSession>> load(std::shared_ptr<Runtime> runtime,
                                                      const ModelSource& model,
                                                      const SessionSettings& settings = {});
  ~RuntimeSession();
  RuntimeSession(const RuntimeSession&) = delete;
  RuntimeSession& operator=(const RuntimeSession&) = delete;

  const std::vector<std::string>& outputs() const;
  bool has_input(const std::string& name) const;  // also an initializer that may be given
  const std::shared_ptr<Runtime>& runtime() const;
  // Returns the results in the order of outputs(). Feeds that the model does not have are ignored.
  Result<std::vector<HostValue>> run(std::span<const NamedValue> feeds);

  // Several threads may call it at once. A feed of null is left out; the results are those of outputs(), in
  // their order. `run` can end it early, from another thread.
  struct Feeds {
    std::vector<const char*> names;  // inputs that the model has
    std::vector<RuntimeValue> values;
  };
  Result<std::vector<RuntimeValue>> run(const Feeds& feeds, RuntimeRun* run = nullptr) const;

  struct State;

 private:
  RuntimeSession();
  std::unique_ptr<State> s_;
};

}  // namespace graphopt
