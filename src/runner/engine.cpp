#include "runner/engine.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "deploy/read_manifest.h"
#include "schedule/memory.h"
#include "support/file.h"
#include "support/nearest.h"
#include "support/sha256.h"

namespace graphopt::runner {
namespace {

Error of_file(ErrorKind kind, const std::string& file, std::string what, std::string remedy) {
  return {kind, {file, {}, {}, {}, {}}, std::move(what), std::move(remedy)};
}

Result<std::shared_ptr<const execution::Plan>> plan_of(const Stages& stages, schedule::Retain retain,
                                                       const std::string& file) {
  std::optional<execution::Plan> plan = execution::Plan::make(stages.named.problem, stages.order, retain);
  if (!plan)
    return of_file(ErrorKind::Input, file, "its values need more than 2^50 bytes together",
                   "partition the model for smaller sizes");
  return std::make_shared<const execution::Plan>(*std::move(plan));
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::load(const std::string& manifest, const EngineOptions& options) {
  std::unique_ptr<Engine> out(new Engine);
  if (Status opened = out->open(manifest, options); !opened) return opened.errors();
  return out;
}

Engine::~Engine() = default;

Status Engine::open(const std::string& path, const EngineOptions& options) {
  const auto image = FileImage::open(path);
  if (!image) return image.errors();
  Result<deploy::Manifest> manifest = deploy::read_manifest((*image)->bytes(), path);
  if (!manifest) return manifest.errors();
  manifest_ = *std::move(manifest);
  if (Status read = read_options(options); !read) return read;
  if (Status whole = check_files(path); !whole) return whole;
  auto runtime = Runtime::open(options.ort);
  if (!runtime) return runtime.errors();

  // The threads of all sessions that may run at once do not exceed the cores.
  const bool is_sync = options.mode == Mode::Sync;
  std::size_t running = 0;
  for (Index d = 0; d < workers_.size(); ++d)
    if (std::ranges::any_of(manifest_.subgraphs, [d](const deploy::Subgraph& s) { return s.device == d; }))
      running += workers_[d];
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const auto threads = static_cast<int>(std::max<std::size_t>(1, cores / std::max<std::size_t>(1, running)));
  sessions_ = std::make_unique<Sessions>(
      *runtime, folder_of(path), std::vector<int>(manifest_.devices.size(), threads), options.optimize);
  const std::string& out_file = manifest_.files.front().path;
  Result<Stages> parts = load_stages(*sessions_, manifest_, manifest_, out_file);
  if (!parts) return parts.errors();
  parts_ = *std::move(parts);
  auto plan = plan_of(parts_, options.retain, path);
  if (!plan) return plan.errors();
  plan_ = *std::move(plan);
  if (options.has_fallback || options.loads_whole) {
    Result<Stages> whole = load_whole(*sessions_, manifest_, out_file);
    if (!whole) return whole.errors();
    whole_ = *std::move(whole);
  }
  if (options.has_fallback) {
    auto whole_plan = plan_of(*whole_, options.retain, path);
    if (!whole_plan) return whole_plan.errors();
    whole_plan_ = *std::move(whole_plan);
  }
  limits_.retries = options.retries;
  limits_.in_order = is_sync;
  limits_.in_flight = options.mode != Mode::Overlap ? 1 : options.in_flight;
  if (limits_.in_flight == 0) limits_.in_flight = usual_window();
  devices_ = std::make_unique<RuntimeDevices>(manifest_.devices.size(), manifest_.subgraphs.size());
  pool_ = std::make_unique<execution::Pool>(
      execution::Pool::Options{.limits = limits_, .workers = workers_, .one_thread = is_sync}, *devices_);
  return Done{};
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
    workers_[*d] = count;
  }
  for (const auto& [id, bytes] : options.budgets) {
    const Result<Index> d = number_of(id);
    if (!d) return d.errors();
    limits_.devices[*d].budget = bytes;
  }
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
// memory for so many.
std::size_t Engine::usual_window() const {
  std::uint64_t out = plan_->longest_way() + 1;
  for (Index d = 0; d < limits_.devices.size(); ++d) {
    const std::optional<std::uint64_t>& budget = limits_.devices[d].budget;
    if (!budget) continue;
    const auto account = schedule::account(parts_.named.problem, parts_.order, d);
    if (account && account->peak > 0) out = std::min(out, *budget / account->peak);
  }
  return static_cast<std::size_t>(std::max<std::uint64_t>(1, out));
}

// By input of the network; null for one that is not given.
Result<std::vector<RuntimeValue>> Engine::values_of(const std::vector<NamedValue>& inputs) const {
  const std::vector<deploy::NetworkValue>& wanted = manifest_.network.inputs;
  const auto refused = [&](std::string what, std::string remedy) {
    return Error{ErrorKind::Usage, {}, std::move(what), std::move(remedy)};
  };
  std::vector<RuntimeValue> out(wanted.size());
  std::vector<bool> given(wanted.size());
  for (const NamedValue& v : inputs) {
    const auto at = std::ranges::find(wanted, v.name, &deploy::NetworkValue::name);
    if (at == wanted.end())
      return refused("the network has no input '" + v.name + "'", "see \"network\" of the manifest");
    const auto i = static_cast<std::size_t>(at - wanted.begin());
    if (given[i]) return refused("the input '" + v.name + "' is given twice", "give it once");
    given[i] = true;
    auto value = sessions_->runtime()->make_value(std::make_shared<const HostValue>(v.value));
    if (!value) return value.errors();
    out[i] = *std::move(value);
  }
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!given[i] && !wanted[i].optional)
      return refused("the input '" + wanted[i].name + "' is not given", "give a value for it");
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

Result<execution::Sequence> Engine::submit(const std::vector<NamedValue>& inputs,
                                           std::chrono::nanoseconds timeout) {
  auto values = values_of(inputs);
  if (!values) return values.errors();
  const execution::Sequence request = pool_->reserve();
  devices_->add(request, parts_, whole_ ? &*whole_ : nullptr, *std::move(values));
  pool_->submit(request, {.plan = plan_, .fallback = whole_plan_, .deadline = 0}, timeout);
  return request;
}

Answer Engine::wait(execution::Sequence request) {
  execution::Pool::Ended ended = pool_->wait(request);
  Answer out;
  out.state = ended.state;
  out.way = ended.way;
  out.retries = ended.retries;
  out.latency = std::chrono::nanoseconds(ended.ended - ended.submitted);
  out.error = std::move(ended.error);
  if (ended.failure.kind == execution::FailureKind::Misfit)
    out.error = Error{ErrorKind::Limit,
                      {},
                      "subgraph '" + manifest_.subgraphs[ended.failure.subgraph].id +
                          "' needs more memory than its device has for tensors",
                      "raise the budget, or let the fallback answer"};
  const std::vector<RuntimeValue> values = devices_->take(ended);
  if (ended.state != execution::RequestState::Done) return out;
  Result<std::vector<NamedValue>> outputs = named_outputs(values);
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
  const Stages& stages = way == execution::Way::Devices ? parts_ : *whole_;
  auto given = values_of(inputs);
  if (!given) return given.errors();
  std::vector<RuntimeValue> values(stages.named.values.size());
  for (std::size_t v = 0; v < values.size(); ++v)
    if (const auto input = stages.input_of[v]) values[v] = (*given)[*input];
  for (const Index s : stages.order) {
    const Stage& stage = stages.stages[s];
    if (!stage.session) continue;
    auto results = stage.session->run(feeds_of(stage, values));
    if (!results) return results.errors();
    for (std::size_t i = 0; i < stage.made.size(); ++i) values[stage.made[i]] = std::move((*results)[i]);
  }
  return named_outputs(outputs_of(stages, *given, values));
}

}  // namespace graphopt::runner
