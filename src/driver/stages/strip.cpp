// strip: doc_strings, metadata and long names are gone. It comes after the passes, which tell of nodes by
// their names, and before the stages that write names or metadata of their own into models and manifests.
#include "onnx/strip.h"
#include "driver/run.h"
#include "driver/stages/stage.h"
#include "ir/verify.h"
#include "onnx/short_names.h"

namespace graphopt {
namespace {

Status strip(Run& run, Work& work) {
  const StripStage::Options& options = run.options.strip;
  strip_texts(work.model, {.doc = options.doc, .metadata = options.metadata});
  // A model that was left alone states what its file states, no more, and no less, since nothing is written
  // in the place of what goes.
  if (options.names) shorten_names(work.model, work.left_alone);
  if (auto broken = verify(work.model)) return *broken;
  return Done{};
}

}  // namespace

extern constinit const StageEntry strip_stage = {
    .stage = Stage::Strip,
    .name = "strip",
    .wanted = [](const Options& options) { return options.strip.any(); },
    .run = [](Run& run) { return strip(run, *run.work); },
    .repeat = strip};

}  // namespace graphopt
