// specialize: each bucket has a model of its own, optimized and cut like the whole.
#include "deploy/make_manifest.h"
#include "driver/clean_up.h"
#include "driver/json.h"
#include "driver/save_partitioned.h"
#include "driver/shapes.h"
#include "driver/specialized.h"
#include "driver/stages/stage.h"
#include "ir/figures.h"
#include "ir/node_names.h"
#include "shapes/bind.h"

namespace graphopt {
namespace {

// What padding adds for the lengths that were observed: sums over all of them.
std::vector<SpecializeStage::Waste> waste_of(const Specialized& s) {
  std::vector<SpecializeStage::Waste> out;
  for (const BucketSymbol& symbol : s.buckets().symbols) {
    const BucketGroup& group = s.marks.groups[symbol.group];
    if (group.lengths.empty()) continue;
    SpecializeStage::Waste waste;
    waste.symbol = symbol.name;
    waste.by_size.assign(symbol.values.size(), 0);
    for (const LengthCount& l : group.lengths) {
      const auto size = std::ranges::lower_bound(symbol.values, l.length);
      if (size == symbol.values.end()) continue;  // a filter left no bucket for it
      const auto count = static_cast<std::uint64_t>(l.count);
      waste.observed += count;
      waste.by_size[static_cast<std::size_t>(size - symbol.values.begin())] += count;
      waste.elements += count * static_cast<std::uint64_t>(l.length);
      waste.padded_elements += count * static_cast<std::uint64_t>(*size);
    }
    out.push_back(std::move(waste));
  }
  return out;
}

SpecializeStage::Model figures_of(const Run& run, const SpecializedModel& bucket) {
  SpecializeStage::Model out;
  out.sizes = bucket.sizes;
  out.nodes = count_model(bucket.work->model).nodes;
  out.peak_bytes = bucket.peak_bytes;
  out.lowered = bucket.lowered.lowered;
  const std::vector<Profile>& devices = run.partitioned->devices;
  out.subgraphs = bucket.cut.partition.size();
  out.accelerator_subgraphs = bucket.cut.partition.accelerator_count;
  for (std::size_t i = 0; i < bucket.cut.parts.size(); ++i)
    if (!devices[bucket.cut.partition.devices[i]].host)
      out.accelerator_nodes += bucket.cut.parts[i].nodes.size();
  return out;
}

// OUT has no inputs of true extents, and a branch of an If calls no functions of the model.
bool needs_base(const Run& run) {
  const bool calls = run.work->model.function_count() > 0 && (run.options.buckets.single || run.original);
  return !run.specialized->repaired.steps.empty() || calls;
}

// Makes the base of the buckets' models from the model as it was prepared.
Status make_base(Run& run) {
  Specialized& s = *run.specialized;
  s.base = work_beside(*run.work, s.prepared->model);
  Work& base = *s.base;
  base.assigned = s.assigned;
  Result<InferOptions> bound = bind(base.model, bindings_of(run.options.infer));
  if (!bound) return bound.errors();
  base.inference.emplace(base.model, *std::move(bound));
  base.inference->run();
  if (!is_wanted(Stage::CleanUp, run.options)) return Done{};
  CleanUpHooks hooks;
  hooks.should_stop = [&run] { return run.out_of_time(); };
  if (Status clean = clean_up(run.options, base, hooks); !clean) return clean;
  return base.pipeline.stopped == StopReason::Stopped ? Status(run.stopped()) : Status(Done{});
}

Status run_specialize(Run& run) {
  Specialized& s = *run.specialized;
  if (needs_base(run))
    if (Status made = make_base(run); !made) return made;
  Result<std::vector<SpecializedModel>> models = specialize_models(run, s);
  if (!models) return models.errors();
  s.models = *std::move(models);
  if (run.options.buckets.single) {
    Result<Model> single = single_model(run, s);
    if (!single) return single.errors();
    s.single = *std::move(single);
    name_nodes(*s.single, Unnamed::Made);
    run.report.after = count_model(*s.single);
  }
  if (run.partitioned && !s.models.empty()) {
    SpecializedModel& first = s.models.front();
    const std::string text = for_fixed_shapes(*first.work, run.partitioned->devices, first.cut);
    if (!text.empty())
      run.warn(
          run.work->model.file +
          ": --devices: dims of inputs are open in the models of buckets; with numbers, in the first one " +
          text);
  }
  SpecializeStage::Report& report = run.report.specialize.emplace();
  for (SpecializedModel& bucket : s.models) {
    bucket.peak_bytes = deploy::peak_bytes(manifest_source(run, *bucket.work, bucket.cut, {}, {}));
    report.models.push_back(figures_of(run, bucket));
  }
  report.waste = waste_of(s);
  for (const SpecializeStage::Waste& w : report.waste)
    s.section.waste.push_back({w.symbol, w.observed, w.elements, w.padded_elements});
  return Done{};
}

void specialize_json(const Report& r, Json& out) {
  Json& json = out["specialize"] = nullptr;
  if (!r.specialize) return;
  json = {{"models", Json::array()}, {"waste", Json::array()}};
  for (const SpecializeStage::Model& m : r.specialize->models) {
    Json one = {{"at", Json::object()},
                {"nodes", m.nodes},
                {"bytes", m.bytes},
                {"peak_bytes", m.peak_bytes ? Json(*m.peak_bytes) : Json(nullptr)},
                {"subgraphs", m.subgraphs},
                {"accelerator_subgraphs", m.accelerator_subgraphs},
                {"accelerator_nodes", m.accelerator_nodes},
                {"lowered", lowered_json(m.lowered)},
                {"file", m.file.empty() ? Json(nullptr) : Json(m.file)}};
    for (std::size_t i = 0; i < m.sizes.size(); ++i) one["at"][r.buckets->symbols[i].name] = m.sizes[i];
    json["models"].push_back(std::move(one));
  }
  for (const SpecializeStage::Waste& w : r.specialize->waste)
    json["waste"].push_back({{"symbol", w.symbol},
                             {"observed", w.observed},
                             {"elements", w.elements},
                             {"padded_elements", w.padded_elements}});
}

}  // namespace

extern constinit const StageEntry specialize_stage = {.stage = Stage::Specialize,
                                                      .name = "specialize",
                                                      .needs_types = true,
                                                      .edits_nodes = true,
                                                      .wanted =
                                                          [](const Options& options) {
                                                            return options.stop_after >= Stage::CleanUp &&
                                                                   options.buckets.asked();
                                                          },
                                                      .run = run_specialize,
                                                      .to_json = specialize_json};

}  // namespace graphopt
