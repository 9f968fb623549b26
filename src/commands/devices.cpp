// list_devices() and check_device(): profiles are found and read, a model is loaded and inferred, and each
// node of its main graph gets a verdict. Nothing is changed.
#include "graphopt/devices.h"

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <optional>

#include "devices/find.h"
#include "devices/open_dims.h"
#include "devices/support.h"
#include "driver/json.h"
#include "driver/reading.h"
#include "driver/shapes.h"
#include "infer/infer.h"
#include "ir/figures.h"
#include "ir/node_names.h"

namespace graphopt {
namespace {

std::vector<DeviceListing::Source> sources_of(const Profile& p) {
  std::vector<DeviceListing::Source> out;
  for (const ProfileSource& s : p.sources) out.push_back({s.document, s.version});
  return out;
}

bool is_data(const Model& m, NodeId n) {
  return m.kind(n) == OpKind::Constant && m.output(n, 0) && m.constant_of(m.output(n, 0));
}

struct ProfileChecker {
  Model model;
  std::optional<Inference> inference;
  DeviceCheck out;

  void check(const Profile& profile);
};

// Without a name, that of the first result, by which --explain finds the node; else its number in the file.
std::string name_of(const Model& m, NodeId n) {
  if (!has_name(m, n))
    for (const ValueId v : m.outputs(n))
      if (v && !m.text(m.value(v).name).empty()) return std::string(m.text(m.value(v).name));
  return place_of(m, n).node;
}

// How near a refused node is: rules that were tried first, then what no rule is about.
std::uint64_t distance(const Verdict& v) {
  constexpr std::uint64_t kFar = std::uint64_t{1} << 32;
  if (v.supported()) return 2 * kFar;
  return v.failed > 0 ? v.failed : kFar;
}

void ProfileChecker::check(const Profile& profile) {
  Support support(profile, model, *inference);
  const std::vector<Verdict> verdicts = support.check_all();
  std::vector<std::pair<NodeId, Verdict>> nodes;
  for (NodeId n = model.first_node(model.main()); n; n = model.next_node(n))
    if (!is_data(model, n)) nodes.emplace_back(n, verdicts[n.index()]);
  std::ranges::stable_sort(nodes, {}, [](const auto& node) { return distance(node.second); });
  std::map<std::pair<std::string, DeviceRefusal>, std::size_t> groups;
  for (const auto& [n, v] : nodes) {
    DeviceCheck::Node node{name_of(model, n), place_of(model, n).op, v.supported(), v.refusal, 0, {}};
    ++out.nodes;
    if (v.supported()) {
      ++out.supported;
    } else {
      node.failed = v.failed;
      node.text = support.explain(n, v);
      const auto [at, added] = groups.try_emplace({node.op, v.refusal}, out.refused.size());
      if (added) out.refused.push_back({node.op, node.reason, 0, node.text});
      ++out.refused[at->second].nodes;
    }
    out.listed.push_back(std::move(node));
  }
  std::ranges::stable_sort(out.refused, std::greater<>(), &DeviceCheck::Refused::nodes);
  const OpenDims open = open_dims(model, *inference);
  std::vector<bool> taken(verdicts.size());
  for (std::size_t i = 0; i < verdicts.size(); ++i) taken[i] = verdicts[i].supported();
  out.supported_fixed = out.supported + nodes_for_fixed_shapes(profile, model, *inference, open, taken);
  out.open = open.remedies;
  for (const std::string& doubt : doubtful_rules(profile))
    out.warnings.push_back(profile.file + ": " + doubt);
}

Result<DeviceCheck> run(const DeviceCheckOptions& options) {
  const Result<Profile> profile = load_device(options.profile, device_folders());
  if (!profile) return profile.errors();
  Result<ReadModel> read = read_for_view(options.input, options.external_root, options.dim_names);
  if (!read) return read.errors();
  auto checker = std::make_unique<ProfileChecker>();
  checker->model = std::move(read->model);
  InferStage::Options sizes;
  sizes.shapes = options.shapes;
  sizes.dims = options.dims;
  Result<InferOptions> bound = bind(checker->model, bindings_of(sizes));
  if (!bound) return bound.errors();
  checker->inference.emplace(checker->model, *std::move(bound));
  checker->inference->run();
  DeviceCheck& out = checker->out;
  out.device = profile->id;
  out.kind = profile->kind;
  out.profile = profile->file;
  out.version = profile->profile_version;
  out.sources = sources_of(*profile);
  out.notes = profile->notes;
  out.model = checker->model.file;
  for (const Warning& w : read->warnings) out.warnings.push_back(warning_text(w));
  for (std::string& warning : empty_sizes(sizes)) out.warnings.push_back(std::move(warning));
  checker->check(*profile);
  DeviceCheck done = std::move(checker->out);
  if (options.process_ends) (void)checker.release();
  return done;
}

}  // namespace

std::vector<DeviceListing> list_devices() {
  std::vector<DeviceListing> out;
  const std::vector<std::string> folders = device_folders();
  for (const FoundProfile& found : find_profiles(folders)) {
    DeviceListing& listing = out.emplace_back();
    listing.name = found.name;
    listing.file = found.path;
    const Result<Profile> profile = load_device(found.name, folders);
    if (!profile) {
      listing.problem = profile.error().what;
      continue;
    }
    listing.id = profile->id;
    listing.kind = profile->kind;
    listing.host = profile->host;
    listing.rules = profile->rules.size();
    listing.version = profile->profile_version;
    listing.sources = sources_of(*profile);
  }
  return out;
}

Result<DeviceCheck> check_device(const DeviceCheckOptions& options) {
  try {
    return run(options);
  } catch (const std::bad_alloc&) {
    return out_of_memory(options.input);
  }
}

std::string to_json(const DeviceCheck& check) {
  Json out = {{"format_number", kJsonFormat}, {"device", check.device},
              {"kind", word(check.kind)},     {"profile", check.profile},
              {"version", check.version},     {"sources", Json::array()},
              {"model", check.model},         {"nodes", check.nodes},
              {"supported", check.supported}, {"supported_fixed", check.supported_fixed},
              {"open", check.open},           {"notes", check.notes},
              {"refused", Json::array()},     {"listed", Json::array()},
              {"warnings", check.warnings}};
  for (const DeviceListing::Source& s : check.sources)
    out["sources"].push_back({{"document", s.document}, {"version", s.version}});
  for (const DeviceCheck::Refused& r : check.refused)
    out["refused"].push_back(
        {{"op", r.op}, {"reason", word(r.reason)}, {"nodes", r.nodes}, {"example", r.example}});
  for (const DeviceCheck::Node& n : check.listed) {
    Json& node = out["listed"].emplace_back(Json{{"name", n.name}, {"op", n.op}, {"supported", n.supported}});
    if (n.supported) continue;
    node["reason"] = word(n.reason);
    node["failed"] = n.failed;
    node["text"] = n.text;
  }
  return json_text(out);
}

}  // namespace graphopt
