// Small schedules, by names in JSON and drawn.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "schedule/facts.h"
#include "schedule/problem.h"

namespace graphopt::schedule {

// One of tests/vectors/schedule: each subgraph makes one value of its name. The device "card" comes before
// the host, "cpu".
struct NamedProblem {
  Problem problem;
  std::vector<std::string> subgraphs, values;  // names
  std::optional<std::uint64_t> budget;         // of the card

  explicit NamedProblem(const nlohmann::json& graph) {
    problem.devices = 2;
    std::map<std::string, Index> value_of;
    const auto add = [&](const std::string& name, std::uint64_t bytes) -> Value& {
      value_of[name] = static_cast<Index>(values.size());
      values.push_back(name);
      return problem.values.emplace_back(Value{.from = {}, .to = {}, .bytes = bytes});
    };
    for (const auto& [name, bytes] : graph["inputs"].items()) add(name, bytes.get<std::uint64_t>());
    for (const auto& n : graph["nodes"]) {
      const Index s = static_cast<Index>(subgraphs.size());
      subgraphs.push_back(n["id"].get<std::string>());
      add(subgraphs.back(), n["bytes"].get<std::uint64_t>()).from = s;
      Subgraph& one = problem.subgraphs.emplace_back();
      one.device = n["device"] == "cpu" ? 1 : 0;
      one.outputs = {value_of[subgraphs.back()]};
      one.ns = static_cast<std::uint64_t>(n.value("ms", 1.0) * 1e6);
    }
    for (Index s = 0; s < subgraphs.size(); ++s)
      for (const auto& name : graph["nodes"][s]["inputs"]) {
        const Index v = value_of.at(name.get<std::string>());
        std::vector<Index>& inputs = problem.subgraphs[s].inputs;
        if (std::ranges::find(inputs, v) != inputs.end()) continue;
        inputs.push_back(v);
        problem.values[v].to.push_back(s);
      }
    for (const auto& name : graph["outputs"]) problem.values[value_of.at(name)].network_output = true;
    if (graph.contains("budget") && graph["budget"].contains("card")) budget = graph["budget"]["card"];
  }
};

// Subgraphs with up to three results and inputs each, in an order in which producers come first.
inline Problem drawn_problem(std::mt19937& rng, Index subgraphs, Index devices) {
  const auto below = [&rng](std::size_t n) { return static_cast<Index>(rng() % n); };
  Problem p;
  p.devices = devices;
  for (Index i = 0; i < 2; ++i) p.values.push_back({.from = {}, .to = {}, .bytes = below(50)});
  for (Index s = 0; s < subgraphs; ++s) {
    Subgraph one{.device = below(devices),
                 .inputs = {},
                 .outputs = {},
                 .workspace_bytes = below(3) == 0 ? below(40) : 0,
                 .ns = 1 + below(20)};
    for (Index k = below(4); k > 0; --k) {
      const Index v = below(p.values.size());
      if (std::ranges::find(one.inputs, v) == one.inputs.end()) one.inputs.push_back(v);
    }
    for (const Index v : one.inputs) p.values[v].to.push_back(s);
    for (Index k = 1 + below(3); k > 0; --k) {
      one.outputs.push_back(static_cast<Index>(p.values.size()));
      p.values.push_back({.from = s, .to = {}, .bytes = below(60), .network_output = below(6) == 0});
    }
    p.subgraphs.push_back(std::move(one));
  }
  return p;
}

}  // namespace graphopt::schedule
