#include "runner/engine.h"

#include <algorithm>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>

#include "deploy/read_manifest.h"
#include "runner/input_check.h"
#include "support/file.h"
#include "support/nearest.h"
#include "support/sha256.h"

namespace graphopt::runner {
namespace {

Error of_file(ErrorKind kind, const std::string& file, std::string what, std::string remedy) {
  return {kind, {file, {}, {}, {}, {}}, std::move(what), std::move(remedy)};
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::load(const std::string& manifest, const EngineOptions& options) {
  const auto image = FileImage::open(manifest);
  if (!image) return image.errors();
  Result<deploy::Manifest> read = deploy::read_manifest((*image)->bytes(), manifest);
  if (!read) return read.errors();
  return load(manifest, *std::move(read), options);
}

Result<std::unique_ptr<Engine>> Engine::load(const std::string& path, deploy::Manifest manifest,
                                             const EngineOptions& options) {
  std::unique_ptr<Engine> out(new Engine);
  out->manifest_ = std::move(manifest);
  if (Status opened = out->open(path, options); !opened) return opened.errors();
  return out;
}

Engine::~Engine() = default;

Status Engine::open(const std::string& path, const EngineOptions& options) {
  if (Status read = read_options(options); !read) return read;
  if (Status whole = check_files(path); !whole) return whole;
  auto runtime = Runtime::open(options.ort);
  if (!runtime) return runtime.errors();

  // The threads of all sessions that may run at once do not exceed the cores.
  const std::size_t cores =
      options.cores > 0 ? options.cores : std::max(1U, std::thread::hardware_concurrency());
  Sessions::Settings settings{.folder = folder_of(path),
                              .threads = static_cast<int>(std::max<std::size_t>(
                                  1, cores / std::max<std::size_t>(1, workers_in_use()))),
                              .optimize = options.optimize,
                              .on_host = {}};
  for (Index d = 0; d < manifest_.devices.size(); ++d)
    if (options.on_host.contains(manifest_.devices[d].id)) settings.on_host.insert(d);
  sessions_ = std::make_unique<Sessions>(*runtime, std::move(settings));
  if (Status opened = open_models(options); !opened) return opened;
  const bool is_sync = options.mode == Mode::Sync;
  limits_.retries = options.retries;
  limits_.in_order = is_sync;
  limits_.in_flight = options.mode != Mode::Overlap ? 1 : options.in_flight;
  if (limits_.in_flight == 0) limits_.in_flight = usual_window();
  planned_.assign(manifest_.devices.size(), 0);
  try {
    pool_ = std::make_unique<execution::Pool>(
        execution::Pool::Options{.limits = limits_, .workers = workers_, .one_thread = is_sync}, *devices_);
  } catch (const std::system_error&) {
    return of_file(ErrorKind::Limit, path, "the system gives no thread for each worker",
                   "lower --workers, or raise the limit");
  }
  return Done{};
}

Status Engine::open_models(const EngineOptions& options) {
  std::size_t clocks = 0;
  const auto add = [&](const RunnableModel& model) -> Status {
    Result<Stages> stages = load_stages(*sessions_, manifest_, model);
    if (!stages) return stages.errors();
    const std::size_t count = stages->stages.size();
    models_.push_back({std::make_unique<PlannedModel>(*std::move(stages), options.retain), clocks});
    clocks += count;
    return Done{};
  };
  const RunnableModel out = runnable_out(manifest_);
  if (Status added = add(out); !added) return added;
  if (manifest_.buckets && !manifest_.buckets->models.empty()) {
    Result<BucketRequests> buckets = BucketRequests::make(manifest_);
    if (!buckets) return buckets.errors();
    buckets_.emplace(*std::move(buckets));
    for (std::size_t i = 0; i < manifest_.buckets->models.size(); ++i)
      if (Status added = add(runnable_bucket(manifest_, i)); !added) return added;
  }
  has_fallback_ = options.has_fallback;
  if (has_fallback_ || options.loads_whole) {
    Result<Stages> whole = load_whole(*sessions_, manifest_, out);
    if (!whole) return whole.errors();
    whole_ = std::make_unique<PlannedModel>(*std::move(whole), options.retain);
  }
  devices_ = std::make_unique<RuntimeDevices>(manifest_.devices.size(), clocks, options.trace);
  return Done{};
}

// Threads of devices that have subgraphs.
std::size_t Engine::workers_in_use() const {
  std::vector<bool> is_used(workers_.size());
  for (const deploy::Subgraph& s : manifest_.subgraphs) is_used[s.device] = true;
  if (manifest_.buckets)
    for (const deploy::BucketModel& m : manifest_.buckets->models)
      for (const deploy::Subgraph& s : m.subgraphs) is_used[s.device] = true;
  std::size_t out = 0;
  for (Index d = 0; d < workers_.size(); ++d) out += is_used[d] ? workers_[d] : 0;
  return out;
}

Status Engine::read_options(const EngineOptions& options) {
  std::vector<std::string> ids;
  for (const deploy::Device& d : manifest_.devices) ids.push_back(d.id);
  const auto number_of = [&](const std::string& id) -> Result<Index> {
    const auto found = std::ranges::find(ids, id);
    if (found != ids.end()) return static_cast<Index>(found - ids.begin());
    return Error{
        ErrorKind::Usage, {}, "the manifest has no device '" + id + "'", suggest(id, ids, "devices")};
  };
  workers_.assign(ids.size(), 1);
  limits_.devices.resize(ids.size());
  if (manifest_.schedule)
    for (const deploy::DeviceMemory& m : manifest_.schedule->memory)
      limits_.devices[m.device].budget = m.budget;
  for (const auto& [id, count] : options.workers) {
    const Result<Index> d = number_of(id);
    if (!d) return d.errors();
    if (count == 0 || count > kMostWorkers)
      return Error{ErrorKind::Usage,
                   {},
                   std::to_string(count) + " is no number of workers for device '" + id + "'",
                   "give 1 to " + std::to_string(kMostWorkers)};
    workers_[*d] = count;
  }
  for (const auto& [id, bytes] : options.budgets) {
    const Result<Index> d = number_of(id);
    if (!d) return d.errors();
    limits_.devices[*d].budget = bytes;
  }
  if (options.in_flight > kMostInFlight)
    return Error{ErrorKind::Usage,
                 {},
                 std::to_string(options.in_flight) + " requests at once are too many",
                 "give " + std::to_string(kMostInFlight) + " at most"};
  if (options.mode == Mode::Sync) workers_.assign(ids.size(), 1);  // one thread runs all
  for (const std::string& id : options.on_host)
    if (const Result<Index> d = number_of(id); !d) return d.errors();
  return Done{};
}

// A file that was changed or cut is found before anything runs.
Status Engine::check_files(const std::string& path) const {
  const std::string folder = folder_of(path);
  for (const deploy::File& f : manifest_.files) {
    if (f.role == deploy::FileRole::Profile || f.role == deploy::FileRole::Other) continue;
    const auto image = FileImage::open(folder + "/" + f.path);
    if (!image) return image.errors();
    if ((*image)->bytes().size() == f.bytes && sha256_hex((*image)->bytes()) == f.sha256) continue;
    return of_file(ErrorKind::Input, folder + "/" + f.path, "it is not the file that " + path + " describes",
                   "write the set of files again");
  }
  return Done{};
}

// As many requests as there are subgraphs on the longest way, and one more; fewer where a device has no
// memory for so many of those whose sizes are known without a request.
std::size_t Engine::usual_window() const {
  std::uint64_t out = 1, most = std::numeric_limits<std::uint64_t>::max();
  for (const Model& m : models_) {
    const auto plan = m.planned->plan({});
    if (!plan) continue;  // its requests will be refused
    out = std::max<std::uint64_t>(out, (*plan)->plan->longest_way() + 1);
    for (Index d = 0; d < limits_.devices.size(); ++d) {
      const std::optional<std::uint64_t>& budget = limits_.devices[d].budget;
      const std::optional<std::uint64_t>& peak = (*plan)->peaks[d];
      if (budget && peak.value_or(0) > 0) most = std::min(most, *budget / *peak);
    }
  }
  return static_cast<std::size_t>(std::max<std::uint64_t>(1, std::min(out, most)));
}

// By input of a model; null for one that is not given.
Result<std::vector<RuntimeValue>> Engine::values_of(std::vector<NamedValue> inputs,
                                                    const std::vector<deploy::NetworkValue>& wanted) const {
  std::vector<RuntimeValue> out(wanted.size());
  for (NamedValue& v : inputs) {
    const auto at = std::ranges::find(wanted, v.name, &deploy::NetworkValue::name);
    if (at == wanted.end()) continue;  // an extra input that the model does not read
    auto value = sessions_->runtime()->make_value(std::make_shared<const HostValue>(std::move(v.value)));
    if (!value) return value.errors();
    out[static_cast<std::size_t>(at - wanted.begin())] = *std::move(value);
  }
  return out;
}

Result<Engine::Routed> Engine::route(const std::vector<NamedValue>& inputs) const {
  Result<Extents> extents = check_inputs(manifest_.network, inputs);
  if (!extents) return extents.errors();
  Routed out;
  out.extents = *std::move(extents);
  auto given = values_of(inputs, manifest_.network.inputs);
  if (!given) return given.errors();
  if (whole_) {
    auto plan = whole_->plan(out.extents);
    if (!plan) return plan.errors();
    out.whole_plan = *std::move(plan);
    out.whole_inputs = *given;
  }
  out.inputs = *std::move(given);
  Extents at = out.extents;
  // Where no extents of the promised ranges give these shapes, the request is for OUT.
  if (buckets_)
    if (Result<Extents> promised = buckets_->extents(inputs))
      if (const auto model = buckets_->choose(*promised)) {
        out.model = *model + 1;
        out.extents = *std::move(promised);
        auto padded = buckets_->pad(inputs, out.extents, *model);
        if (!padded) return padded.errors();
        auto values = values_of(*std::move(padded), models_[out.model].planned->stages().inputs);
        if (!values) return values.errors();
        out.inputs = *std::move(values);
        at = buckets_->padded(out.extents, *model);
      }
  const Stages& parts = model(out.model);
  for (std::size_t i = 0; i < out.inputs.size(); ++i)
    if (out.inputs[i] && parts.is_constant[i])
      return Error{ErrorKind::Usage,
                   {},
                   "input '" + parts.inputs[i].name +
                       "' is a constant of the parts, since the model is older than IR version 4",
                   "leave it out, or write the model with --ir-version 10"};
  auto plan = models_[out.model].planned->plan(at);
  if (!plan) return plan.errors();
  out.plan = *std::move(plan);
  return out;
}

Result<std::vector<NamedValue>> Engine::named_outputs(const std::vector<RuntimeValue>& values) const {
  std::vector<NamedValue> out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    Result<HostValue> value = sessions_->runtime()->read_value(values[i]);
    if (!value) return value.errors();
    out.push_back({manifest_.network.outputs[i].name, *std::move(value)});
  }
  return out;
}

Result<std::vector<NamedValue>> Engine::true_outputs(const std::vector<RuntimeValue>& values,
                                                     const Sent& sent, execution::Way way) const {
  auto outputs = named_outputs(values);
  if (!outputs || way != execution::Way::Devices || sent.model == 0) return outputs;
  return buckets_->cut(*std::move(outputs), sent.extents, sent.model - 1);
}

Result<execution::Sequence> Engine::submit(const std::vector<NamedValue>& inputs,
                                           std::chrono::nanoseconds timeout) {
  auto routed = route(inputs);
  if (!routed) return routed.errors();
  const execution::Sequence request = pool_->reserve();
  {
    const std::lock_guard lock(mutex_);
    sent_[request] = {routed->model, std::move(routed->extents)};
    for (Index d = 0; d < planned_.size(); ++d) {
      const std::optional<std::uint64_t>& peak = routed->plan->peaks[d];
      planned_[d] = planned_[d] && peak ? std::optional(std::max(*planned_[d], *peak)) : std::nullopt;
    }
  }
  devices_->add(request, {.parts = &models_[routed->model].planned->stages(),
                          .inputs = std::move(routed->inputs),
                          .whole = whole_ ? &whole_->stages() : nullptr,
                          .whole_inputs = std::move(routed->whole_inputs),
                          .model = routed->model,
                          .first_clock = models_[routed->model].first_clock});
  pool_->submit(request,
                {.plan = routed->plan->plan,
                 .fallback = has_fallback_ ? routed->whole_plan->plan : nullptr,
                 .deadline = 0},
                timeout);
  return request;
}

std::optional<std::uint64_t> Engine::planned_peak(Index device) const {
  const std::lock_guard lock(mutex_);
  return planned_[device];
}

Result<std::size_t> Engine::model_of(const std::vector<NamedValue>& inputs) const {
  const auto routed = route(inputs);
  if (!routed) return routed.errors();
  return routed->model;
}

Answer Engine::wait(execution::Sequence request) { return answer_of(pool_->wait(request)); }

std::optional<std::pair<execution::Sequence, Answer>> Engine::wait_any() {
  auto ended = pool_->wait_any();
  if (!ended) return std::nullopt;
  const execution::Sequence request = ended->request;
  return std::pair(request, answer_of(*std::move(ended)));
}

Answer Engine::answer_of(execution::Pool::Ended ended) {
  Sent sent;
  {
    const std::lock_guard lock(mutex_);
    sent = std::move(sent_.extract(ended.request).mapped());
  }
  Answer out;
  out.state = ended.state;
  out.way = ended.way;
  out.model = sent.model;
  out.retries = ended.retries;
  out.latency = std::chrono::nanoseconds(ended.ended - ended.submitted);
  out.error = std::move(ended.error);
  if (ended.failure.kind == execution::FailureKind::Misfit)
    out.error = Error{ErrorKind::Limit,
                      {},
                      "subgraph '" + model(sent.model).ids[ended.failure.subgraph] +
                          "' needs more memory than its device has for tensors",
                      "raise the budget, or let the fallback answer"};
  const std::vector<RuntimeValue> values = devices_->take(ended);
  if (ended.state != execution::RequestState::Done) return out;
  Result<std::vector<NamedValue>> outputs = true_outputs(values, sent, ended.way);
  if (outputs) {
    out.outputs = *std::move(outputs);
  } else {
    out.state = execution::RequestState::Failed;
    out.error = outputs.error();
  }
  return out;
}

Result<std::vector<NamedValue>> Engine::run_alone(const std::vector<NamedValue>& inputs,
                                                  execution::Way way) const {
  const auto routed = route(inputs);
  if (!routed) return routed.errors();
  const bool is_whole = way == execution::Way::Fallback;
  const Stages& stages = is_whole ? whole_->stages() : model(routed->model);
  const std::vector<RuntimeValue>& given = is_whole ? routed->whole_inputs : routed->inputs;
  std::vector<RuntimeValue> values(stages.named.values.size());
  for (std::size_t v = 0; v < values.size(); ++v)
    if (const auto input = stages.input_of[v]) values[v] = given[*input];
  for (const Index s : stages.order) {
    const Stage& stage = stages.stages[s];
    if (!stage.session) continue;
    auto results = stage.session->run(feeds_of(stage, values));
    if (!results) return results.errors();
    for (std::size_t i = 0; i < stage.made.size(); ++i)
      if (stage.made[i]) values[*stage.made[i]] = std::move((*results)[i]);
  }
  return true_outputs(outputs_of(stages, given, values), {routed->model, routed->extents}, way);
}

}  // namespace graphopt::runner
