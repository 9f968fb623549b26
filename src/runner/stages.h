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

  // `folder`: of the manifest; `threads`: of each operator, by device; `optimize`: with all of ONNX Runtime's
  // own optimizations, or with none.
  Sessions(std::shared_ptr<Runtime> runtime, std::string folder, std::vector<int> threads, bool optimize)
      : runtime_(std::move(runtime)),
        folder_(std::move(folder)),
        threads_(std::move(threads)),
        optimize_(optimize) {}

  // `subgraph`: its file, content, device, inputs and outputs.
  Result<Loaded> load(const deploy::Subgraph& subgraph);
  std::size_t loaded() const { return sessions_.size(); }
  const std::string& folder() const { return folder_; }
  const std::shared_ptr<Runtime>& runtime() const { return runtime_; }

 private:
  std::shared_ptr<Runtime> runtime_;
  std::string folder_;
  std::vector<int> threads_;
  bool optimize_;
  std::map<std::pair<std::string, int>, Loaded> sessions_;  // by content and threads
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
