// A network as a runner runs it: a session for each subgraph, and where their values come from.
//
// Three of them may belong to one manifest: OUT in its parts, the model of a bucket in its parts, and OUT as
// a whole on the host, to which requests fall back. Sessions of equal content on devices of one execution
// provider are one.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "deploy/make_schedule.h"
#include "deploy/manifest.h"
#include "graphopt/error.h"
#include "runtime/ort.h"

namespace graphopt::runner {

using deploy::Index;

// What a manifest has to be run: OUT in its parts, or the model of a bucket in its parts. It refers to the
// manifest.
struct RunnableModel {
  const deploy::PartitionedNetwork* network = nullptr;
  std::string file;
  std::vector<deploy::NetworkValue> inputs;  // of the network, and those that models of buckets have beside
};
RunnableModel runnable_out(const deploy::Manifest& manifest);
// Precondition: the manifest has buckets, with that many models.
RunnableModel runnable_bucket(const deploy::Manifest& manifest, std::size_t model);

// The session of one subgraph. Values are those of Stages::named.
struct Stage {
  std::shared_ptr<const RuntimeSession> session;  // null: it makes nothing, and is not run
  std::vector<std::string> inputs;                // names that the session reads, and
  std::vector<Index> fed;                         // the values for them
  // By output of the session: the value; none for an output that is one of its inputs.
  std::vector<std::optional<Index>> made;
};

struct Stages {
  std::string file;              // of the model
  std::vector<std::string> ids;  // by subgraph
  deploy::ScheduleProblem named;
  schedule::Order order;
  std::vector<Stage> stages;                   // by subgraph
  std::vector<deploy::NetworkValue> inputs;    // of the model
  std::vector<std::optional<Index>> input_of;  // by value: an input of the model
  // By input of the model: it cannot be given. Below IR version 4 ONNX Runtime takes initializers that are
  // inputs for constants.
  std::vector<bool> is_constant;
  struct Output {
    std::optional<Index> value;  // that a subgraph makes; none: it is an input of the network, or
    std::optional<Index> input;
    RuntimeValue constant;  // where it is neither, or an input that is not given
  };
  std::vector<Output> outputs;  // of the network
};

// Loads sessions, each content once. Not thread-safe.
class Sessions {
 public:
  // A session, and the names of the subgraph for which it was loaded. Subgraphs of equal content have others:
  // inputs and outputs correspond by position.
  struct Loaded {
    std::shared_ptr<const RuntimeSession> session;
    std::vector<std::string> inputs, outputs;
  };

  struct Settings {
    std::string folder;       // of the manifest
    int threads = 1;          // of each operator
    bool optimize = true;     // with all of ONNX Runtime's own optimizations, or with none
    std::set<Index> on_host;  // devices whose subgraphs run on the CPU, whatever they name
  };
  Sessions(std::shared_ptr<Runtime> runtime, Settings settings)
      : runtime_(std::move(runtime)), settings_(std::move(settings)), providers_(runtime_->providers()) {}

  // `subgraph`: its file, content, inputs and outputs. `device`: its own. Its execution provider is used
  // where this ONNX Runtime has it and opens it, else the CPU.
  Result<Loaded> load(const deploy::Subgraph& subgraph, const deploy::Device& device);
  std::size_t loaded() const { return sessions_.size(); }
  const std::string& folder() const { return settings_.folder; }
  const std::shared_ptr<Runtime>& runtime() const { return runtime_; }
  // Why devices run on the CPU though they name an execution provider, by their ids.
  const std::map<std::string, std::string>& on_cpu() const { return on_cpu_; }

 private:
  std::string provider_of(const deploy::Subgraph& subgraph, const deploy::Device& device);

  std::shared_ptr<Runtime> runtime_;
  Settings settings_;
  std::vector<std::string> providers_;
  std::map<std::string, std::string> on_cpu_;
  std::map<std::pair<std::string, std::string>, Loaded> sessions_;  // by content and provider
};

// What the session of a stage is fed with, of all values.
RuntimeSession::Feeds feeds_of(const Stage& stage, const std::vector<RuntimeValue>& values);
// Returns the outputs of the network, of the model's inputs and of all values.
std::vector<RuntimeValue> outputs_of(const Stages& stages, const std::vector<RuntimeValue>& inputs,
                                     const std::vector<RuntimeValue>& values);

// Loads the parts of a model; its file as a whole on the host where they have no files.
Result<Stages> load_stages(Sessions& sessions, const deploy::Manifest& manifest, const RunnableModel& model);
// Loads the file of a model as a whole, for the host.
Result<Stages> load_whole(Sessions& sessions, const deploy::Manifest& manifest, const RunnableModel& model);

}  // namespace graphopt::runner
