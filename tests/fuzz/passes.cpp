// Fuzz target: the whole way without files. What the passes make is well formed, can be saved and loads
// again; a second run over it has nothing to do.
#include "fuzz/common.h"
#include "infer/infer.h"
#include "passes/pipeline.h"

namespace {

using namespace graphopt;

// Runs every pass to the fixed point, the model being verified after each; the number of rewrites.
std::uint64_t optimize(Model& model) {
  Inference inference(model, {});
  inference.run();
  PipelineOptions options;
  options.verify_each = true;
  const Result<PipelineReport> done = run_pipeline(model, inference, options);
  if (!done) fuzz::defect(to_string(done.error()));
  fuzz::require(done->stopped == StopReason::FixedPoint, "the passes did not come to an end");
  return done->rewrites;
}

}  // namespace

void fuzz(std::string_view bytes) {
  std::optional<Model> model = fuzz::load(bytes);
  if (!model) return;
  fuzz::check_round_trip(*model);
  optimize(*model);
  fuzz::check_model(*model);
  const std::string result = fuzz::saved(*model);
  std::optional<Model> again = fuzz::load(result);
  fuzz::require(again.has_value(), "the result does not load");
  fuzz::require(optimize(*again) == 0, "a second run finds something to do");
}
