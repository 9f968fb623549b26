// The figures of a run: what its engines counted, and what its trace holds.
#pragma once

#include <string>
#include <vector>

#include "commands/run_networks.h"
#include "graphopt/run.h"

namespace graphopt {

// Adds the networks that were used to the report, whose run_seconds is known.
void add_networks(RunReport& report, const std::vector<RunNetwork>& networks);
RunReport::Latency latency_of(std::vector<double> seconds);  // not empty

// Returns what ran when, in Chrome's trace format: a process for each device and a thread for each of its
// workers, in which a run of a subgraph is a slice; the requests are slices of a process of their own.
// Source: the Trace Event Format of the Chromium project.
std::string trace_text(const std::vector<RunNetwork>& networks);

}  // namespace graphopt
