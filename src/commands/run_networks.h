// The networks that requests run in: that of a manifest, or those of the manifests in a folder.
//
// Problem: a folder may hold many networks, and requests name few of them. Method: all manifests are read;
// the engine of a network is made when a request names it. The cores are shared evenly among the engines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "deploy/manifest.h"
#include "graphopt/error.h"
#include "graphopt/run.h"
#include "ir/types.h"
#include "runner/drawn_requests.h"
#include "runner/engine.h"

namespace graphopt {

struct RunNetwork {
  std::string path;  // of the manifest
  deploy::Manifest manifest;
  std::string out;       // the path of OUT
  bool is_used = false;  // a request names it
  // Those of networks that are used:
  std::unique_ptr<runner::Trace> trace;  // null without --trace
  std::unique_ptr<runner::Engine> engine;
  std::optional<runner::DrawnRequests> draws;  // where requests are drawn
  // What OUT's floats may differ by, as --check has it; where results are compared.
  DType inside = DType::Undefined;
  std::vector<bool> at_one;             // by output
  std::vector<std::uint64_t> by_model;  // requests that each model answered
  std::size_t on_their_way = 0;         // requests
};

// Reads MANIFEST, or each *.manifest.json of the folder. Errors: Input of a manifest that cannot be read, or
// of a folder that has none.
Result<std::vector<RunNetwork>> find_networks(const std::string& manifest);

// Returns the place of the network whose id begins with `named`, with or without "sha256:"; the only one
// where it is empty. Errors of kind Usage: none or several do.
Result<std::size_t> choose_network(const std::vector<RunNetwork>& networks, const std::string& named);

// Makes the engines of the networks that are used. Errors: those of Engine::load(); Usage for a device of the
// options that no manifest has.
Status open_networks(std::vector<RunNetwork>& networks, const RunOptions& options);

// The options of an engine, without what differs by network.
runner::EngineOptions engine_options(const RunnerOptions& options);

// Reads OUT for draws, and for tolerances.
Status read_draws(RunNetwork& network);
Status read_tolerance(RunNetwork& network);

}  // namespace graphopt
