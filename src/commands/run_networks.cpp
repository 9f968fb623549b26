#include "commands/run_networks.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>
#include <utility>

#include "deploy/read_manifest.h"
#include "driver/reading.h"
#include "infer/infer.h"
#include "ir/model.h"
#include "onnx/reader.h"
#include "runtime/compare.h"
#include "support/file.h"
#include "support/nearest.h"

namespace graphopt {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".manifest.json", kHash = "sha256:";

Error refused(std::string what, std::string remedy) {
  return {ErrorKind::Usage, {}, std::move(what), std::move(remedy)};
}

Result<RunNetwork> read_network(const std::string& path) {
  const auto image = FileImage::open(path);
  if (!image) return image.errors();
  Result<deploy::Manifest> manifest = deploy::read_manifest((*image)->bytes(), path);
  if (!manifest) return manifest.errors();
  RunNetwork out;
  out.path = path;
  out.manifest = *std::move(manifest);
  out.out = folder_of(path) + "/" + out.manifest.files.front().path;
  return out;
}

bool is_named(const RunNetwork& network, const std::string& text) {
  const std::string_view id = network.manifest.network.id;
  return id.starts_with(text) || (id.starts_with(kHash) && id.substr(kHash.size()).starts_with(text));
}

// "a.manifest.json and b.manifest.json"; at most three of them.
std::string files_text(const std::vector<const RunNetwork*>& networks) {
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, networks.size()); ++i)
    out += (i == 0 ? "" : i + 1 == networks.size() ? " and " : ", ") + networks[i]->path;
  return networks.size() > 3 ? out + " and others" : out;
}

bool has_device(const RunNetwork& network, const std::string& id) {
  return std::ranges::find(network.manifest.devices, id, &deploy::Device::id) !=
         network.manifest.devices.end();
}

// An option may name a device that only some of the networks have.
Status check_devices(const std::vector<RunNetwork>& networks, const RunOptions& options) {
  std::vector<std::string> known;
  for (const RunNetwork& n : networks)
    if (n.is_used)
      for (const deploy::Device& d : n.manifest.devices) known.push_back(d.id);
  std::set<std::string> wanted(options.on_host.begin(), options.on_host.end());
  for (const auto& [id, count] : options.workers) wanted.insert(id);
  for (const auto& [id, bytes] : options.budgets) wanted.insert(id);
  for (const std::string& id : wanted)
    if (std::ranges::find(known, id) == known.end())
      return refused("the manifest has no device '" + id + "'", suggest(id, known, "devices"));
  return Done{};
}

}  // namespace

Result<std::vector<RunNetwork>> find_networks(const std::string& manifest) {
  std::vector<std::string> paths;
  std::error_code error;
  if (!fs::is_directory(manifest, error)) {
    paths.push_back(manifest);
  } else {
    for (fs::directory_iterator i(manifest, error); !error && i != fs::directory_iterator();
         i.increment(error))
      if (i->path().filename().string().ends_with(kSuffix)) paths.push_back(i->path().string());
    if (paths.empty())
      return Error{ErrorKind::Input,
                   {manifest, {}, {}, {}, {}},
                   "the folder has no *" + std::string(kSuffix),
                   "give a manifest, or a folder in which graphopt wrote some"};
    std::ranges::sort(paths);
  }
  std::vector<RunNetwork> out;
  for (const std::string& path : paths) {
    auto network = read_network(path);
    if (!network) return network.errors();
    out.push_back(*std::move(network));
  }
  return out;
}

Result<std::size_t> choose_network(const std::vector<RunNetwork>& networks, const std::string& named) {
  std::vector<const RunNetwork*> found;
  for (const RunNetwork& n : networks)
    if (is_named(n, named)) found.push_back(&n);
  if (found.size() == 1) return static_cast<std::size_t>(found.front() - networks.data());
  if (!found.empty())
    return refused(
        named.empty() ? "there are several networks: " + files_text(found)
                      : "'" + named + "' is the beginning of several ids: " + files_text(found),
        "name one by the beginning of its \"network.id\" (--network, or \"network\" in a list), or give "
        "its manifest");
  if (networks.size() == 1)
    return refused(
        "the manifest is of the network " + networks.front().manifest.network.id + ", and not of " + named,
        "leave it out, or give its id or the beginning of it");
  return refused("no manifest of the folder is of the network " + named,
                 "see \"network.id\" in the manifests");
}

runner::EngineOptions engine_options(const RunnerOptions& o) {
  runner::EngineOptions e;
  e.ort = o.ort;
  e.mode = static_cast<runner::Mode>(o.mode);
  e.in_flight = o.in_flight;
  e.workers = {o.workers.begin(), o.workers.end()};
  e.budgets = o.budgets;
  e.on_host = {o.on_host.begin(), o.on_host.end()};
  e.retries = o.retries;
  e.has_fallback = o.fallback;
  e.retain = o.retain == RunRetain::All ? schedule::Retain::All : schedule::Retain::Outputs;
  return e;
}

Status open_networks(std::vector<RunNetwork>& networks, const RunOptions& options) {
  if (Status known = check_devices(networks, options); !known) return known;
  const std::size_t used = static_cast<std::size_t>(std::ranges::count_if(networks, &RunNetwork::is_used));
  const std::size_t all = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t cores = std::max<std::size_t>(1, all / std::max<std::size_t>(1, used));
  for (RunNetwork& n : networks) {
    if (!n.is_used) continue;
    if (options.trace) n.trace = std::make_unique<runner::Trace>();
    runner::EngineOptions e = engine_options(options);
    const auto is_elsewhere = [&n](const std::string& id) { return !has_device(n, id); };
    std::erase_if(e.workers, [&](const auto& entry) { return is_elsewhere(entry.first); });
    std::erase_if(e.budgets, [&](const auto& entry) { return is_elsewhere(entry.first); });
    std::erase_if(e.on_host, is_elsewhere);
    e.loads_whole = options.check_whole;
    // As for --check: what ONNX Runtime fuses across the borders of parts rounds otherwise, by whole steps
    // where values are quantized.
    e.optimize = !options.check_whole;
    e.cores = cores;
    e.trace = n.trace.get();
    auto engine = runner::Engine::load(n.path, n.manifest, e);
    if (!engine) return engine.errors();
    n.engine = *std::move(engine);
    n.by_model.resize(n.engine->models());
  }
  return Done{};
}

Status read_draws(RunNetwork& network) {
  if (network.draws) return Done{};
  auto draws = runner::DrawnRequests::open(network.out, network.manifest);
  if (!draws) return draws.errors();
  network.draws.emplace(*std::move(draws));
  return Done{};
}

Status read_tolerance(RunNetwork& network) {
  std::vector<Warning> warnings;
  LoadOptions load;
  load.path = network.out;
  Result<Model> model = load_model(load, warnings);
  if (!model) return model.errors();
  Inference inference(*model, {});
  inference.run();
  const InputPlan plan = plan_inputs(*model, inference);
  network.inside = coarsest_float(plan);
  for (std::size_t i = 0; i < network.manifest.network.outputs.size(); ++i)
    network.at_one.push_back(output_rounds_at_one(plan, i));
  return Done{};
}

}  // namespace graphopt
