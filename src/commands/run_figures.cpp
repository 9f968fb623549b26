#include "commands/run_figures.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace graphopt {
namespace {

using deploy::Index;

double seconds_of(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

void add_networks(RunReport& report, const std::vector<RunNetwork>& networks) {
  for (const RunNetwork& n : networks) {
    if (!n.is_used) continue;
    const runner::Engine& engine = *n.engine;
    const std::vector<deploy::Device>& devices = n.manifest.devices;
    report.runtime = engine.runtime();
    RunReport::Network& to = report.networks.emplace_back();
    to.manifest = n.path;
    to.id = n.manifest.network.id;
    to.in_flight = engine.in_flight();
    to.sessions = engine.sessions();
    std::vector<double> busy(devices.size());
    for (std::size_t k = 0; k < engine.models(); ++k) {
      const runner::Stages& model = engine.model(k);
      to.models.push_back({model.file, n.by_model[k]});
      for (Index s = 0; s < model.ids.size(); ++s) {
        const runner::RuntimeDevices::Times t = engine.times(k, s);
        const Index device = model.named.problem.subgraphs[s].device;
        busy[device] += seconds_of(t.sum);
        const double mean = t.runs == 0 ? 0 : seconds_of(t.sum) / static_cast<double>(t.runs);
        to.subgraphs.push_back(
            {model.file, model.ids[s], devices[device].id, t.runs, mean, seconds_of(t.most)});
      }
    }
    for (Index d = 0; d < devices.size(); ++d) {
      const execution::DeviceCounts c = engine.counts(d);
      RunReport::Device& device = to.devices.emplace_back();
      device.id = devices[d].id;
      device.workers = engine.workers(d);
      device.runs = c.runs;
      const double time = report.run_seconds * static_cast<double>(device.workers);
      device.busy = time > 0 ? std::min(1.0, busy[d] / time) : 0;
      device.planned_peak = engine.planned_peak(d);
      if (device.planned_peak) device.peak = c.peak;
      device.budget = engine.budget(d);
      device.loaded_bytes = c.loaded_bytes;
      device.stored_bytes = c.stored_bytes;
      device.waits = c.waits;
      device.spills = c.spills;
      device.failures = c.failures;
    }
  }
}

void Latencies::add(double seconds) {
  longest_ = std::max(longest_, seconds);
  ++count_;
  if (sample_.size() < kMostLatencies) {
    sample_.push_back(seconds);
    return;
  }
  if (const std::uint64_t place = rng_() % count_; place < sample_.size()) sample_[place] = seconds;
}

std::optional<RunReport::Latency> Latencies::figures() const {
  if (sample_.empty()) return std::nullopt;
  std::vector<double> sorted = sample_;
  std::ranges::sort(sorted);
  const auto at = [&](double part) {
    const double place = std::ceil(part * static_cast<double>(sorted.size())) - 1;
    return sorted[static_cast<std::size_t>(std::max(0.0, place))];
  };
  return RunReport::Latency{at(0.5), at(0.9), at(0.99), longest_};
}

}  // namespace graphopt
