// See read_manifest.h. A function for each key; what several keys say of one fact is checked when all are
// read.
#include "deploy/read_manifest.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "deploy/buckets_reader.h"
#include "deploy/manifest_json.h"
#include "deploy/manifest_walk.h"
#include "deploy/partitioned_reader.h"
#include "support/json_scan.h"

namespace graphopt::deploy {
namespace {

using Json = JsonWalk::Json;
using Path = JsonWalk::Path;
using Read = JsonWalk::Read;

// Of objects and lists inside each other: types nest as deep as the reader of models allows, a hundred
// levels.
constexpr std::size_t kMaxDepth = 128;
constexpr std::string_view kMajorVersion = "1.";
constexpr std::int64_t kFirstIrVersion = 3;

NetworkNames network_names(const Json& document) {
  const Json& network = member_of(document, "network");
  const Ids inputs(member_of(network, "inputs"), "name", "inputs");
  const Ids outputs(member_of(network, "outputs"), "name", "outputs");
  NetworkNames out;
  out.inputs.insert(inputs.names().begin(), inputs.names().end());
  out.outputs.insert(outputs.names().begin(), outputs.names().end());
  return out;
}

class ManifestReader {
 public:
  ManifestReader(const std::string& file, const Json& document)
      : walk_(file),
        document_(document),
        network_(network_names(document)),
        devices_(member_of(document, "devices"), "id", "devices"),
        names_{network_, devices_, Ids(member_of(document, "subgraphs"), "id", "subgraphs")},
        partitioned_(walk_, names_, out_) {
    if (const Json& section = member_of(document, "buckets"); section.is_object() && !section.empty())
      buckets_.emplace(walk_, section, network_, devices_, out_.buckets.emplace());
  }

  Result<Manifest> run() {
    read();
    if (walk_.errors().empty()) check();
    if (!walk_.errors().empty()) return walk_.errors();
    return std::move(out_);
  }

 private:
  void read() {
    const auto extensions = [this](const Json& j, const Path& path) {
      if (!j.is_object()) walk_.refuse(j, path, "an object");
    };
    walk_.object(document_, "",
                 {{"format", format(), true},
                  {"version", version(), true},
                  {"tool", tool(), true},
                  {"network", network(), true},
                  {"files", files(), true},
                  {"devices", devices(), true},
                  {"partition", partitioned_.partition(), true},
                  {"subgraphs", partitioned_.subgraphs(), true},
                  {"borders", partitioned_.borders(), true},
                  {"schedule", partitioned_.schedule()},
                  {"groups", groups()},
                  {"buckets", buckets()},
                  {"statistics", partitioned_.statistics(), true},
                  {"extensions", extensions}});
  }

  Read format() {
    return [this](const Json& j, const Path& path) {
      if (j != kManifestFormat) walk_.refuse(j, path, "\"" + std::string(kManifestFormat) + '"');
    };
  }

  Read version() {
    return [this](const Json& j, const Path& path) {
      std::string_view text = j.is_string() ? std::string_view(j.get_ref<const std::string&>()) : "";
      const bool is_known = text.starts_with(kMajorVersion);
      if (is_known) text.remove_prefix(kMajorVersion.size());
      if (!is_known || text.empty() ||
          !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }))
        walk_.refuse(j, path, "\"1.0\" or another version 1.x");
    };
  }

  Read tool() {
    return [this](const Json& j, const Path& path) {
      const auto name = [this](const Json& v, const Path& at) {
        if (v != "graphopt") walk_.refuse(v, at, "\"graphopt\"");
      };
      const auto options = [this](const Json& all, const Path& at) {
        walk_.members(all, at, [this](const std::string& key, const Json& v, const Path& to) {
          if (v.is_string()) out_.tool.options[key] = v.get<std::string>();
          else if (v.is_boolean()) out_.tool.options[key] = v.get<bool>();
          else if (v.is_number_integer() && walk_.integer(v, to))
            out_.tool.options[key] = v.get<std::int64_t>();
          else if (!v.is_number_integer()) walk_.refuse(v, to, "a text, a whole number, true or false");
        });
      };
      walk_.object(j, path,
                   {{"name", name, true},
                    {"version", walk_.to_text(out_.tool.version, false), true},
                    {"options", options, true}});
    };
  }

  Read network() {
    return [this](const Json& j, const Path& path) {
      Network& n = out_.network;
      const auto opset = [this](const Json& v, const Path& at, Opset& o, std::size_t) {
        walk_.object(
            v, at,
            {{"domain", walk_.to_text(o.domain), true}, {"version", walk_.to_integer(o.version, 1), true}});
      };
      walk_.object(j, path,
                   {{"id", walk_.to_hash(n.id), true},
                    {"source_id", walk_.to_hash(n.source_id)},
                    {"name", walk_.to_text(n.name)},
                    {"ir_version", walk_.to_integer(n.ir_version, kFirstIrVersion)},
                    {"opset", walk_.to_list(n.opset, "objects", opset), true},
                    {"inputs", values(n.inputs), true},
                    {"outputs", values(n.outputs), true},
                    {"symbols", symbols()}});
    };
  }

  Read values(std::vector<NetworkValue>& to) {
    return [this, &to](const Json& j, const Path& path) {
      std::set<std::string> seen;
      walk_.to_list(to, "objects", [&](const Json& v, const Path& at, NetworkValue& value, std::size_t) {
        walk_.object(v, at,
                     {{"name", walk_.to_text(value.name, false), true},
                      {"type", walk_.to_type(value.type), true},
                      {"optional", walk_.to_boolean(value.optional)}});
        if (!value.name.empty() && !seen.insert(value.name).second)
          walk_.twice(json_path(at, "name"), value.name, "each has a name of its own");
      })(j, path);
    };
  }

  Read symbols() {
    return [this](const Json& j, const Path& path) {
      walk_.members(j, path, [this](const std::string& name, const Json& v, const Path& at) {
        Bounds& b = out_.network.symbols[name];
        walk_.object(v, at,
                     {{"min", walk_.to_integer(b.min, 0), true},
                      {"max", walk_.to_integer_or_null(b.max, 0)},
                      {"multiple_of", walk_.to_integer_or_null(b.multiple_of, 1)}});
        if (b.max && *b.max < b.min)
          walk_.problem(at, "found a greatest value below the least one",
                        "give a \"max\" that is not below \"min\"");
      });
    };
  }

  Read files() {
    return [this](const Json& j, const Path& path) {
      walk_.to_list(out_.files, "objects", [this](const Json& v, const Path& at, File& f, std::size_t) {
        walk_.object(v, at,
                     {{"path", walk_.to_path(f.path), true},
                      {"role", walk_.to_word(f.role), true},
                      {"sha256", walk_.to_digest(f.sha256), true},
                      {"bytes", walk_.to_count(f.bytes), true}});
        if (!f.path.empty() && !roles_.emplace(f.path, f.role).second)
          walk_.twice(json_path(at, "path"), f.path, "name each file once");
      })(j, path);
    };
  }

  Read devices() {
    return walk_.to_list(
        out_.devices, "objects", [this](const Json& j, const Path& path, Device& d, std::size_t i) {
          const auto profile = [&](const Json& v, const Path& at) {
            ProfileId& p = d.profile.emplace();
            walk_.object(v, at,
                         {{"name", walk_.to_text(p.name), true},
                          {"version", walk_.to_text(p.version), true},
                          {"sha256", walk_.to_digest(p.sha256), true}});
          };
          walk_.object(j, path,
                       {{"id", walk_.to_id(d.id, devices_, i), true},
                        {"kind", walk_.to_word(d.kind), true},
                        {"priority", walk_.to_integer(d.priority, 0), true},
                        {"host", walk_.to_boolean(d.host)},
                        {"profile", profile},
                        {"ep", [&](const Json& v, const Path& at) { provider(v, at, d.ep.emplace()); }}});
        });
  }

  void provider(const Json& j, const Path& path, ExecutionProvider& ep) {
    const auto options = [&](const Json& all, const Path& at) {
      walk_.members(all, at, [&](const std::string& key, const Json& v, const Path& to) {
        walk_.to_text(ep.options[key])(v, to);
      });
    };
    walk_.object(j, path, {{"name", walk_.to_text(ep.name, false), true}, {"options", options}});
  }

  Read groups() {
    return walk_.to_list(out_.groups, "objects",
                         [this](const Json& j, const Path& path, Group& g, std::size_t) {
                           walk_.object(j, path,
                                        {{"subgraph", walk_.to_reference(g.subgraph, names_.subgraphs), true},
                                         {"value", walk_.to_text(g.value, false), true},
                                         {"front", walk_.to_text(g.front, false), true},
                                         {"back", walk_.to_texts(g.back, 2, "names"), true},
                                         {"reference_count", walk_.to_count(g.reference_count, 2), true},
                                         {"size", walk_.to_size(g.size)}});
                         });
  }

  Read buckets() {
    return [this](const Json& j, const Path& path) {
      if (buckets_) buckets_->read(path);
      else if (!j.is_object()) walk_.refuse(j, path, "an object");
    };
  }

  // What follows is about a document in which each key is right for itself.
  void check() {
    if (roles_of(FileRole::Model) == 0)
      walk_.problem("files", "none is a model", "name OUT first, with the role \"model\"");
    const auto hosts = std::ranges::count(out_.devices, true, &Device::host);
    if (hosts != 1)
      walk_.problem("devices", "found " + std::to_string(hosts) + " hosts", "one of the devices is the host");
    if (out_.network.outputs.empty())
      walk_.problem("network.outputs", "the list is empty", "a network has an output");
    partitioned_.check("", out_.devices);
    check_parts("subgraphs", out_.subgraphs);
    check_groups();
    if (!buckets_) return;
    buckets_->check("buckets", out_.devices, roles_);
    for (std::size_t i = 0; i < out_.buckets->models.size(); ++i)
      check_parts(json_path(json_path("buckets.models", i), "subgraphs"), out_.buckets->models[i].subgraphs);
  }

  std::int64_t roles_of(FileRole role) const { return std::ranges::count(out_.files, role, &File::role); }

  // Files of subgraphs are listed: as such, or as the model that is one subgraph.
  void check_parts(const Path& path, const std::vector<Subgraph>& subgraphs) {
    for (std::size_t s = 0; s < subgraphs.size(); ++s) {
      const std::string& file = subgraphs[s].file;
      const auto found = roles_.find(file);
      if (file.empty() || (found != roles_.end() &&
                           (found->second == FileRole::Subgraph || found->second == FileRole::Model)))
        continue;
      walk_.problem(json_path(json_path(path, s), "file"), "found \"" + file + '"',
                    "allowed: a path in \"files\" whose role is subgraph or model, or null");
    }
  }

  void check_groups() {
    for (std::size_t i = 0; i < out_.groups.size(); ++i) {
      const Group& g = out_.groups[i];
      if (g.reference_count != g.back.size())
        walk_.problem(json_path(json_path("groups", i), "reference_count"),
                      "found " + std::to_string(g.reference_count),
                      "allowed: " + std::to_string(g.back.size()) + ", the number of nodes in \"back\"");
    }
  }

  Manifest out_;
  ManifestWalk walk_;
  const Json& document_;
  const NetworkNames network_;
  const Ids devices_;
  const PartitionedNames names_;
  PartitionedReader partitioned_;
  std::optional<BucketsReader> buckets_;
  FileRoles roles_;
};

}  // namespace

Result<Manifest> read_manifest(std::string_view text, const std::string& file) {
  if (Errors errors = scan_json(text, file, kMaxDepth); !errors.empty()) return errors;
  const Json document = Json::parse(text, nullptr, false);
  return ManifestReader(file, document).run();
}

}  // namespace graphopt::deploy
