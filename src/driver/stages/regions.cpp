// regions: lists the regions of the main graph as the passes left it, draws the graph for --dot, and writes
// the regions into the model in the form that --regions names.
#include "driver/regions.h"
#include "regions/draw_regions.h"

#include "driver/json.h"
#include "driver/run.h"
#include "driver/stages/stage.h"
#include "ir/figures.h"
#include "ir/node_names.h"
#include "ir/verify.h"
#include "onnx/node_metadata.h"
#include "onnx/short_names.h"
#include "regions/region_functions.h"

namespace graphopt {
namespace {

constexpr std::string_view kKey = "graphopt.region";  // of metadata_props

void clear_metadata(Model& m) {
  if (m.ir_version < kNodeMetadataIrVersion) return;
  std::vector<NodeText> none;
  for (NodeId n = m.first_node(m.main()); n; n = m.next_node(n)) none.push_back({n, std::nullopt});
  set_node_metadata(m, kKey, none);
}

void write_metadata(Model& m, const RegionList& list) {
  if (m.ir_version < kNodeMetadataIrVersion) return;
  std::vector<std::string> ids(list.regions.size());
  std::vector<NodeText> entries;
  for (std::size_t r = 0; r < ids.size(); ++r) {
    ids[r] = std::to_string(r);
    for (const NodeId n : list.regions[r].members) entries.push_back({n, ids[r]});
  }
  set_node_metadata(m, kKey, entries);
}

// Returns the functions' names, by region; none where there are no functions.
std::vector<std::string> write_regions(Work& work, const Options& options, const RegionList& list) {
  const RegionForm form = options.regions.form;
  if (form == RegionForm::Metadata) write_metadata(work.model, list);
  if (form != RegionForm::Functions || work.left_alone) return {};
  std::vector<std::string> functions = make_region_functions(work.model, work.model.main(), list);
  name_nodes(work.model, Unnamed::Made, work.file_nodes);
  // Short names are numbered in the order of the file, which is another one with calls in place of nodes.
  if (options.strip.names) shorten_names(work.model);
  return functions;
}

Status run_regions(Run& run) {
  const RegionsStage::Options& options = run.options.regions;
  Work& work = *run.work;
  Model& m = work.model;
  const RegionList list = list_regions(m, *work.inference, m.main());
  RegionsStage::Report& report = run.report.regions.emplace(describe_regions(m, list));
  for (std::size_t i = 0; i < list.limit_hits.times.size(); ++i)
    if (const std::uint64_t times = list.limit_hits.times[i])
      run.add_limit(static_cast<SearchLimit>(i), times);
  if (options.draw) report.drawing = draw_regions(m, *work.inference, list, work.file_nodes);
  const std::int64_t version = work.file_ir_version;
  const std::vector<std::string> functions = write_regions(work, run.options, list);
  for (std::size_t r = 0; r < functions.size(); ++r) report.regions[r].function = functions[r];
  switch (options.form) {
    case RegionForm::None: break;
    case RegionForm::Metadata:
      report.form = RegionForm::Metadata;
      if (version < kNodeMetadataIrVersion)
        run.warn(
            m.file + ": --regions metadata: nodes have metadata from IR version 10 on, and the model has " +
            std::to_string(version) + "; the regions are in the report only (--ir-version 10 raises it)");
      break;
    case RegionForm::Functions:
      if (work.left_alone) {
        run.warn(m.file + ": --regions functions: the regions are in the report only, since types would " +
                 "have to be stated of what calls return");
        break;
      }
      report.form = RegionForm::Functions;
      if (version < m.ir_version)
        run.warn(m.file + ": --regions functions: the IR version was raised from " + std::to_string(version) +
                 " to " + std::to_string(m.ir_version) + ", the first with functions");
      break;
  }
  if (auto broken = verify(m)) return *broken;
  run.report.after = count_model(m);
  return Done{};
}

Status repeat_regions(Run& run, Work& work) {
  write_regions(run.options, work);
  return Done{};
}

void regions_json(const Report& r, Json& out) {
  out["region_form"] = r.regions ? Json(word(r.regions->form)) : Json(nullptr);
  out["regions"] = r.regions ? to_json(r.regions->regions) : Json(nullptr);
  out["launches"] = r.regions ? Json(r.regions->launches) : Json(nullptr);
}

}  // namespace

bool writes_region_functions(const Options& options) {
  return is_wanted(Stage::Regions, options) && options.regions.form == RegionForm::Functions;
}

void write_regions(const Options& options, Work& work) {
  if (options.regions.form == RegionForm::None) return;
  write_regions(work, options, list_regions(work.model, *work.inference, work.model.main()));
}

Json to_json(const std::vector<RegionsStage::Region>& regions) {
  const auto text = [](const std::string& s) { return s.empty() ? Json(nullptr) : Json(s); };
  Json out = Json::array();
  for (const RegionsStage::Region& r : regions) {
    out.push_back({{"id", r.id}, {"members", r.members}, {"anchor", text(r.anchor)}, {"kind", text(r.kind)}});
    if (!r.function.empty()) out.back()["function"] = r.function;
  }
  return out;
}

RegionsStage::Report describe_regions(const Model& m, const RegionList& list) {
  const auto name = [&m](NodeId n) {
    for (const ValueId v : m.outputs(n))
      if (v) return std::string(m.text(m.value(v).name));
    return std::string{};
  };
  RegionsStage::Report out;
  out.launches = list.launches;
  for (const Region& r : list.regions) {
    RegionsStage::Region& region = out.regions.emplace_back();
    region.id = std::to_string(out.regions.size() - 1);
    if (r.anchor) {
      region.anchor = name(r.anchor);
      region.kind = operator_name(m, m.node(r.anchor).op);
    }
    for (const NodeId n : r.members)
      for (const ValueId v : m.outputs(n))
        if (v) region.members.emplace_back(m.text(m.value(v).name));
  }
  return out;
}

void drop_old_regions(const Options& options, Work& work) {
  if (any_wanted(options, &StageEntry::edits_nodes)) {  // an old entry may name a node that changes
    inline_region_functions(work.model);
    clear_metadata(work.model);
  }
  // Functions raise the IR version. Up to version 3 passes may make fewer constants, so a second run, which
  // finds the higher version in the file, would find more to do: there it is raised before the passes.
  constexpr std::int64_t kLastWithoutConstants = 3;
  work.file_ir_version = work.model.ir_version;
  if (writes_region_functions(options) && work.model.ir_version <= kLastWithoutConstants)
    work.model.ir_version = kFunctionIrVersion;
  work.file_nodes = work.model.node_count();
}

extern constinit const StageEntry regions_stage = {
    .stage = Stage::Regions,
    .name = "regions",
    .needs_types = true,
    .edits_nodes = true,
    .wanted =
        [](const Options& options) {
          return options.stop_after >= Stage::CleanUp &&
                 (options.regions.form != RegionForm::None || options.regions.draw);
        },
    .run = run_regions,
    .repeat = repeat_regions,
    .to_json = regions_json};

}  // namespace graphopt
