#include "runner/stages.h"

#include <algorithm>
#include <ranges>

#include "schedule/facts.h"

namespace graphopt::runner {
namespace {

Index host_of(const deploy::Manifest& manifest) {
  return static_cast<Index>(std::ranges::find_if(manifest.devices, &deploy::Device::host) -
                            manifest.devices.begin());
}

// The network as one subgraph.
deploy::PartitionedNetwork whole_of(const deploy::Manifest& manifest) {
  deploy::PartitionedNetwork out;
  out.partition.order = {0};
  deploy::Subgraph& one = out.subgraphs.emplace_back();
  one.id = "whole";
  one.device = host_of(manifest);
  for (const deploy::NetworkValue& v : manifest.network.inputs) {
    deploy::PortIn& port = one.inputs.emplace_back();
    port.name = v.name;
    port.type = v.type;
  }
  for (const deploy::NetworkValue& v : manifest.network.outputs) {
    deploy::PortOut& port = one.outputs.emplace_back();
    port.name = v.name;
    port.type = v.type;
    port.network_output = true;
  }
  return out;
}

// Sizes as far as the manifest says them as numbers.
deploy::ScheduleFigures figures_of(const deploy::Manifest& manifest,
                                   const deploy::PartitionedNetwork& network) {
  deploy::ScheduleFigures out;
  std::map<std::string, deploy::Size> sizes;
  if (network.schedule)
    for (const deploy::ScheduledValue& v : network.schedule->values) sizes[v.name] = v.size;
  out.size_of = [sizes = std::move(sizes)](const std::string& name) {
    const auto found = sizes.find(name);
    return found == sizes.end() ? deploy::Size{} : found->second;
  };
  out.budgets.resize(manifest.devices.size());
  out.run_ns.resize(network.subgraphs.size());
  return out;
}

// Fills in all but the sessions.
Stages described(const deploy::Manifest& manifest, const deploy::PartitionedNetwork& network) {
  Stages out;
  out.named = deploy::schedule_problem(network, manifest.devices.size(), figures_of(manifest, network));
  out.order = network.partition.order;
  std::map<std::string, Index> value;
  for (Index v = 0; v < out.named.values.size(); ++v) value[out.named.values[v].name] = v;
  out.input_of.resize(out.named.values.size());
  for (Index i = 0; i < manifest.network.inputs.size(); ++i)
    if (const auto v = value.find(manifest.network.inputs[i].name);
        v != value.end() && !out.named.problem.values[v->second].from)
      out.input_of[v->second] = i;
  for (const deploy::NetworkValue& o : manifest.network.outputs) {
    const auto v = value.find(o.name);
    const bool is_made = v != value.end() && out.named.problem.values[v->second].from;
    const auto input = std::ranges::find(manifest.network.inputs, o.name, &deploy::NetworkValue::name);
    Stages::Output& output = out.outputs.emplace_back();
    if (is_made) output.value = v->second;
    else if (input != manifest.network.inputs.end())
      output.input = static_cast<Index>(input - manifest.network.inputs.begin());
  }
  return out;
}

Status add_session(Stages& to, Index subgraph, std::shared_ptr<const RuntimeSession> session,
                   const std::string& file) {
  Stage stage;
  std::map<std::string_view, Index> value;
  const schedule::Subgraph& s = to.named.problem.subgraphs[subgraph];
  for (const std::vector<Index>* ports : {&s.inputs, &s.outputs})
    for (const Index v : *ports) value[to.named.values[v].name] = v;
  const auto differs = [&file](std::string what) {
    return Error{ErrorKind::Input, {file, {}, {}, {}, {}}, std::move(what), "write the set of files again"};
  };
  for (const Index v : s.inputs) {
    if (!session->has_input(to.named.values[v].name))
      return differs("the manifest names an input '" + to.named.values[v].name +
                     "' that the model does not have");
    stage.inputs.push_back(to.named.values[v].name);
    stage.fed.push_back(v);
  }
  for (const std::string& name : session->outputs()) {
    const auto v = value.find(name);
    if (v == value.end())
      return differs("the model has an output '" + name + "' that the manifest does not name");
    stage.made.push_back(v->second);
  }
  if (stage.made.size() != s.outputs.size())
    return differs("the manifest names outputs that the model does not have");
  stage.session = std::move(session);
  to.stages[subgraph] = std::move(stage);
  return Done{};
}

}  // namespace

Result<std::shared_ptr<const RuntimeSession>> Sessions::load(const std::string& file,
                                                             const std::string& content, Index device) {
  std::shared_ptr<const RuntimeSession>& out = sessions_[{content, threads_[device]}];
  if (out) return out;
  Result<std::unique_ptr<RuntimeSession>> loaded =
      RuntimeSession::load(runtime_, {.path = folder_ + "/" + file, .bytes = {}, .external_folder = {}},
                           {.optimize = true, .threads = threads_[device]});
  if (!loaded) {
    for (Error& e : loaded.errors()) e.place.file = file;
    return loaded.errors();
  }
  out = *std::move(loaded);
  return out;
}

Result<Stages> load_stages(Sessions& sessions, const deploy::Manifest& manifest,
                           const deploy::PartitionedNetwork& network, const std::string& file) {
  const auto has_file = [](const deploy::Subgraph& s) { return !s.file.empty(); };
  if (!std::ranges::all_of(network.subgraphs, has_file)) return load_whole(sessions, manifest, file);
  Stages out = described(manifest, network);
  out.stages.resize(network.subgraphs.size());
  for (Index s = 0; s < network.subgraphs.size(); ++s) {
    const deploy::Subgraph& from = network.subgraphs[s];
    const auto session = sessions.load(from.file, from.content, from.device);
    if (!session) return session.errors();
    if (Status added = add_session(out, s, *session, from.file); !added) return added.errors();
  }
  return out;
}

Result<Stages> load_whole(Sessions& sessions, const deploy::Manifest& manifest, const std::string& file) {
  const deploy::PartitionedNetwork whole = whole_of(manifest);
  Stages out = described(manifest, whole);
  out.stages.resize(1);
  const auto session = sessions.load(file, "whole " + file, host_of(manifest));
  if (!session) return session.errors();
  if (Status added = add_session(out, 0, *session, file); !added) return added.errors();
  return out;
}

}  // namespace graphopt::runner
