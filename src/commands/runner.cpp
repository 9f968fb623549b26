// Runner: requests of a program, whose tensors are in memory.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <new>
#include <set>
#include <utility>

#include "commands/run_networks.h"
#include "driver/reading.h"
#include "graphopt/run.h"
#include "ir/types.h"
#include "runner/engine.h"
#include "support/quote_name.h"

namespace graphopt {
namespace {

Result<std::vector<NamedValue>> host_values(std::vector<RunTensor> tensors) {
  std::vector<NamedValue> out;
  for (RunTensor& t : tensors) {
    const std::optional<DType> dtype = dtype_from_name(t.type);
    if (!dtype || *dtype == DType::Undefined)
      return Error{ErrorKind::Usage,
                   {},
                   "input " + quote_name(t.name) + ": " + quote_name(t.type) + " is no type of elements",
                   "name it as ONNX text does: float, int64, string"};
    HostValue value;
    value.kind = HostValue::Kind::Tensor;
    value.dtype = *dtype;
    value.dims = std::move(t.dims);
    value.raw = std::move(t.bytes);
    value.strings = std::move(t.texts);
    out.push_back({std::move(t.name), std::move(value)});
  }
  return out;
}

std::vector<RunTensor> tensors_of(std::vector<NamedValue> values) {
  std::vector<RunTensor> out;
  for (NamedValue& v : values)
    out.push_back({std::move(v.name), std::string(dtype_name(v.value.dtype)), std::move(v.value.dims),
                   std::move(v.value.raw), std::move(v.value.strings)});
  return out;
}

Status all_are_tensors(const deploy::Network& network, const std::string& manifest) {
  for (const auto* values : {&network.inputs, &network.outputs})
    for (const deploy::NetworkValue& v : *values)
      if (v.type.kind != deploy::ValueKind::Tensor)
        return Error{ErrorKind::Input,
                     {manifest, {}, {}, {}, {}},
                     quote_name(v.name) + " is no tensor",
                     "run it by `graphopt run`, which reads such values from files"};
  return Done{};
}

}  // namespace

struct Runner::State {
  std::string manifest;
  std::unique_ptr<runner::Engine> engine;
  std::mutex mutex;
  std::set<Ticket> open;  // requests that nobody waits for yet; guarded by the mutex
};

Runner::Runner(std::unique_ptr<State> state) : s_(std::move(state)) {}
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;
Runner::~Runner() = default;

Result<Runner> Runner::load(const std::string& manifest, const RunnerOptions& options) {
  try {
    auto engine = runner::Engine::load(manifest, engine_options(options));
    if (!engine) return engine.errors();
    if (Status tensors = all_are_tensors((*engine)->manifest().network, manifest); !tensors)
      return tensors.errors();
    auto state = std::make_unique<State>();
    state->manifest = manifest;
    state->engine = *std::move(engine);
    return Runner(std::move(state));
  } catch (const std::bad_alloc&) {
    return out_of_memory(manifest);
  }
}

Result<Runner::Ticket> Runner::submit(std::vector<RunTensor> inputs, double timeout) {
  constexpr double kLongest = 1e9;  // seconds; more is as good as none
  if (!(timeout >= 0)) return Error{ErrorKind::Usage, {}, "a timeout below 0", "give seconds, or 0 for none"};
  try {
    auto values = host_values(std::move(inputs));
    if (!values) return values.errors();
    const auto limit = timeout < kLongest ? std::chrono::nanoseconds(std::llround(std::ceil(timeout * 1e9)))
                                          : std::chrono::nanoseconds(0);
    const auto request = s_->engine->submit(*values, limit);
    if (!request) return request.errors();
    const std::lock_guard lock(s_->mutex);
    s_->open.insert(*request);
    return *request;
  } catch (const std::bad_alloc&) {
    return out_of_memory(s_->manifest);
  }
}

Result<std::vector<RunTensor>> Runner::wait(Ticket request) {
  {
    const std::lock_guard lock(s_->mutex);
    if (s_->open.erase(request) == 0)
      return Error{ErrorKind::Usage,
                   {},
                   "there is no request " + std::to_string(request) + " that nobody has waited for",
                   "wait once for each request that submit() returned"};
  }
  try {
    runner::Answer answer = s_->engine->wait(request);
    switch (answer.state) {
      case execution::RequestState::Done: return tensors_of(std::move(answer.outputs));
      case execution::RequestState::TimedOut:
        return Error{ErrorKind::Limit, {}, "the request did not end in time", "give it more time"};
      case execution::RequestState::Cancelled:
        return Error{ErrorKind::NotChecked, {}, "the request was cancelled", "submit it again"};
      default: break;
    }
    return answer.error.value_or(
        Error{ErrorKind::NotChecked, {}, "the request failed", "run the model as a whole"});
  } catch (const std::bad_alloc&) {
    return out_of_memory(s_->manifest);
  }
}

void Runner::cancel(Ticket request) { s_->engine->cancel(request); }

}  // namespace graphopt
