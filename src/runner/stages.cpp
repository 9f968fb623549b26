#include "runner/stages.h"

#include <algorithm>
#include <ranges>
#include <string_view>

#include "ir/model.h"
#include "onnx/reader.h"

namespace graphopt::runner {
namespace {

constexpr std::string_view kCpuProvider = "CPUExecutionProvider";

Index host_of(const deploy::Manifest& manifest) {
  return static_cast<Index>(std::ranges::find_if(manifest.devices, &deploy::Device::host) -
                            manifest.devices.begin());
}

// A model as one subgraph. Its values have the sizes that they have between the parts. An output that is an
// input is none of what it makes.
deploy::PartitionedNetwork whole_of(const deploy::Manifest& manifest, const RunnableModel& model) {
  deploy::PartitionedNetwork out;
  out.partition.order = {0};
  out.schedule = model.network->schedule;
  deploy::Subgraph& one = out.subgraphs.emplace_back();
  one.id = "whole";
  one.device = host_of(manifest);
  one.file = model.file;
  for (const deploy::NetworkValue& v : model.inputs) {
    deploy::PortIn& port = one.inputs.emplace_back();
    port.name = v.name;
    port.type = v.type;
  }
  for (const deploy::NetworkValue& v : manifest.network.outputs) {
    if (std::ranges::find(model.inputs, v.name, &deploy::NetworkValue::name) != model.inputs.end()) continue;
    deploy::PortOut& port = one.outputs.emplace_back();
    port.name = v.name;
    port.type = v.type;
    port.network_output = true;
  }
  return out;
}

// Sizes as the manifest says them.
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
Stages described(const deploy::Manifest& manifest, const deploy::PartitionedNetwork& network,
                 const RunnableModel& model) {
  Stages out;
  out.file = model.file;
  out.inputs = model.inputs;
  out.named = deploy::schedule_problem(network, manifest.devices.size(), figures_of(manifest, network));
  out.order = network.partition.order;
  out.stages.resize(network.subgraphs.size());
  for (const deploy::Subgraph& s : network.subgraphs) out.ids.push_back(s.id);
  std::map<std::string, Index> value, input;
  for (Index v = 0; v < out.named.values.size(); ++v) value[out.named.values[v].name] = v;
  for (Index i = 0; i < out.inputs.size(); ++i) input[out.inputs[i].name] = i;
  out.input_of.resize(out.named.values.size());
  out.is_constant.resize(out.inputs.size());
  for (const auto& [name, i] : input)
    if (const auto v = value.find(name); v != value.end() && !out.named.problem.values[v->second].from)
      out.input_of[v->second] = i;
  for (const deploy::NetworkValue& o : manifest.network.outputs) {
    const auto v = value.find(o.name);
    const auto i = input.find(o.name);
    Stages::Output& output = out.outputs.emplace_back();
    if (v != value.end() && out.named.problem.values[v->second].from) output.value = v->second;
    else if (i != input.end()) output.input = i->second;
  }
  return out;
}

Status add_session(Stages& to, Index subgraph, const deploy::Subgraph& from, const Sessions::Loaded& loaded) {
  Stage& stage = to.stages[subgraph];
  const schedule::Subgraph& s = to.named.problem.subgraphs[subgraph];
  const auto differs = [&from](const std::string& what) {
    return Error{ErrorKind::Input,
                 {from.file, {}, {}, {}, {}},
                 "the manifest and the model do not agree: " + what,
                 "write the set of files again"};
  };
  if (loaded.inputs.size() != s.inputs.size() || loaded.outputs.size() != s.outputs.size())
    return differs("subgraphs of equal content have as many inputs and outputs");
  for (std::size_t i = 0; i < s.inputs.size(); ++i) {
    if (!loaded.session->has_input(loaded.inputs[i])) {
      const std::optional<Index> input = to.input_of[s.inputs[i]];
      if (!input || !to.inputs[*input].optional)
        return differs("the model has no input '" + loaded.inputs[i] + "'");
      to.is_constant[*input] = true;
      continue;
    }
    stage.inputs.push_back(loaded.inputs[i]);
    stage.fed.push_back(s.inputs[i]);
  }
  std::size_t made = 0;
  for (const std::string& name : loaded.session->outputs()) {
    const auto at = std::ranges::find(loaded.outputs, name);
    const bool is_named = at != loaded.outputs.end();
    if (!is_named && std::ranges::find(loaded.inputs, name) == loaded.inputs.end())
      return differs("it does not name the output '" + name + "'");
    stage.made.push_back(is_named
                             ? std::optional(s.outputs[static_cast<std::size_t>(at - loaded.outputs.begin())])
                             : std::nullopt);
    made += is_named ? 1U : 0U;
  }
  if (made != s.outputs.size()) return differs("it names outputs that the model does not have");
  stage.session = loaded.session;
  return Done{};
}

// Outputs that no subgraph makes are inputs, whose default counts where they are not given, or constants.
Status add_constants(Stages& to, const deploy::Manifest& manifest, const Sessions& sessions) {
  const std::string& file = to.file;
  const auto wanted = [&](std::size_t i) {
    const Stages::Output& o = to.outputs[i];
    return !o.value && (!o.input || to.inputs[*o.input].optional);
  };
  const auto count = to.outputs.size();
  if (std::ranges::none_of(std::views::iota(std::size_t{0}, count), wanted)) return Done{};
  std::vector<Warning> warnings;
  LoadOptions options;
  options.path = sessions.folder() + "/" + file;
  const Result<Model> model = load_model(options, warnings);
  if (!model) return model.errors();
  for (std::size_t i = 0; i < std::min(count, model->graph_output_count(model->main())); ++i) {
    if (!wanted(i)) continue;
    const ValueId v = model->graph_output(model->main(), i);
    const TensorId t = v ? model->value(v).tensor : TensorId();
    const auto value = std::make_shared<HostValue>();
    if (t) {
      const Tensor& tensor = model->tensor(t);
      value->kind = HostValue::Kind::Tensor;
      value->dtype = tensor.dtype;
      value->dims.assign(tensor.dims.begin(), tensor.dims.end());
      if (const auto* strings = model->strings(t)) value->strings = *strings;
      else if (const auto raw = model->raw(t)) value->raw = *raw;
      else value->kind = HostValue::Kind::Absent;
    }
    if (value->kind == HostValue::Kind::Absent)
      return Error{ErrorKind::Input,
                   {file, {}, {}, {}, {}},
                   "no subgraph makes the output '" + manifest.network.outputs[i].name +
                       "', and it is no tensor that the file holds",
                   "run the model as a whole"};
    auto made = sessions.runtime()->make_value(value);
    if (!made) return made.errors();
    to.outputs[i].constant = *std::move(made);
  }
  return Done{};
}

}  // namespace

RunnableModel runnable_out(const deploy::Manifest& manifest) {
  return {&manifest, manifest.files.front().path, manifest.network.inputs};
}

RunnableModel runnable_bucket(const deploy::Manifest& manifest, std::size_t model) {
  const deploy::BucketModel& bucket = manifest.buckets->models[model];
  RunnableModel out{&bucket, bucket.file, manifest.network.inputs};
  for (const deploy::Buckets::ExtraInput& extra : manifest.buckets->extra_inputs) {
    deploy::NetworkValue& value = out.inputs.emplace_back();
    value.name = extra.name;
    value.type.dtype = DType::Int64;
    value.type.shape.emplace();
  }
  return out;
}

RuntimeSession::Feeds feeds_of(const Stage& stage, const std::vector<RuntimeValue>& values) {
  RuntimeSession::Feeds out;
  for (std::size_t i = 0; i < stage.fed.size(); ++i) {
    out.names.push_back(stage.inputs[i].c_str());
    out.values.push_back(values[stage.fed[i]]);
  }
  return out;
}

std::vector<RuntimeValue> outputs_of(const Stages& stages, const std::vector<RuntimeValue>& inputs,
                                     const std::vector<RuntimeValue>& values) {
  std::vector<RuntimeValue> out;
  for (const Stages::Output& o : stages.outputs) {
    if (o.value) out.push_back(values[*o.value]);
    else if (o.input && inputs[*o.input]) out.push_back(inputs[*o.input]);
    else out.push_back(o.constant);
  }
  return out;
}

// Empty: the CPU's.
std::string Sessions::provider_of(const deploy::Subgraph& subgraph, const deploy::Device& device) {
  if (!device.ep || device.ep->name == kCpuProvider || settings_.on_host.contains(subgraph.device)) return {};
  const std::string& name = device.ep->name;
  if (std::ranges::find(providers_, name) == providers_.end()) {
    on_cpu_.try_emplace(device.id, "this ONNX Runtime has no " + name);
    return {};
  }
  if (!can_open_provider(name)) {
    on_cpu_.try_emplace(device.id, name + " is not opened by graphopt");
    return {};
  }
  return on_cpu_.contains(device.id) ? std::string() : name;
}

Result<Sessions::Loaded> Sessions::load(const deploy::Subgraph& subgraph, const deploy::Device& device) {
  const std::string& content = subgraph.content.empty() ? subgraph.file : subgraph.content;
  SessionSettings settings{.optimize = settings_.optimize,
                           .threads = settings_.threads,
                           .provider = provider_of(subgraph, device),
                           .provider_options = {}};
  if (!settings.provider.empty()) settings.provider_options = device.ep->options;
  if (const auto found = sessions_.find({content, settings.provider}); found != sessions_.end())
    return found->second;
  const ModelSource source{
      .path = settings_.folder + "/" + subgraph.file, .bytes = {}, .external_folder = {}};
  auto loaded = RuntimeSession::load(runtime_, source, settings);
  if (!loaded && !settings.provider.empty()) {
    on_cpu_.try_emplace(device.id, settings.provider + " cannot be used: " + loaded.error().what);
    return load(subgraph, device);
  }
  if (!loaded) {
    for (Error& e : loaded.errors()) e.place.file = subgraph.file;
    return loaded.errors();
  }
  Loaded out;
  out.session = *std::move(loaded);
  for (const deploy::PortIn& v : subgraph.inputs) out.inputs.push_back(v.name);
  for (const deploy::PortOut& v : subgraph.outputs) out.outputs.push_back(v.name);
  return sessions_[{content, settings.provider}] = std::move(out);
}

Result<Stages> load_stages(Sessions& sessions, const deploy::Manifest& manifest, const RunnableModel& model) {
  const deploy::PartitionedNetwork& network = *model.network;
  const auto has_file = [](const deploy::Subgraph& s) { return !s.file.empty(); };
  if (!std::ranges::all_of(network.subgraphs, has_file)) return load_whole(sessions, manifest, model);
  Stages out = described(manifest, network, model);
  for (Index s = 0; s < network.subgraphs.size(); ++s) {
    const deploy::Subgraph& from = network.subgraphs[s];
    if (from.outputs.empty()) continue;  // nothing needs a run of it
    const auto loaded = sessions.load(from, manifest.devices[from.device]);
    if (!loaded) return loaded.errors();
    if (Status added = add_session(out, s, from, *loaded); !added) return added.errors();
  }
  if (Status added = add_constants(out, manifest, sessions); !added) return added.errors();
  return out;
}

Result<Stages> load_whole(Sessions& sessions, const deploy::Manifest& manifest, const RunnableModel& model) {
  const deploy::PartitionedNetwork whole = whole_of(manifest, model);
  Stages out = described(manifest, whole, model);
  const deploy::Subgraph& one = whole.subgraphs.front();
  const auto loaded = sessions.load(one, manifest.devices[one.device]);
  if (!loaded) return loaded.errors();
  if (Status added = add_session(out, 0, one, *loaded); !added) return added.errors();
  if (Status added = add_constants(out, manifest, sessions); !added) return added.errors();
  return out;
}

}  // namespace graphopt::runner
