// The phase "regions": lists the regions of the main graph as the passes left it, draws the graph for --dot,
// and writes the regions into the model in the form that --regions names.
#include "driver/regions.h"

#include "driver/figures.h"
#include "driver/run.h"
#include "ir/verify.h"
#include "onnx/node_metadata.h"
#include "regions/region_functions.h"

namespace graphopt {
namespace {

constexpr std::string_view kKey = "graphopt.region";  // of metadata_props

void clear_metadata(Model& m) {
  if (m.ir_version < kNodeMetadataIrVersion) return;
  for (NodeId n = m.first_node(m.main()); n; n = m.next_node(n)) set_node_metadata(m, n, kKey, std::nullopt);
}

void write_metadata(Model& m, const RegionList& list) {
  if (m.ir_version < kNodeMetadataIrVersion) return;
  for (std::size_t r = 0; r < list.regions.size(); ++r)
    for (const NodeId n : list.regions[r].members) set_node_metadata(m, n, kKey, std::to_string(r));
}

}  // namespace

Report::Regions describe_regions(const Model& m, const RegionList& list) {
  const auto name = [&m](NodeId n) {
    for (const ValueId v : m.outputs(n))
      if (v) return std::string(m.text(m.value(v).name));
    return std::string{};
  };
  Report::Regions out;
  out.launches = list.launches;
  for (const Region& r : list.regions) {
    Report::Region& region = out.regions.emplace_back();
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

bool Run::wants_regions() const {
  return options_.stop_after >= Stage::CleanUp && (options_.regions != RegionForm::None || options_.dot);
}

void Run::drop_old_regions(Work& work) const {
  if (wants_passes() || wants_regions()) {  // the run may change nodes that an old entry names
    inline_region_functions(work.model);
    clear_metadata(work.model);
  }
  // Functions raise the IR version. Up to version 3 passes may make fewer constants, so a second run, which
  // finds the higher version in the file, would find more to do: there it is raised before the passes.
  constexpr std::int64_t kLastWithoutConstants = 3;
  work.file_ir_version = work.model.ir_version;
  if (wants_regions() && options_.regions == RegionForm::Functions &&
      work.model.ir_version <= kLastWithoutConstants)
    work.model.ir_version = kFunctionIrVersion;
  work.file_nodes = work.model.node_count();
}

std::vector<std::string> Run::write_regions(Work& work, const RegionList& list) const {
  if (options_.regions == RegionForm::Metadata) write_metadata(work.model, list);
  if (options_.regions != RegionForm::Functions) return {};
  return make_region_functions(work.model, work.model.main(), list);
}

Status Run::regions() {
  Model& m = work_->model;
  const RegionList list = list_regions(m, *work_->inference, m.main());
  report_.regions = describe_regions(m, list);
  for (std::size_t i = 0; i < list.limit_hits.times.size(); ++i)
    if (const std::uint64_t times = list.limit_hits.times[i]) report_limit(kSearchLimitNames[i], times);
  if (options_.dot) report_.dot = draw_regions(m, *work_->inference, list, work_->file_nodes);
  const std::int64_t version = work_->file_ir_version;
  const std::vector<std::string> functions = write_regions(*work_, list);
  Report::Regions& report = *report_.regions;
  for (std::size_t r = 0; r < functions.size(); ++r) report.regions[r].function = functions[r];
  switch (options_.regions) {
    case RegionForm::None: break;
    case RegionForm::Metadata:
      report.form = "metadata";
      if (version < kNodeMetadataIrVersion)
        warn(m.file + ": --regions metadata: nodes have metadata from IR version 10 on, and the model has " +
             std::to_string(version) + "; the regions stand in the report only");
      break;
    case RegionForm::Functions:
      report.form = "functions";
      if (version < m.ir_version)
        warn(m.file + ": --regions functions: the IR version was raised from " + std::to_string(version) +
             " to " + std::to_string(m.ir_version) + ", the first with functions");
      break;
  }
  if (auto broken = verify(m)) return *broken;
  report_.after = count_model(m);
  return Done{};
}

}  // namespace graphopt
