// See partitioned_reader.h.
#include "deploy/partitioned_reader.h"

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include "support/json_scan.h"

namespace graphopt::deploy {

using Json = JsonWalk::Json;
using Path = JsonWalk::Path;
using Read = JsonWalk::Read;

namespace {

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::min();

}  // namespace

Read PartitionedReader::partition() {
  return [this](const Json& j, const Path& path) { plan(j, path); };
}

Read PartitionedReader::subgraphs() {
  return walk_.to_list(
      to_.subgraphs, "subgraphs",
      [this](const Json& j, const Path& at, Subgraph& s, std::size_t i) { subgraph(j, at, s, i); });
}

Read PartitionedReader::borders() {
  return walk_.to_list(to_.borders, "borders", [this](const Json& j, const Path& at, Border& b, std::size_t) {
    walk_.object(j, at,
                 {{"value", walk_.to_text(b.value, false), true},
                  {"from", walk_.to_reference(b.from, names_.subgraphs), true},
                  {"to", walk_.to_reference(b.to, names_.subgraphs), true},
                  {"size", walk_.to_size(b.size), true}});
  });
}

Read PartitionedReader::statistics() {
  return [this](const Json& j, const Path& path) { figures(j, path); };
}

void PartitionedReader::plan(const Json& j, const Path& path) {
  PartitionPlan& p = to_.partition;
  const auto absorbed = [this](const Json& v, const Path& at, Absorbed& a, std::size_t) {
    const auto saved = [&](const Json& ns, const Path& to) { a.saved_ns = walk_.integer(ns, to, kAny); };
    walk_.object(v, at,
                 {{"nodes", walk_.to_count(a.nodes, 1), true},
                  {"from", walk_.to_reference(a.from, names_.devices), true},
                  {"to", walk_.to_reference(a.to, names_.devices), true},
                  {"reason", walk_.to_word(a.reason), true},
                  {"saved_ns", saved}});
  };
  const auto stage = [this](const Json& v, const Path& at, std::vector<Index>& s, std::size_t) {
    walk_.to_references(s, names_.subgraphs)(v, at);
  };
  walk_.object(j, path,
               {{"algorithm", walk_.to_word(p.algorithm), true},
                {"connected", walk_.to_boolean(p.connected), true},
                {"order", walk_.to_references(p.order, names_.subgraphs), true},
                {"stages", walk_.to_list(p.stages, "lists of subgraphs", stage), true},
                {"lower_bound", walk_.to_count(p.lower_bound)},
                {"proven", walk_.to_boolean(p.proven)},
                {"absorbed", walk_.to_list(p.absorbed, "objects", absorbed)}});
}

void PartitionedReader::input(const Json& j, const Path& path, PortIn& v) {
  const auto from = [&](const Json& id, const Path& at) {
    if (!id.is_null()) walk_.to_reference(v.from.emplace(), names_.subgraphs)(id, at);
  };
  walk_.object(j, path,
               {{"name", walk_.to_text(v.name, false), true},
                {"type", walk_.to_type(v.type), true},
                {"from", from, true},
                {"capture", walk_.to_boolean(v.capture)}});
}

void PartitionedReader::output(const Json& j, const Path& path, PortOut& v) {
  walk_.object(j, path,
               {{"name", walk_.to_text(v.name, false), true},
                {"type", walk_.to_type(v.type), true},
                {"to", walk_.to_references(v.to, names_.subgraphs), true},
                {"network_output", walk_.to_boolean(v.network_output), true},
                {"state_of", walk_.to_text(v.state_of, false)}});
}

void PartitionedReader::subgraph(const Json& j, const Path& path, Subgraph& s, std::size_t i) {
  const auto inputs = [this](const Json& v, const Path& at, PortIn& to, std::size_t) { input(v, at, to); };
  const auto outputs = [this](const Json& v, const Path& at, PortOut& to, std::size_t) { output(v, at, to); };
  walk_.object(j, path,
               {{"id", walk_.to_id(s.id, names_.subgraphs, i), true},
                {"device", walk_.to_reference(s.device, names_.devices), true},
                {"file", walk_.to_path_or_null(s.file), true},
                {"content", walk_.to_hash(s.content)},
                {"nodes", walk_.to_texts(s.nodes, 1, "names"), true},
                {"inputs", walk_.to_list(s.inputs, "objects", inputs), true},
                {"outputs", walk_.to_list(s.outputs, "objects", outputs), true},
                {"depends", walk_.to_references(s.depends, names_.subgraphs), true},
                {"reference_count", walk_.to_count(s.reference_count), true},
                {"weight_bytes", walk_.to_count(s.weight_bytes)},
                {"peak_bytes", walk_.to_size(s.peak_bytes)},
                {"components", walk_.to_count(s.components, 1)}});
}

void PartitionedReader::unsupported(const Json& j, const Path& path, Unsupported& u) {
  walk_.object(j, path,
               {{"device", walk_.to_reference(u.device, names_.devices), true},
                {"operator", walk_.to_text(u.op), true},
                {"reason", walk_.to_word(u.reason), true},
                {"detail", [&](const Json& v, const Path& at) { u.detail = walk_.text(v, at); }},
                {"count", walk_.to_count(u.count, 1), true}});
}

void PartitionedReader::figures(const Json& j, const Path& path) {
  Statistics& s = to_.statistics;
  s.device_nodes.resize(names_.devices.size());
  const auto device_nodes = [&](const Json& v, const Path& at) {
    walk_.members(v, at, [&](const std::string& name, const Json& count, const Path& to) {
      if (const auto device = names_.devices.find(name)) walk_.to_count(s.device_nodes[*device])(count, to);
      else walk_.unknown(to, name, names_.devices);
    });
  };
  const auto reasons = [this](const Json& v, const Path& at, Unsupported& u, std::size_t) {
    unsupported(v, at, u);
  };
  const auto maybe = [this](std::optional<std::uint64_t>& to) {
    return [this, &to](const Json& v, const Path& at) { walk_.to_count(to.emplace())(v, at); };
  };
  walk_.object(j, path,
               {{"nodes", walk_.to_count(s.nodes), true},
                {"subgraphs", walk_.to_count(s.subgraphs), true},
                {"accelerator_subgraphs", maybe(accelerator_subgraphs_)},
                {"device_nodes", device_nodes, true},
                {"border_values", maybe(border_values_)},
                {"border", walk_.to_size(s.border)},
                {"largest_accelerator_subgraph_nodes", maybe(largest_)},
                {"unsupported", walk_.to_list(s.unsupported, "objects", reasons)}});
}

void PartitionedReader::check(const Path& path, std::span<const Device> devices) {
  const Path subgraphs = json_path(path, "subgraphs");
  check_order(json_path(path, "partition"));
  check_nodes(subgraphs);
  check_transfers(path);
  check_network(subgraphs);
  check_counts(subgraphs);
  check_statistics(json_path(path, "statistics"), devices);
  if (walk_.errors().empty()) schedule_.check(json_path(path, "schedule"));
}

void PartitionedReader::expect(const Path& path, std::uint64_t found, std::uint64_t known,
                               std::string_view what) {
  if (found != known)
    walk_.problem(path, "found " + std::to_string(found),
                  "allowed: " + std::to_string(known) + ", the number of " + std::string(what));
}

void PartitionedReader::expect(const Path& path, std::optional<std::uint64_t> found, std::uint64_t& to,
                               std::uint64_t known, std::string_view what) {
  if (found) expect(path, *found, known, what);
  to = known;
}

// All subgraphs are in the order and in the stages, and none comes before one that it depends on.
void PartitionedReader::check_order(const Path& path) {
  const PartitionPlan& p = to_.partition;
  const std::size_t count = to_.subgraphs.size();
  const Path order = json_path(path, "order"), stages = json_path(path, "stages");
  std::vector<std::size_t> place(count, count), stage(count, count);
  for (std::size_t i = 0; i < p.order.size(); ++i) place[p.order[i]] = i;
  for (std::size_t i = 0; i < p.stages.size(); ++i)
    for (const Index s : p.stages[i]) {
      if (stage[s] != count) walk_.twice(json_path(stages, i), id(s), "each subgraph has one stage");
      stage[s] = i;
    }
  const auto check = [&](const Path& at, const std::vector<std::size_t>& places, Index s) {
    if (places[s] == count) walk_.problem(at, "\"" + id(s) + "\" is missing", "name each subgraph once");
    for (const Index needed : to_.subgraphs[s].depends)
      if (places[s] != count && places[needed] != count && places[needed] >= places[s])
        walk_.problem(at, "\"" + id(s) + "\" does not come after \"" + id(needed) + "\", which it depends on",
                      "put subgraphs after those that they depend on");
  };
  for (Index s = 0; s < count; ++s) {
    check(order, place, s);
    check(stages, stage, s);
  }
}

// No node is in two subgraphs.
void PartitionedReader::check_nodes(const Path& path) {
  std::unordered_set<std::string_view> seen;
  for (std::size_t s = 0; s < to_.subgraphs.size(); ++s) {
    const std::vector<std::string>& nodes = to_.subgraphs[s].nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (!seen.insert(nodes[i]).second)
        walk_.twice(json_path(json_path(json_path(path, s), "nodes"), i), nodes[i],
                    "each node is in one subgraph");
  }
}

// Outputs, inputs and `borders` state the same transfers.
void PartitionedReader::check_transfers(const Path& path) {
  std::set<Transfer> made, read, borders;
  for (Index s = 0; s < to_.subgraphs.size(); ++s) {
    for (const PortOut& v : to_.subgraphs[s].outputs)
      for (const Index t : v.to) made.insert({v.name, s, t});
    for (const PortIn& v : to_.subgraphs[s].inputs)
      if (v.from) read.insert({v.name, *v.from, s});
  }
  const Path listed = json_path(path, "borders");
  for (std::size_t i = 0; i < to_.borders.size(); ++i) {
    const Border& b = to_.borders[i];
    const Path at = json_path(listed, i);
    if (!borders.insert({b.value, b.from, b.to}).second) {
      walk_.twice(at, b.value, "name each transfer once");
    } else if (!made.contains({b.value, b.from, b.to})) {
      walk_.problem(at, "\"" + id(b.from) + "\" has no output '" + b.value + "' to \"" + id(b.to) + '"',
                    "name the subgraph that makes the value, and one that reads it");
    }
  }
  const Path subgraphs = json_path(path, "subgraphs");
  for (Index s = 0; s < to_.subgraphs.size(); ++s) {
    const Subgraph& one = to_.subgraphs[s];
    const Path outputs = json_path(json_path(subgraphs, s), "outputs");
    for (std::size_t i = 0; i < one.outputs.size(); ++i)
      for (const Index t : one.outputs[i].to) {
        const std::string& name = one.outputs[i].name;
        const Path at = json_path(json_path(outputs, i), "to");
        if (!read.contains({name, s, t}))
          walk_.problem(at, "\"" + id(t) + "\" has no input '" + name + "' from this subgraph",
                        "name the subgraphs that read it");
        else if (!borders.contains({name, s, t}))
          walk_.problem(at, "the transfer of '" + name + "' to \"" + id(t) + "\" is missing in borders",
                        "add it");
      }
    const Path inputs = json_path(json_path(subgraphs, s), "inputs");
    for (std::size_t i = 0; i < one.inputs.size(); ++i) {
      const PortIn& v = one.inputs[i];
      if (v.from && !made.contains({v.name, *v.from, s}))
        walk_.problem(json_path(json_path(inputs, i), "from"),
                      "\"" + id(*v.from) + "\" has no output '" + v.name + "' to this subgraph",
                      "name the subgraph that makes it");
    }
  }
}

// What is the network's is one of its inputs and outputs.
void PartitionedReader::check_network(const Path& path) {
  const NetworkNames& network = names_.network;
  for (std::size_t s = 0; s < to_.subgraphs.size(); ++s) {
    const Subgraph& one = to_.subgraphs[s];
    const Path inputs = json_path(json_path(path, s), "inputs"),
               outputs = json_path(json_path(path, s), "outputs");
    for (std::size_t i = 0; i < one.inputs.size(); ++i) {
      const PortIn& v = one.inputs[i];
      if (!v.from && !network.inputs.contains(v.name))
        walk_.problem(
            json_path(json_path(inputs, i), "name"), "found \"" + v.name + '"',
            "allowed: an input of the network; name in \"from\" the subgraph that makes another value");
    }
    for (std::size_t i = 0; i < one.outputs.size(); ++i) {
      const PortOut& v = one.outputs[i];
      const Path at = json_path(outputs, i);
      if (v.network_output != network.outputs.contains(v.name))
        walk_.problem(json_path(at, "network_output"), v.network_output ? "found true" : "found false",
                      "allowed: whether '" + v.name + "' is an output of the network");
      if (!v.state_of.empty() && !network.inputs.contains(v.state_of))
        walk_.problem(json_path(at, "state_of"), "found \"" + v.state_of + '"',
                      "allowed: an input of the network");
    }
  }
}

// `depends` and `reference_count` say what the ports say.
void PartitionedReader::check_counts(const Path& path) {
  for (std::size_t s = 0; s < to_.subgraphs.size(); ++s) {
    const Subgraph& one = to_.subgraphs[s];
    std::set<Index> producers, readers;
    for (const PortIn& v : one.inputs)
      if (v.from) producers.insert(*v.from);
    for (const PortOut& v : one.outputs) readers.insert(v.to.begin(), v.to.end());
    const Path at = json_path(path, s);
    if (std::set<Index>(one.depends.begin(), one.depends.end()) != producers)
      walk_.problem(json_path(at, "depends"), "these are not the subgraphs that its inputs are from",
                    "name each of those once");
    expect(json_path(at, "reference_count"), one.reference_count, readers.size(),
           "subgraphs that read its outputs");
  }
}

void PartitionedReader::check_statistics(const Path& path, std::span<const Device> devices) {
  Statistics& s = to_.statistics;
  std::vector<std::uint64_t> nodes(devices.size());
  std::uint64_t all = 0, accelerators = 0, largest = 0;
  for (const Subgraph& one : to_.subgraphs) {
    nodes[one.device] += one.nodes.size();
    all += one.nodes.size();
    if (devices[one.device].host) continue;
    ++accelerators;
    largest = std::max<std::uint64_t>(largest, one.nodes.size());
  }
  expect(json_path(path, "nodes"), s.nodes, all, "nodes of the subgraphs");
  expect(json_path(path, "subgraphs"), s.subgraphs, to_.subgraphs.size(), "subgraphs");
  expect(json_path(path, "accelerator_subgraphs"), accelerator_subgraphs_, s.accelerator_subgraphs,
         accelerators, "subgraphs that are not on the host");
  expect(json_path(path, "border_values"), border_values_, s.border_values, to_.borders.size(), "borders");
  expect(json_path(path, "largest_accelerator_subgraph_nodes"), largest_,
         s.largest_accelerator_subgraph_nodes, largest,
         "nodes of the largest subgraph that is not on the host");
  const Path by_device = json_path(path, "device_nodes");
  for (std::size_t d = 0; d < devices.size(); ++d)
    expect(json_path(by_device, devices[d].id), s.device_nodes[d], nodes[d], "nodes of its subgraphs");
}

}  // namespace graphopt::deploy
