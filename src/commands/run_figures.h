// The figures of a run: what its engines counted, and what its trace holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "commands/run_networks.h"
#include "graphopt/run.h"

namespace graphopt {

// Adds the networks that were used to the report, whose run_seconds is known.
void add_networks(RunReport& report, const std::vector<RunNetwork>& networks);

// Latencies of any number of requests in bounded memory: of more than kMostLatencies a sample, in which each
// request has the same chance to be (Vitter's algorithm R, 1985). The draws are the same in every run.
class Latencies {
 public:
  static constexpr std::size_t kMostLatencies = 65536;

  void add(double seconds);
  // Nothing where there is none. The longest is that of all.
  std::optional<RunReport::Latency> figures() const;

 private:
  std::vector<double> sample_;
  double longest_ = 0;
  std::uint64_t count_ = 0;
  std::mt19937_64 rng_;
};

// Returns what ran when, in Chrome's trace format: a process for each device and a thread for each of its
// workers, in which a run of a subgraph is a slice; the requests are slices of a process of their own.
// Source: the Trace Event Format of the Chromium project.
std::string trace_text(const std::vector<RunNetwork>& networks);

}  // namespace graphopt
