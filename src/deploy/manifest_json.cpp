// See manifest_json.h. A function for each object of the document.
#include "deploy/manifest_json.h"

#include <cmath>
#include <utility>

#include "deploy/value_types.h"

namespace graphopt::deploy {
namespace {

using nlohmann::json;

template <class T> json or_null(const std::optional<T>& v) { return v ? json(*v) : json(nullptr); }
json or_null(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

// Types nest as deep as the reader of models allows, a hundred levels.
json type_json(const ValueType& type) {
  json out = {{"kind", word(type.kind)}};
  if (type.kind == ValueKind::Tensor || type.kind == ValueKind::SparseTensor) {
    out["dtype"] = enumerator(type.dtype);
    json& shape = out["shape"] = nullptr;
    if (type.shape) {
      shape = json::array();
      for (const ValueDim& d : *type.shape) {
        if (const auto* number = std::get_if<std::int64_t>(&d)) shape.push_back(*number);
        else if (const auto* name = std::get_if<std::string>(&d)) shape.push_back(*name);
        else shape.push_back(nullptr);
      }
    }
    return out;
  }
  if (type.kind == ValueKind::Map) out["key"] = enumerator(type.dtype);
  out["elem"] = type.elem.empty() ? json(nullptr) : type_json(type.elem[0]);
  return out;
}

json size_json(const Size& size) {
  json out = {{"bytes", or_null(size.bytes)}};
  if (!size.formula.empty()) out["formula"] = size.formula;
  return out;
}

json tool_json(const Tool& tool) {
  json options = json::object();
  for (const auto& [name, value] : tool.options)
    std::visit([&options, &name = name](const auto& v) { options[name] = v; }, value);
  return {{"name", "graphopt"}, {"version", tool.version}, {"options", std::move(options)}};
}

json value_json(const NetworkValue& v) {
  json out = {{"name", v.name}, {"type", type_json(v.type)}};
  if (v.optional) out["optional"] = true;
  return out;
}

json network_json(const Network& n) {
  json out = {{"id", n.id},
              {"name", n.name},
              {"ir_version", n.ir_version},
              {"opset", json::array()},
              {"inputs", json::array()},
              {"outputs", json::array()},
              {"symbols", json::object()}};
  if (!n.source_id.empty()) out["source_id"] = n.source_id;
  for (const Opset& o : n.opset) out["opset"].push_back({{"domain", o.domain}, {"version", o.version}});
  for (const NetworkValue& v : n.inputs) out["inputs"].push_back(value_json(v));
  for (const NetworkValue& v : n.outputs) out["outputs"].push_back(value_json(v));
  for (const auto& [name, bounds] : n.symbols) {
    json& one = out["symbols"][name] = {{"min", bounds.min}, {"max", or_null(bounds.max)}};
    if (bounds.multiple_of) one["multiple_of"] = *bounds.multiple_of;
  }
  return out;
}

json device_json(const Device& d) {
  json out = {{"id", d.id}, {"kind", word(d.kind)}, {"priority", d.priority}};
  if (d.host) out["host"] = true;
  if (d.profile)
    out["profile"] = {
        {"name", d.profile->name}, {"version", d.profile->version}, {"sha256", d.profile->sha256}};
  if (d.ep) out["ep"] = to_json(*d.ep);
  return out;
}

// How one model is cut; `devices` are those of the manifest.
class PartitionedWriter {
 public:
  PartitionedWriter(const PartitionedNetwork& network, const std::vector<Device>& devices)
      : n_(network), devices_(devices) {}

  void add_to(json& out) const {
    out["partition"] = partition();
    json& subgraphs = out["subgraphs"] = json::array();
    for (const Subgraph& s : n_.subgraphs) subgraphs.push_back(subgraph(s));
    json& borders = out["borders"] = json::array();
    for (const Border& b : n_.borders)
      borders.push_back(
          {{"value", b.value}, {"from", id(b.from)}, {"to", id(b.to)}, {"size", size_json(b.size)}});
    out["statistics"] = statistics();
    if (n_.schedule) out["schedule"] = schedule(*n_.schedule);
  }

  const std::string& id(Index subgraph) const { return n_.subgraphs[subgraph].id; }

 private:
  const std::string& device(Index i) const { return devices_[i].id; }
  json ids(const std::vector<Index>& subgraphs) const {
    json out = json::array();
    for (const Index s : subgraphs) out.push_back(id(s));
    return out;
  }

  json partition() const {
    const PartitionPlan& p = n_.partition;
    json stages = json::array(), absorbed = json::array();
    for (const std::vector<Index>& stage : p.stages) stages.push_back(ids(stage));
    for (const Absorbed& a : p.absorbed) {
      json one = {
          {"nodes", a.nodes}, {"from", device(a.from)}, {"to", device(a.to)}, {"reason", word(a.reason)}};
      if (a.saved_ns) one["saved_ns"] = *a.saved_ns;
      absorbed.push_back(std::move(one));
    }
    return {{"algorithm", word(p.algorithm)}, {"connected", p.connected},     {"order", ids(p.order)},
            {"stages", std::move(stages)},    {"lower_bound", p.lower_bound}, {"proven", p.proven},
            {"absorbed", std::move(absorbed)}};
  }

  json subgraph(const Subgraph& s) const {
    json inputs = json::array(), outputs = json::array();
    for (const PortIn& v : s.inputs) {
      json one = {{"name", v.name}, {"type", type_json(v.type)}, {"from", nullptr}};
      if (v.from) one["from"] = id(*v.from);
      if (v.capture) one["capture"] = true;
      inputs.push_back(std::move(one));
    }
    for (const PortOut& v : s.outputs) {
      json one = {{"name", v.name},
                  {"type", type_json(v.type)},
                  {"to", ids(v.to)},
                  {"network_output", v.network_output}};
      if (!v.state_of.empty()) one["state_of"] = v.state_of;
      outputs.push_back(std::move(one));
    }
    return {{"id", s.id},
            {"device", device(s.device)},
            {"file", or_null(s.file)},
            {"content", s.content},
            {"nodes", s.nodes},
            {"inputs", std::move(inputs)},
            {"outputs", std::move(outputs)},
            {"depends", ids(s.depends)},
            {"reference_count", s.reference_count},
            {"weight_bytes", s.weight_bytes},
            {"peak_bytes", size_json(s.peak_bytes)},
            {"components", s.components}};
  }

  json statistics() const {
    const Statistics& s = n_.statistics;
    json nodes = json::object(), unsupported = json::array();
    for (std::size_t i = 0; i < s.device_nodes.size(); ++i) nodes[devices_[i].id] = s.device_nodes[i];
    for (const Unsupported& u : s.unsupported) {
      json one = {
          {"device", device(u.device)}, {"operator", u.op}, {"reason", word(u.reason)}, {"count", u.count}};
      if (u.detail) one["detail"] = *u.detail;
      unsupported.push_back(std::move(one));
    }
    return {{"nodes", s.nodes},
            {"subgraphs", s.subgraphs},
            {"accelerator_subgraphs", s.accelerator_subgraphs},
            {"device_nodes", std::move(nodes)},
            {"border_values", s.border_values},
            {"border", size_json(s.border)},
            {"largest_accelerator_subgraph_nodes", s.largest_accelerator_subgraph_nodes},
            {"unsupported", std::move(unsupported)}};
  }

  json schedule(const Schedule& s) const {
    json groups = json::array(), values = json::array(), memory = json::array();
    for (const schedule::Group& g : s.groups)
      groups.push_back({{"front", id(g.front)},
                        {"back", ids(g.back)},
                        {"reference_count", g.back.size()},
                        {"parallel", ids(g.parallel)}});
    for (const ScheduledValue& v : s.values)
      values.push_back({{"value", v.name},
                        {"from", v.from ? json(id(*v.from)) : json(nullptr)},
                        {"to", ids(v.to)},
                        {"reference_count", v.reference_count},
                        {"size", size_json(v.size)},
                        {"first", v.first},
                        {"last", v.last}});
    for (const DeviceMemory& d : s.memory) memory.push_back(device_memory(s, d));
    json out = {{"groups", std::move(groups)}, {"values", std::move(values)}, {"memory", std::move(memory)}};
    if (s.throughput) out["throughput"] = throughput(*s.throughput);
    return out;
  }

  json device_memory(const Schedule& s, const DeviceMemory& d) const {
    json out = {{"device", device(d.device)}, {"weight_bytes", d.weight_bytes},
                {"peak", or_null(d.peak)},    {"budget", or_null(d.budget)},
                {"spills", nullptr},          {"peak_at", d.peak ? json(id(d.peak_at)) : json(nullptr)}};
    if (!d.spills) return out;
    out["spills"] = json::array();
    for (const Spill& spill : *d.spills)
      out["spills"].push_back({{"value", s.values[spill.value].name}, {"at", id(spill.at)}});
    return out;
  }

  json throughput(const schedule::Throughput& t) const {
    json loads = json::object();
    for (std::size_t d = 0; d < t.load_ns.size(); ++d) loads[devices_[d].id] = t.load_ns[d];
    return {{"load_ns", std::move(loads)},
            {"critical_path_ns", t.critical_path_ns},
            {"bottleneck", device(t.bottleneck)},
            {"limit_percent", t.limit_percent},
            {"window", t.window}};
  }

  const PartitionedNetwork& n_;
  const std::vector<Device>& devices_;
};

// JSON has no infinite numbers; whole ones are written without a fraction.
json number_json(double v) {
  constexpr double kLargestWhole = 1e15;
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  const bool whole = std::floor(v) == v && std::fabs(v) < kLargestWhole;
  return whole ? json(static_cast<std::int64_t>(v)) : json(v);
}

json layouts_json(const std::vector<LayoutTree>& layouts) {
  json out = json::array();
  for (const LayoutTree& layout : layouts) out.push_back(layout.text());
  return out;
}

json refusal_json(const Buckets::Refusal& r) {
  json out = {{"reason", r.reason}, {"remedy", r.remedy}};
  const auto add = [&out](const char* key, const std::string& text) {
    if (!text.empty()) out[key] = text;
  };
  add("node", r.node);
  add("operator", r.op);
  if (r.axis >= 0) out["axis"] = r.axis;
  add("input", r.input);
  add("content", r.content);
  add("needs", r.needs);
  add("repair", r.repair ? std::string(word(*r.repair)) : "");
  add("unrepaired", r.unrepaired);
  return out;
}

json bucket_model_json(const Buckets& b, const BucketModel& m, const std::vector<Device>& devices) {
  json out = {{"file", m.file}, {"nodes", m.nodes}, {"peak_bytes", or_null(m.peak_bytes)}};
  for (std::size_t i = 0; i < m.at.size(); ++i) out["at"][b.symbols[i].name] = m.at[i];
  PartitionedWriter(m, devices).add_to(out);
  return out;
}

void add_texts(const Buckets& b, json& out) {
  for (const Constraint& c : b.constraints) out["constraints"].push_back(c.text());
  for (const Buckets::Assumption& a : b.assumptions)
    out["assumptions"].push_back({{"node", a.node}, {"kind", word(a.kind)}, {"text", a.text}});
  if (b.refused) out["refused"] = refusal_json(*b.refused);
  for (const Buckets::Repair& r : b.repairs)
    out["repairs"].push_back(
        {{"node", r.node}, {"operator", r.op}, {"kind", word(r.kind)}, {"text", r.text}});
}

json buckets_json(const Buckets& b, const std::vector<Device>& devices) {
  json out = {{"verdict", word(b.verdict)},    {"symbols", json::object()},
              {"fixed", json::array()},        {"groups", b.groups},
              {"ranges", json::object()},      {"inputs", json::object()},
              {"extra_inputs", json::array()}, {"outputs", json::object()},
              {"constraints", json::array()},  {"assumptions", json::array()},
              {"waste", json::object()},       {"models", json::array()},
              {"fallback", b.fallback},        {"data", or_null(b.data)}};
  for (const Buckets::Symbol& s : b.symbols) {
    out["symbols"][s.name] = s.sizes;
    out["ranges"][s.name] = {s.low, s.high};
    if (s.fixed) out["fixed"].push_back(s.name);
  }
  if (!b.where.empty()) out["where"] = b.where;
  for (const Buckets::Input& i : b.inputs) {
    json& one = out["inputs"][i.name] = {{"dims", layouts_json(i.dims)}, {"pad_class", word(i.pad_class)}};
    if (i.pad_class == PadClass::None) continue;
    one["pad"] = number_json(i.pad);
    one["side"] = "end";
  }
  for (const Buckets::ExtraInput& i : b.extra_inputs)
    out["extra_inputs"].push_back(
        {{"name", i.name}, {"symbol", i.symbol}, {"dtype", "int64"}, {"shape", json::array()}});
  for (const Buckets::Output& o : b.outputs)
    out["outputs"][o.name] = {{"dims", o.dims}, {"cut", o.cut ? layouts_json(*o.cut) : json("prefix")}};
  add_texts(b, out);
  for (const Buckets::Waste& w : b.waste)
    out["waste"][w.symbol] = {
        {"observed", w.observed}, {"elements", w.elements}, {"padded_elements", w.padded_elements}};
  for (const BucketModel& m : b.models) out["models"].push_back(bucket_model_json(b, m, devices));
  return out;
}

}  // namespace

json to_json(const ExecutionProvider& ep) {
  json out = {{"name", ep.name}};
  if (!ep.options.empty()) out["options"] = ep.options;
  return out;
}

json to_json(const Manifest& m) {
  json out = {{"format", kManifestFormat},
              {"version", kManifestVersion},
              {"tool", tool_json(m.tool)},
              {"network", network_json(m.network)},
              {"files", json::array()},
              {"devices", json::array()},
              {"groups", json::array()},
              {"buckets", m.buckets ? buckets_json(*m.buckets, m.devices) : json::object()}};
  for (const File& f : m.files)
    out["files"].push_back(
        {{"path", f.path}, {"role", word(f.role)}, {"sha256", f.sha256}, {"bytes", f.bytes}});
  for (const Device& d : m.devices) out["devices"].push_back(device_json(d));
  const PartitionedWriter partitioned(m, m.devices);
  partitioned.add_to(out);
  for (const Group& g : m.groups)
    out["groups"].push_back({{"subgraph", partitioned.id(g.subgraph)},
                             {"value", g.value},
                             {"front", g.front},
                             {"back", g.back},
                             {"reference_count", g.reference_count},
                             {"size", size_json(g.size)}});
  return out;
}

std::string document_text(const json& document) {
  return document.dump(1, ' ', false, json::error_handler_t::replace) + '\n';
}

std::string manifest_text(const Manifest& manifest) { return document_text(to_json(manifest)); }

}  // namespace graphopt::deploy
