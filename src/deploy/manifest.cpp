#include "deploy/manifest.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "devices/atomic.h"
#include "ir/type_text.h"
#include "deploy/network_id.h"
#include "deploy/value_types.h"
#include "rewrite/cost.h"

namespace graphopt {
namespace {

using nlohmann::json;
using partition::Index;
using partition::kNone;

constexpr const char* kFormat = "graphopt.manifest";
constexpr const char* kVersion = "1.1";

const char* kind_text(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::Cpu: return "cpu";
    case DeviceKind::Gpu: return "gpu";
    case DeviceKind::Npu: return "npu";
    case DeviceKind::Dsp: return "dsp";
    case DeviceKind::Fpga: return "fpga";
    case DeviceKind::Other: break;
  }
  return "other";
}

// The reasons of the schema; `detail` says more.
const char* reason_text(Refusal refusal) {
  switch (refusal) {
    case Refusal::NoRule: return "operator";
    case Refusal::Opset: return "opset";
    case Refusal::Dtype: return "dtype";
    case Refusal::Rank: return "rank";
    case Refusal::DynamicShape: return "dynamic_shape";
    case Refusal::Attribute: return "attribute";
    case Refusal::Constant: return "not_constant";
    case Refusal::Denied: return "denied";
    case Refusal::ControlFlow: return "control_flow";
    default: return "other";
  }
}

class Maker {
 public:
  explicit Maker(const ManifestSource& source)
      : s_(source),
        m_(source.model),
        p_(source.partition),
        stated_(source.model, source.types),
        whole_(source.model, source.whole_types),
        number_of_(source.model.value_count(), kNone),
        state_of_(source.model.value_count()),
        reads_(source.model.value_count()),
        above_(source.placement.nodes.size()),
        border_(source.model) {
    readers_.resize(p_.size());
    for (Index i = 0; i < s_.placement.values.size(); ++i) number_of_[s_.placement.values[i].index()] = i;
    for (const StatePair& pair : state_pairs(m_, s_.inference))
      if (const ValueId v = m_.graph_output(m_.main(), pair.output))
        state_of_[v.index()] = m_.graph_inputs(m_.main())[pair.input];
  }

  json run() {
    NetworkIds ids(m_, s_.hashes);
    json out = {{"format", kFormat}, {"version", kVersion}, {"tool", tool()}, {"network", network(ids)}};
    out["devices"] = devices();
    out["buckets"] = json::object();
    add_partition(out, ids);
    out["groups"] = groups();
    return out;
  }

  json bucket() {
    NetworkIds ids(m_, s_.hashes);
    json out = {{"nodes", s_.placement.nodes.size()}};
    add_partition(out, ids);
    return out;
  }

  std::optional<std::uint64_t> whole_peak() {
    ModelPart whole;
    whole.nodes = in_order();
    for (const ValueId v : m_.graph_inputs(m_.main())) whole.inputs.push_back(v);
    for (std::size_t i = 0; i < m_.graph_output_count(m_.main()); ++i)
      if (const ValueId v = m_.graph_output(m_.main(), i)) whole.outputs.push_back(v);
    note_reads(whole);
    return peak_of(whole);
  }

 private:
  void add_partition(json& out, NetworkIds& ids) {
    out["partition"] = partition();
    json& subgraphs = out["subgraphs"] = json::array();
    for (std::size_t s = 0; s < p_.size(); ++s) subgraphs.push_back(subgraph(s, ids));
    for (std::size_t s = 0; s < p_.size(); ++s)  // readers are known when all subgraphs are
      subgraphs[s]["reference_count"] = readers_[s].size();
    out["borders"] = std::move(borders_);
    out["statistics"] = statistics();
  }

  std::string name_of(ValueId v) const { return std::string(m_.text(m_.value(v).name)); }
  std::string name_of(NodeId n) const { return std::string(m_.text(m_.node(n).name)); }
  const std::string& device(std::size_t i) const { return s_.devices[i].id; }
  json port(ValueId v) const { return {{"name", name_of(v)}, {"type", type_json(stated_.of(v))}}; }
  json whole_port(ValueId v) const { return {{"name", name_of(v)}, {"type", type_json(whole_.of(v))}}; }
  std::span<const Index> readers_of(ValueId v) const {
    const Index i = number_of_[v.index()];
    return i == kNone ? std::span<const Index>{} : s_.placement.problem.readers[i];
  }
  Index subgraph_of(NodeId n) const { return p_.subgraph_of[s_.placement.index[n.index()]]; }

  json tool() const {
    json options = json::object();
    for (const auto& [name, value] : s_.options)
      std::visit([&options, &name = name](const auto& v) { options[name] = v; }, value);
    return {{"name", "graphopt"}, {"version", s_.version}, {"options", std::move(options)}};
  }

  json network(NetworkIds& ids) {
    json out = {{"id", ids.network(whole_)},
                {"name", std::string(m_.text(m_.graph(m_.main()).name))},
                {"ir_version", m_.ir_version}};
    if (!s_.source_id.empty()) out["source_id"] = s_.source_id;
    json& opset = out["opset"] = json::array();
    std::set<std::pair<std::string_view, std::int64_t>> imports;
    for (const OpsetImport& o : m_.opset_tables[0]) imports.emplace(m_.text(o.domain), o.version);
    for (const auto& [domain, version] : imports)
      opset.push_back({{"domain", std::string(domain)}, {"version", version}});
    std::set<std::string> symbols;
    json& bounds = out["symbols"] = json::object();
    json& inputs = out["inputs"] = json::array();
    for (const ValueId v : m_.graph_inputs(m_.main())) {
      json input = whole_port(v);
      if (m_.value(v).is_initializer) input["optional"] = true;
      inputs.push_back(std::move(input));
      for (const StatedDim& d : whole_.of(v).dims) {
        const auto* name = std::get_if<std::string>(&d);
        if (const DimId symbol = name ? m_.dims.find_symbol(*name) : DimId{})
          bounds[*name] = range_of(symbol);
      }
    }
    json& outputs = out["outputs"] = json::array();
    for (std::size_t i = 0; i < m_.graph_output_count(m_.main()); ++i)
      if (const ValueId v = m_.graph_output(m_.main(), i)) outputs.push_back(whole_port(v));
    return out;
  }

  json range_of(DimId d) const {
    const Range range = m_.dims.range(d);
    json out = {{"min", std::max<std::int64_t>(range.low, 0)}, {"max", nullptr}};
    if (range.high < kMaxInputExtent) out["max"] = range.high;
    return out;
  }

  json devices() const {
    json out = json::array();
    for (std::size_t i = 0; i < s_.devices.size(); ++i) {
      const Profile& p = s_.devices[i];
      json one = {{"id", p.id}, {"kind", kind_text(p.kind)}, {"priority", i}};
      if (p.host) one["host"] = true;
      if (!p.sha256.empty())
        one["profile"] = {{"name", p.id}, {"version", p.profile_version}, {"sha256", p.sha256}};
      if (!p.ep.empty()) {
        one["ep"] = {{"name", p.ep}};
        for (const auto& [key, value] : p.ep_options) one["ep"]["options"][key] = value;
      }
      out.push_back(std::move(one));
    }
    return out;
  }

  json partition() const {
    json out = {{"algorithm", s_.algorithm},
                {"connected", s_.connected},
                {"lower_bound", p_.bound.all},
                {"proven", p_.proven}};
    json& order = out["order"] = json::array();
    json& stages = out["stages"] = json::array();
    for (std::size_t s = 0; s < p_.size(); ++s) {
      order.push_back(subgraph_name(s));
      while (stages.size() <= p_.stages[s]) stages.push_back(json::array());
      stages[p_.stages[s]].push_back(subgraph_name(s));
    }
    json& absorbed = out["absorbed"] = json::array();
    for (const partition::Move& move : p_.moves) {
      if (move.reason == partition::Reason::Atomic) continue;  // stands among the reasons of refused nodes
      json one = {{"nodes", move.nodes.size()},
                  {"from", device(move.from)},
                  {"to", device(move.to)},
                  {"reason", partition::reason_name(move.reason)}};
      if (move.reason == partition::Reason::Cost) one["saved_ns"] = move.saved_ns;
      absorbed.push_back(std::move(one));
    }
    return out;
  }

  json subgraph(std::size_t s, NetworkIds& ids) {
    const ModelPart& part = s_.parts[s];
    note_reads(part);
    json out = {{"id", subgraph_name(s)},
                {"device", device(p_.devices[s])},
                {"file", nullptr},
                {"content", ids.content(part, stated_)},
                {"weight_bytes", weight_bytes(part)},
                {"components", components(part)},
                {"peak_bytes", {{"bytes", nullptr}}}};
    if (const auto peak = peak_of(part)) out["peak_bytes"]["bytes"] = *peak;
    for (const NodeId n : part.nodes) out["nodes"].push_back(name_of(n));
    std::set<Index> depends;
    json& inputs = out["inputs"] = json::array();
    for (const ValueId v : part.inputs) {
      json input = port(v);
      input["from"] = nullptr;
      if (const NodeId producer = m_.value(v).def) {
        const Index from = subgraph_of(producer);
        depends.insert(from);
        input["from"] = subgraph_name(from);
      }
      if (const Read& read = reads_[v.index()]; read.epoch == epoch_ && !read.is_operand)
        input["capture"] = true;
      inputs.push_back(std::move(input));
    }
    out["depends"] = json::array();
    for (const Index d : depends) out["depends"].push_back(subgraph_name(d));
    json& outputs = out["outputs"] = json::array();
    for (const ValueId v : part.outputs) outputs.push_back(output_port(v, s));
    return out;
  }

  json output_port(ValueId v, std::size_t s) {
    json out = port(v);
    std::set<Index> to;
    for (const Index reader : readers_of(v))
      if (p_.subgraph_of[reader] != s) to.insert(p_.subgraph_of[reader]);
    out["to"] = json::array();
    for (const Index t : to) {
      out["to"].push_back(subgraph_name(t));
      readers_[s].insert(t);
      borders_.push_back({{"value", name_of(v)},
                          {"from", subgraph_name(s)},
                          {"to", subgraph_name(t)},
                          {"size", size_json(m_, s_.inference, v)}});
      border_.add(s_.inference, v);
    }
    out["network_output"] = s_.placement.problem.values[number_of_[v.index()]].network_output;
    if (const ValueId past = state_of_[v.index()]) out["state_of"] = name_of(past);
    return out;
  }

  std::uint64_t weight_bytes(const ModelPart& part) const {
    std::uint64_t sum = 0;
    for (const ValueId v : part.initializers) {
      const TensorId t = m_.value(v).tensor;
      if (!t) continue;
      const Tensor& tensor = m_.tensor(t);
      sum += raw_size(tensor.dtype, static_cast<std::uint64_t>(tensor.elements)).value_or(0);
    }
    return sum;
  }

  // Calls `see` for each value that the node or a body of it reads: see(value, is_operand).
  template <class See> void each_read(NodeId n, See see) const {
    for (std::size_t i = 0; i < m_.input_count(n); ++i)
      if (const ValueId v = m_.input(n, i)) see(v, true);
    const auto captures = std::ranges::equal_range(s_.placement.captures, s_.placement.index[n.index()], {},
                                                   &std::pair<Index, ValueId>::first);
    for (const auto& [holder, v] : captures) see(v, false);
  }

  // Notes the last reader of each value that the part reads, and which values are operands.
  void note_reads(const ModelPart& part) {
    ++epoch_;
    for (Index i = 0; i < part.nodes.size(); ++i)
      each_read(part.nodes[i], [&](ValueId v, bool is_operand) {
        Read& read = reads_[v.index()];
        if (read.epoch != epoch_) read = {epoch_, i, false};
        read.last = i;
        read.is_operand |= is_operand;
      });
  }

  // Weakly connected pieces: nodes of the part, joined by values that one makes and another reads.
  std::size_t components(const ModelPart& part) {
    const auto find = [this](Index i) {
      while (above_[i] != i) i = above_[i] = above_[above_[i]];
      return i;
    };
    for (const NodeId n : part.nodes) above_[s_.placement.index[n.index()]] = s_.placement.index[n.index()];
    std::size_t count = part.nodes.size();
    for (const NodeId n : part.nodes)
      each_read(n, [&](ValueId v, bool) {
        const NodeId producer = m_.value(v).def;
        if (!producer || m_.node(producer).graph != m_.main() || subgraph_of(producer) != subgraph_of(n))
          return;
        const Index a = find(s_.placement.index[n.index()]), b = find(s_.placement.index[producer.index()]);
        if (a == b) return;
        above_[a] = b;
        --count;
      });
    return count;
  }

  // The most bytes of activations that are needed at once when the nodes run in their order: inputs of the
  // part until their last reader, its outputs to the end. None where a size is not a number.
  std::optional<std::uint64_t> peak_of(const ModelPart& part) const {
    std::uint64_t now = 0, peak = 0;
    bool known = true;
    std::vector<std::uint64_t> freed(part.nodes.size());
    const std::set<ValueId> kept(part.outputs.begin(), part.outputs.end());
    const auto begins = [&](ValueId v, Index at) {
      const auto bytes = value_bytes(m_, s_.inference, v);
      known &= bytes.has_value();
      if (!bytes) return;
      now += *bytes;
      const Read& read = reads_[v.index()];
      if (!kept.contains(v)) freed[read.epoch == epoch_ ? std::max(read.last, at) : at] += *bytes;
    };
    for (const ValueId v : part.inputs)
      if (!m_.value(v).is_initializer && !part.nodes.empty()) begins(v, 0);
    for (Index i = 0; i < part.nodes.size(); ++i) {
      for (const ValueId v : m_.outputs(part.nodes[i]))
        if (v) begins(v, i);
      peak = std::max(peak, now);
      now -= freed[i];
    }
    return known ? std::optional(peak) : std::nullopt;
  }

  // Values of a subgraph that several of its nodes read: the front node's result is needed until the last of
  // them has run.
  json groups() const {
    json out = json::array();
    for (const NodeId front : in_order())
      for (const ValueId v : m_.outputs(front)) {
        if (!v) continue;
        std::vector<Index> back;
        for (const Index reader : readers_of(v))
          if (p_.subgraph_of[reader] == subgraph_of(front)) back.push_back(reader);
        if (back.size() < 2) continue;
        std::ranges::sort(back, {}, [this](Index i) { return s_.placement.problem.rank[i]; });
        json one = {{"subgraph", subgraph_name(subgraph_of(front))},
                    {"value", name_of(v)},
                    {"front", name_of(front)},
                    {"reference_count", back.size()},
                    {"size", size_json(m_, s_.inference, v)}};
        for (const Index i : back) one["back"].push_back(name_of(s_.placement.nodes[i]));
        out.push_back(std::move(one));
      }
    return out;
  }

  std::vector<NodeId> in_order() const {
    std::vector<NodeId> out;
    for (const ModelPart& part : s_.parts) out.insert(out.end(), part.nodes.begin(), part.nodes.end());
    return out;
  }

  json statistics() const {
    json device_nodes = json::object();
    for (const Profile& p : s_.devices) device_nodes[p.id] = 0;
    std::size_t largest = 0;
    for (std::size_t s = 0; s < p_.size(); ++s) {
      json& count = device_nodes[device(p_.devices[s])];
      count = count.get<std::uint64_t>() + s_.parts[s].nodes.size();
      if (p_.devices[s] + 1 < s_.devices.size()) largest = std::max(largest, s_.parts[s].nodes.size());
    }
    return {{"nodes", s_.placement.nodes.size()},
            {"subgraphs", p_.size()},
            {"accelerator_subgraphs", p_.accelerator_count},
            {"device_nodes", std::move(device_nodes)},
            {"border_values", p_.border_values},
            {"border", border_.json()},
            {"largest_accelerator_subgraph_nodes", largest},
            {"unsupported", unsupported()}};
  }

  json unsupported() const {
    std::vector<json> out;
    for (const RefusedNodes& r : s_.placement.refused)
      out.push_back({{"device", device(r.device)},
                     {"operator", operator_name(m_, r.op)},
                     {"reason", reason_text(r.refusal)},
                     {"detail", r.detail},
                     {"count", r.count}});
    std::map<std::tuple<Index, partition::Reason, std::string>, std::uint64_t> moved;
    for (const partition::Move& move : p_.moves)
      for (const Index i : move.nodes)
        ++moved[{move.from, move.reason, operator_name(m_, m_.node(s_.placement.nodes[i]).op)}];
    for (const auto& [key, count] : moved) {
      const auto& [from, reason, op] = key;
      const bool has_name = reason == partition::Reason::Atomic || reason == partition::Reason::Memory ||
                            reason == partition::Reason::Cost;
      json one = {{"device", device(from)},
                  {"operator", op},
                  {"reason", has_name ? partition::reason_name(reason) : "other"},
                  {"count", count}};
      if (!has_name) one["detail"] = partition::reason_name(reason);
      out.push_back(std::move(one));
    }
    std::ranges::stable_sort(out, std::ranges::greater{},
                             [](const json& one) { return one["count"].get<std::uint64_t>(); });
    return out;
  }

  struct Read {
    std::uint32_t epoch = 0;
    Index last = 0;  // position in the part
    bool is_operand = false;
  };

  const ManifestSource& s_;
  Model& m_;
  const partition::Partition& p_;
  StatedTypes stated_, whole_;
  std::vector<Index> number_of_;   // by value: its number in the problem
  std::vector<ValueId> state_of_;  // by value: the input that it feeds in the next run
  std::vector<Read> reads_;        // by value: of the part with this epoch
  std::vector<Index> above_;       // by node of the problem: union-find
  std::uint32_t epoch_ = 0;
  std::vector<std::set<Index>> readers_;  // by subgraph: the subgraphs that read from it
  json borders_ = json::array();
  SizeSum border_;
};

// The list of files; parts of equal bytes share one.
class FileList {
 public:
  void add(const SetFile& file, const char* role) {
    if (seen_.insert(file.name).second)
      files_.push_back({{"path", file.name}, {"role", role}, {"sha256", file.sha256}, {"bytes", file.bytes}});
  }
  // Adds the files of one model, and names them in the subgraphs of its entry.
  void add(const ManifestFiles& of, json& entry) {
    add(of.model, "model");
    for (std::size_t s = 0; s < of.parts.size(); ++s) {
      entry["subgraphs"][s]["file"] = of.parts[s].name;
      add(of.parts[s], "subgraph");
    }
    if (of.is_one_part)
      for (json& subgraph : entry["subgraphs"]) subgraph["file"] = of.model.name;
  }
  json take() { return std::move(files_); }

 private:
  json files_ = json::array();
  std::set<std::string> seen_;
};

}  // namespace

json manifest_of(const ManifestSource& source) { return Maker(source).run(); }
json bucket_model_of(const ManifestSource& source) { return Maker(source).bucket(); }
std::optional<std::uint64_t> peak_bytes(const ManifestSource& source) { return Maker(source).whole_peak(); }

void add_files(json& manifest, const ManifestFiles& out, std::span<const ManifestFiles> buckets,
               const std::optional<SetFile>& data) {
  FileList files;
  files.add(out, manifest);  // OUT comes first: that tells it from models of buckets
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    json& entry = manifest["buckets"]["models"][i];
    entry["file"] = buckets[i].model.name;
    files.add(buckets[i], entry);
  }
  if (data) files.add(*data, "external_data");
  manifest["files"] = files.take();
}

std::string manifest_text(const json& manifest) {
  return manifest.dump(1, ' ', false, json::error_handler_t::replace) + '\n';
}

std::optional<std::vector<SetFile>> read_manifest_files(std::string_view text) {
  const json manifest = json::parse(text, nullptr, false);
  const auto format = manifest.find("format"), files = manifest.find("files");
  if (format == manifest.end() || *format != kFormat || files == manifest.end() || !files->is_array())
    return {};
  std::vector<SetFile> out;
  bool seen_out = false;
  for (const json& file : *files) {
    const auto path = file.find("path"), role = file.find("role"), sha = file.find("sha256");
    if (path == file.end() || !path->is_string() || role == file.end() || sha == file.end() ||
        !sha->is_string())
      return {};
    const bool is_model = *role == "model", is_out = is_model && !seen_out;
    seen_out = seen_out || is_model;
    if (is_out || (!is_model && *role != "subgraph" && *role != "external_data")) continue;
    out.push_back({path->get<std::string>(), 0, sha->get<std::string>()});
  }
  return out;
}

std::string subgraph_name(std::size_t i) { return "s" + std::to_string(i); }

}  // namespace graphopt
