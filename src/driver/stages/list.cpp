// The one list of stages, in the order of a run and of the enum. After each stage:
//
//   load      the IR holds the file's content; names resolve, sizes are correct, no path leaves its folder
//   infer     every value has a type that holds in all runs; wrong claims of the file are known
//   buckets   it is known whether inputs may be padded; a model that may not be ends the run
//   clean-up  the passes have reached a fixed point; the verifier accepts the result
//   lower     nodes that no accelerator supports are written in operators that one does, as far as that is
//   known strip     doc_strings, metadata and long names are gone, as far as the options say specialize  each
//   bucket of shapes has a model of its own, optimized and cut regions   the regions of the main graph are
//   known and written as requested partition each node of the main graph has a subgraph and a device, and
//   says so check     the result computes what the original computes, on all inputs that were tried save OUT
//   is the new model, durably; nothing is written before this stage
//
// Stages that write files are the last ones: what may refuse the model does so before there is a file.
#include <algorithm>

#include "driver/stages/stage.h"

namespace graphopt {

extern const StageEntry load_stage, infer_stage, buckets_stage, clean_up_stage, lower_stage, strip_stage,
    specialize_stage, regions_stage, partition_stage, check_stage, save_stage;

namespace {

constexpr const StageEntry* kStages[] = {
    &load_stage,       &infer_stage,   &buckets_stage,   &clean_up_stage, &lower_stage, &strip_stage,
    &specialize_stage, &regions_stage, &partition_stage, &check_stage,    &save_stage,
};

const StageEntry& entry(Stage stage) { return *kStages[static_cast<std::size_t>(stage)]; }

}  // namespace

std::span<const StageEntry* const> all_stages() { return kStages; }

bool is_wanted(Stage stage, const Options& options) { return entry(stage).wanted(options); }

bool any_wanted(const Options& options, bool StageEntry::* property) {
  return std::ranges::any_of(kStages,
                             [&](const StageEntry* s) { return s->*property && s->wanted(options); });
}

std::string_view stage_name(Stage stage) { return entry(stage).name; }
bool writes_files(Stage stage) { return entry(stage).writes_files; }

}  // namespace graphopt
