// partition: the main graph is cut into subgraphs for the devices of --devices; nodes have unique names, and
// each says in its metadata which subgraph and device it belongs to. The files are written by save.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "deploy/make_manifest.h"
#include "deploy/partition_report.h"
#include "devices/find.h"
#include "devices/open_dims.h"
#include "devices/support.h"
#include "driver/explain_nodes.h"
#include "driver/json.h"
#include "driver/partitioned.h"
#include "driver/run.h"
#include "driver/stages/stage.h"
#include "ir/bodies.h"
#include "ir/figures.h"
#include "ir/node_names.h"
#include "ir/verify.h"
#include "onnx/device_configuration.h"
#include "onnx/node_metadata.h"
#include "onnx/short_names.h"
#include "partition/partition.h"
#include "passes/explained.h"
#include "placement/given_devices.h"
#include "placement/node_times.h"
#include "placement/parts.h"
#include "regions/region_functions.h"
#include "support/nearest.h"
#include "support/utf8.h"

namespace graphopt {
namespace {

constexpr std::size_t kMostParts = 1000;  // without --force

bool writes_parts(const Options& options) {
  const std::vector<Export>& exports = options.partition.exports;
  return !options.output.empty() && !options.partition.plan &&
         (options.partition.parts || std::ranges::find(exports, Export::Triton) != exports.end());
}

// What only Constant nodes hold would cross borders; as initializers each part has it for itself. Before IR
// version 4 the writer makes Constant nodes of them again. Those that nothing reads go: an initializer that
// is not read would be merged with another one by a second run.
void take_constants_out(Model& m) {
  for (std::uint32_t g = 0; g < m.graph_count(); ++g) {
    if (!m.graph(GraphId{g}).alive || is_in_function(m, GraphId{g})) continue;
    for (NodeId n = m.first_node(GraphId{g}), next; n; n = next) {
      next = m.next_node(n);
      if (m.kind(n) != OpKind::Constant) continue;
      const ValueId v = m.output(n, 0);
      if (m.use_count(v) == 0 && !m.value(v).pinned) {
        m.erase(n);
        continue;
      }
      const bool returned = GraphId{g} != m.main() && m.is_graph_output(v);
      if (!m.value(v).tensor || returned || !m.can_become_constant(v)) continue;
      m.make_constant(v, m.value(v).tensor);
      m.erase(n);
    }
  }
}

// JSON is UTF-8, so the manifest cannot name what has another name.
Error no_text(const std::string& file, std::string_view what, std::string_view name) {
  return {ErrorKind::Input,
          {file, {}, {}, {}, {}},
          "the name of " + std::string(what) + " '" + std::string(name) + "' is not UTF-8",
          "rename it: a manifest is JSON, and cannot name it"};
}

Status check_names(const Model& m, const PartitionedModel& p) {
  std::vector<ValueId> named;
  const auto inputs = m.graph_inputs(m.main());
  named.assign(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < m.graph_output_count(m.main()); ++i)
    named.push_back(m.graph_output(m.main(), i));
  for (const ModelPart& part : p.parts) {
    named.insert(named.end(), part.inputs.begin(), part.inputs.end());
    named.insert(named.end(), part.outputs.begin(), part.outputs.end());
  }
  for (const ValueId v : named)
    if (v && !is_utf8(m.text(m.value(v).name))) return no_text(m.file, "the value", m.text(m.value(v).name));
  return Done{};
}

// Nodes have metadata from kNodeMetadataIrVersion on.
void annotate(Model& m, std::span<const Profile> profiles, const PartitionedModel& p) {
  if (m.ir_version < kNodeMetadataIrVersion) return;
  std::vector<std::string> names(p.partition.size());
  std::vector<NodeText> subgraphs, devices;
  for (std::size_t s = 0; s < p.parts.size(); ++s) {
    names[s] = deploy::subgraph_name(s);
    for (const NodeId n : p.parts[s].nodes) {
      subgraphs.push_back({n, names[s]});
      devices.push_back({n, profiles[p.partition.devices[s]].id});
    }
  }
  set_node_metadata(m, kSubgraphKey, subgraphs);
  set_node_metadata(m, kDeviceKey, devices);
  set_node_metadata(m, kLayerKey, subgraphs);
  std::vector<NodeText> inside;  // nodes of bodies go with the node that holds them
  for (std::size_t i = 0; i < m.node_count(); ++i)
    if (const NodeId n{i}; m.alive(n) && m.node(n).graph != m.main() && m.ancestor_in(m.main(), n))
      if (node_metadata(m, n, kLayerKey)) inside.push_back({n, std::nullopt});
  set_node_metadata(m, kLayerKey, inside);
}

// Returns, by node id, which nodes a device takes, or cannot get since the model names another one for them.
std::vector<bool> taken_by(std::size_t device, const Work& work, const Placement& placement) {
  std::vector<bool> out(work.model.node_count());
  const partition::Problem& problem = placement.problem;
  for (std::size_t i = 0; i < placement.nodes.size(); ++i) {
    const std::size_t n = placement.nodes[i].index();
    const auto row = problem.supports[problem.support_of[i]];
    out[n] = std::ranges::find(row, static_cast<partition::Index>(device)) != row.end() ||
             (n < work.assigned.size() && work.assigned[n] != kNotAssigned);
  }
  return out;
}

Status run_partition(Run& run) {
  const PartitionStage::Options& options = run.options.partition;
  Model& m = run.work->model;
  Partitioned& p = *run.partitioned;
  if (run.options.strip.names) {  // short names are for the nodes that get a name here, too
    take_constants_out(m);
    name_nodes(m, Unnamed::All);
    shorten_names(m, run.work->left_alone);
  }
  if (Status s = partition_model(run.options, p.devices, *run.work, p); !s) return s;
  if (options.devices.empty()) return Done{};  // a manifest is wanted, nothing is told
  if (!options.plan && m.ir_version < kNodeMetadataIrVersion)
    run.warn(m.file + ": --devices: nodes have metadata from IR version 10 on, and the model has " +
             std::to_string(m.ir_version) +
             "; subgraphs and devices are in the manifest only (--ir-version 10 raises it)");
  PartitionStage::Report& report = run.report.partition.emplace();
  report.algorithm = options.algorithm;
  describe_partition(m, *run.work->inference, p, report);
  for (std::string& text : partition_warnings(m, p)) run.warn(std::move(text));
  if (!run.specialized)  // the models of buckets have other dims
    if (const std::string text = for_fixed_shapes(*run.work, p.devices, p); !text.empty())
      run.warn(m.file + ": --devices: dims of inputs are open; with numbers " + text);
  if (options.given)
    for (std::string& text : describe_given(m, p, run.work->assigned, report)) run.warn(std::move(text));
  if (p.partition.run_ns > p.partition.host_ns)
    run.warn(m.file + ": --devices: by the costs of the profiles a run takes " +
             time_text(*p.partition.run_ns) + ", and the host alone " + time_text(*p.partition.host_ns) +
             " (a subgraph that cannot move may be the reason)");
  report.explained = explain_nodes(run, *run.work);
  for (std::string& text : explained_nowhere(m, run.options.clean_up)) run.warn(std::move(text));
  report.run_ns = p.partition.run_ns;
  report.host_ns = p.partition.host_ns;
  if (run.options.regions.draw) report.drawing = draw_partition(m, *run.work->inference, p);
  run.report.after = count_model(m);
  return Done{};
}

void partition_json(const Report& r, Json& out) {
  Json& json = out["partition"] = nullptr;
  if (!r.partition) return;
  const PartitionStage::Report& p = *r.partition;
  json = {{"algorithm", word(p.algorithm)}, {"devices", Json::array()}, {"subgraphs", Json::array()}};
  for (const PartitionStage::Device& d : p.devices)
    json["devices"].push_back({{"id", d.id},
                               {"host", d.host},
                               {"nodes", d.nodes},
                               {"subgraphs", d.subgraphs},
                               {"multiply_adds", d.multiply_adds.empty() ? Json() : Json(d.multiply_adds)},
                               {"uncounted_nodes", d.uncounted_nodes}});
  for (const PartitionStage::Subgraph& s : p.subgraphs)
    json["subgraphs"].push_back({{"id", s.id},
                                 {"device", s.device},
                                 {"nodes", s.nodes},
                                 {"inputs", s.inputs},
                                 {"outputs", s.outputs},
                                 {"first", s.first}});
  json["refused"] = Json::array();
  for (const PartitionStage::Refused& f : p.refused)
    json["refused"].push_back({{"device", f.device},
                               {"operator", f.op},
                               {"reason", word(f.reason)},
                               {"detail", f.detail},
                               {"count", f.count}});
  json["moved"] = Json::array();
  for (const PartitionStage::Moved& f : p.moved)
    json["moved"].push_back({{"from", f.from}, {"to", f.to}, {"reason", word(f.reason)}, {"count", f.count}});
  json["explained"] = Json::array();
  for (const PartitionStage::Explained& e : p.explained) {
    Json& one = json["explained"].emplace_back(Json{{"node", e.node},
                                                    {"op", e.op},
                                                    {"device", e.device},
                                                    {"subgraph", e.subgraph},
                                                    {"refused", Json::array()},
                                                    {"replaced_by", e.replaced_by},
                                                    {"lowered_for", e.lowered_for},
                                                    {"expansion", e.expansion}});
    for (const PartitionStage::Explained::Refusal& r : e.refused)
      one["refused"].push_back({{"device", r.device}, {"reason", r.reason}});
  }
  json["given"] = p.given ? Json(*p.given) : Json(nullptr);
  json["border_values"] = p.border_values;
  json["border_bytes"] = p.border_bytes ? Json(*p.border_bytes) : Json(nullptr);
  json["switches"] = p.switches;
  json["run_ns"] = p.run_ns ? Json(*p.run_ns) : Json(nullptr);
  json["host_ns"] = p.host_ns ? Json(*p.host_ns) : Json(nullptr);
  json["proven"] = p.proven;
  json["network"] = p.network.empty() ? Json(nullptr) : Json(p.network);
  json["manifest"] = p.manifest.empty() ? Json(nullptr) : Json(p.manifest);
}

}  // namespace

partition::Options partition_options(const PartitionStage::Options& o) {
  partition::Options out;
  switch (o.algorithm) {
    case PartitionAlgorithm::Grow: out.algorithm = partition::Algorithm::Grow; break;
    case PartitionAlgorithm::Fewest: out.algorithm = partition::Algorithm::Fewest; break;
    case PartitionAlgorithm::Depth: out.algorithm = partition::Algorithm::Depth; break;
  }
  out.connected = o.connected;
  out.min_gain_ns = o.min_gain_ns;
  out.assigned = o.given;
  return out;
}

Status partition_model(const Options& options, std::span<const Profile> devices, Work& work,
                       PartitionedModel& out) {
  const PartitionStage::Options& asked = options.partition;
  Model& m = work.model;
  take_constants_out(m);
  name_nodes(m, Unnamed::All);
  out.placement = place(m, *work.inference, devices, work.assigned);
  const partition::Options how = partition_options(asked);
  Result<partition::Partition> found = partition::partition(out.placement.problem, how);
  if (!found) return found.errors();
  out.partition = *std::move(found);
#ifdef NDEBUG
  const bool validates = options.clean_up.verify_each;
#else
  const bool validates = true;
#endif
  if (validates)
    if (Status s = partition::validate(out.placement.problem, how, out.partition); !s) return s;
  if (writes_parts(options) && out.partition.size() > kMostParts && !options.save.force)
    return Error{ErrorKind::Usage,
                 {m.file, {}, {}, {}, {}},
                 "--devices: there would be " + std::to_string(out.partition.size()) +
                     " subgraphs, each a file of its own",
                 "give --parts never, --min-nodes, or --force"};
  out.parts = parts_of(m, out.placement, out.partition);
  if (!options.output.empty())
    if (Status s = check_names(m, out); !s) return s;
  if (!asked.plan && !asked.devices.empty()) annotate(m, devices, out);
  if (auto broken = verify(m)) return *broken;
  return Done{};
}

void drop_old_partition(const Options& options, Work& work) {
  Model& m = work.model;
  if (!any_wanted(options, &StageEntry::edits_nodes)) return;
  if (m.ir_version < kNodeMetadataIrVersion) return;
  std::vector<NodeText> marked;
  for (NodeId n = m.first_node(m.main()); n; n = m.next_node(n))
    if (node_metadata(m, n, kSubgraphKey)) marked.push_back({n, std::nullopt});
  for (const std::string_view key : {kSubgraphKey, kDeviceKey, kLayerKey}) set_node_metadata(m, key, marked);
}

Result<std::vector<std::string>> read_given_devices(const Run& run, Work& work) {
  if (!run.partitioned || !run.options.partition.given) return std::vector<std::string>();
  Result<GivenDevices> given = given_devices(work.model, run.options.partition, run.partitioned->devices);
  if (!given) return given.errors();
  work.assigned = std::move(given->nodes);
  return std::move(given->unmatched);
}

std::string for_fixed_shapes(Work& work, std::span<const Profile> devices, const PartitionedModel& cut) {
  Model& m = work.model;
  std::string counts;
  OpenDims open;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const auto is_open = [d](const RefusedNodes& r) {
      return r.device == d && r.refusal == DeviceRefusal::DynamicShape;
    };
    if (std::ranges::none_of(cut.placement.refused, is_open)) continue;
    if (open.symbols.empty()) open = open_dims(m, *work.inference);
    const std::uint64_t nodes =
        nodes_for_fixed_shapes(devices[d], m, *work.inference, open, taken_by(d, work, cut.placement));
    if (nodes > 0)
      counts += fmt::format("{}{} takes about {} more node{}", counts.empty() ? "" : ", ", devices[d].id,
                            nodes, nodes == 1 ? "" : "s");
  }
  if (counts.empty()) return {};
  std::string options;
  for (const std::string& option : open.remedies) options += (options.empty() ? "" : " ") + option;
  return counts + " (" + options + ')';
}

namespace {

Status check_budgets(const PartitionStage::Options& options, std::span<const Profile> devices) {
  std::vector<std::string> ids;
  for (const Profile& p : devices) ids.push_back(p.id);
  for (const PartitionStage::DeviceBudget& b : options.budgets)
    if (std::ranges::find(ids, b.device) == ids.end())
      return Error{ErrorKind::Usage,
                   {},
                   "--budget: '" + b.device + "' is none of the devices of the run",
                   suggest(b.device, ids, "devices")};
  return Done{};
}

}  // namespace

Status open_devices(Run& run) {
  Result<std::vector<Profile>> devices = load_devices(run.options.partition.devices, device_folders());
  if (!devices) return devices.errors();
  if (Status s = check_layer_rules(run.options.partition, *devices); !s) return s;
  if (Status s = check_budgets(run.options.partition, *devices); !s) return s;
  run.partitioned = std::make_unique<Partitioned>();
  run.partitioned->devices = *std::move(devices);
  std::vector<Profile>& list = run.partitioned->devices;
  for (const Profile& p : list)
    for (const std::string& doubt : doubtful_rules(p)) run.warn(p.file + ": " + doubt);
  if (const std::uint32_t least = run.options.partition.min_nodes; least > 0)
    for (Profile& p : list)
      if (!p.host) p.min_nodes = least;
  const bool priced = knows_costs(list.back()) &&
                      std::ranges::any_of(list, [](const Profile& p) { return !p.host && knows_costs(p); });
  if (run.options.partition.min_gain_ns > 0 && !priced)
    run.warn(
        "--min-gain: the profiles state no costs of an accelerator and of the host, so no subgraph is "
        "given back (docs/devices.md, keys cost and table)");
  const auto host = std::ranges::find(list, true, &Profile::host);
  if (list.back().host || run.options.partition.given) return Done{};
  run.warn("--devices: " + host[1].id + " is after the host " + host->id +
           ", which takes every node: nothing is left for it (put " + host->id + " at the end)");
  return Done{};
}

void open_host(Run& run) {
  Profile host;
  host.id = "cpu";
  host.kind = DeviceKind::Cpu;
  host.host = true;
  host.control_flow = ControlFlow::Whole;
  host.ep = "CPUExecutionProvider";
  run.partitioned = std::make_unique<Partitioned>();
  run.partitioned->devices.push_back(std::move(host));
}

std::string time_text(std::int64_t ns) {
  constexpr std::array<std::pair<double, const char*>, 3> kUnits = {{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}}};
  for (const auto& [size, name] : kUnits)
    if (const double time = static_cast<double>(ns) / size; time >= 1)
      return fmt::format("{:.{}f} {}", time, time < 10 ? 2 : time < 100 ? 1 : 0, name);
  return fmt::format("{} ns", ns);
}

extern constinit const StageEntry partition_stage = {
    .stage = Stage::Partition,
    .name = "partition",
    .needs_types = true,
    .edits_nodes = true,
    .wanted =
        [](const Options& options) {
          return options.stop_after >= Stage::CleanUp &&
                 (!options.partition.devices.empty() || !manifest_path(options).empty());
        },
    .prepare = [](Run& run) -> Status {
      const std::string& output = run.options.output;
      if (!is_utf8(output)) return no_text(run.options.input, "the output file", output);
      if (run.options.partition.devices.empty()) return Done{};  // the stage buckets opened the host
      return open_devices(run);
    },
    .run = run_partition,
    .to_json = partition_json};

}  // namespace graphopt
