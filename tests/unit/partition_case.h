// Problems for the tests of src/partition: read from tests/vectors/partition, or drawn at random.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "partition/partition.h"

namespace graphopt::partition {

struct Case {
  Problem problem;
  std::vector<std::string> devices, nodes;
  nlohmann::json expect;
};

// Returns, by node, the order of first visit of a depth-first walk from the outputs through the inputs. Dead
// nodes come last, in the order of the file.
inline std::vector<Index> ranks(const nlohmann::json& graph, const std::map<std::string, Index>& producer) {
  const nlohmann::json& nodes = graph.at("nodes");
  std::vector<Index> rank(nodes.size(), kNone), stack;
  Index next = 0;
  for (const std::string output : graph.at("outputs")) {
    if (const auto at = producer.find(output); at != producer.end()) stack.push_back(at->second);
    while (!stack.empty()) {
      const Index i = stack.back();
      stack.pop_back();
      if (rank[i] != kNone) continue;
      rank[i] = next++;
      std::vector<std::string> read = nodes[i].at("inputs");
      if (nodes[i].contains("captures"))
        for (const std::string value : nodes[i]["captures"]) read.push_back(value);
      for (auto value = read.rbegin(); value != read.rend(); ++value)
        if (const auto at = producer.find(*value); at != producer.end()) stack.push_back(at->second);
    }
  }
  for (Index& r : rank)
    if (r == kNone) r = next++;
  return rank;
}

// `order`: the nodes of the file in another order.
inline Case read_case(const nlohmann::json& file, std::vector<std::size_t> order = {}) {
  Case out;
  Problem& p = out.problem;
  nlohmann::json graph = file.at("graph");
  if (!order.empty()) {
    nlohmann::json nodes = nlohmann::json::array();
    for (const std::size_t i : order) nodes.push_back(graph["nodes"][i]);
    graph["nodes"] = nodes;
  }
  const nlohmann::json& nodes = graph["nodes"];
  const nlohmann::json model = file.value("model", nlohmann::json::object());
  std::map<std::string, Index> device, node, producer;

  std::vector<nlohmann::json> devices = file.at("devices");
  std::ranges::sort(devices, {}, [](const nlohmann::json& d) { return d.at("priority").get<int>(); });
  for (const nlohmann::json& d : devices) {
    const std::string id = d.at("id");
    device[id] = static_cast<Index>(out.devices.size());
    out.devices.push_back(id);
    Device& made = p.devices.emplace_back();
    if (model.contains("memory") && model["memory"].contains(id)) made.memory_bytes = model["memory"][id];
    if (model.contains("launch") && model["launch"].contains(id)) {  // microseconds, bytes per microsecond
      const std::uint64_t bandwidth = model.at("bandwidth").at(id).get<std::uint64_t>() * 1'000'000;
      made.cost = DeviceCost{model["launch"][id].get<std::uint64_t>() * 1000, 0, bandwidth, bandwidth};
    }
  }
  const bool timed = model.contains("cost"), weighed = model.contains("weights");
  for (Index i = 0; i < nodes.size(); ++i) {
    out.nodes.push_back(nodes[i].at("name"));
    node[out.nodes.back()] = i;
    for (const std::string value : nodes[i].at("outputs")) {
      producer[value] = static_cast<Index>(p.values.size());
      p.values.push_back({i, 1, false});
    }
  }
  std::map<std::string, Index> from;
  for (const auto& [name, value] : producer) {
    from[name] = p.values[value].producer;
    if (file.contains("bytes") && file["bytes"].contains(name)) p.values[value].bytes = file["bytes"][name];
  }
  for (const std::string name : graph.at("outputs"))
    if (producer.contains(name)) p.values[producer[name]].network_output = true;

  std::vector<std::vector<Index>> readers(p.values.size());
  for (Index i = 0; i < nodes.size(); ++i) {
    for (const char* key : {"inputs", "captures"}) {
      if (!nodes[i].contains(key)) continue;
      for (const std::string value : nodes[i][key]) {
        if (!from.contains(value)) continue;
        p.producers.add(from[value]);
        readers[producer[value]].push_back(i);
      }
    }
    p.producers.end_row();
    p.support_of.push_back(i);
    std::vector<Index> can;
    for (const std::string id : nodes[i].at("devices")) can.push_back(device.at(id));
    std::ranges::sort(can);
    p.supports.add_row(can);
    for (const std::string& id : out.devices)
      if (timed) p.node_ns.push_back(model["cost"][out.nodes[i]].value(id, 0) * 1000);
    if (weighed) {
      p.weights.add_row(std::vector{i});
      p.weight_bytes.push_back(model["weights"].value(out.nodes[i], 0));
    }
  }
  for (const auto& row : readers) p.readers.add_row(row);
  if (file.contains("atomic"))
    for (const auto& names : file["atomic"]) {
      Group& group = p.groups.emplace_back();
      for (const std::string name : names) group.nodes.push_back(node.at(name));
    }
  p.rank = ranks(graph, from);
  if (file.contains("expect")) out.expect = file["expect"];
  return out;
}

inline nlohmann::json read_json(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file, nullptr, false);
}

// The subgraphs as the vectors state them.
inline nlohmann::json shown(const Case& c, const Partition& partition) {
  nlohmann::json out = nlohmann::json::array();
  for (Index s = 0; s < partition.size(); ++s) {
    nlohmann::json nodes = nlohmann::json::array();
    for (const Index i : partition.nodes[s]) nodes.push_back(c.nodes[i]);
    out.push_back({{"device", c.devices[partition.devices[s]]}, {"nodes", nodes}});
  }
  return out;
}

}  // namespace graphopt::partition
