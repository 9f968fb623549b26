// Writes the single model of a model and marks, for tests/equal/bucket_single.py.
//
//   graphopt_bucket_single IN MARKS OUT DYNAMIC
//
// MARKS is a file of --buckets. The model is loaded, prepared, analysed and decided on as for --bucketable;
// then the dynamic model and a clone of it for each bucket are cleaned up by the passes of the default level,
// OUT is the model that dispatches between them, and DYNAMIC the dynamic model alone. An error is printed as
// the command line prints it, and the exit status is its kind.
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "buckets/decision.h"
#include "buckets/marks/parse_marks.h"
#include "buckets/promise.h"
#include "buckets/single/single_model.h"
#include "buckets/symbols.h"
#include "graphopt/stages/clean_up.h"
#include "ir/verify.h"
#include "onnx/reader.h"
#include "onnx/writer.h"
#include "passes/inline_functions.h"
#include "passes/pipeline.h"
#include "shapes/bind.h"

namespace graphopt {
namespace {

Status clean_up(Model& model, InferOptions facts) {
  Inference inference(model, std::move(facts));
  inference.run();
  PipelineOptions passes;
  passes.pass.fold_limit = kDefaultFoldLimit;
  const Result<PipelineReport> done = run_pipeline(model, inference, passes);
  return done ? Status(Done{}) : Status(done.errors());
}

Status inline_functions(Model& model, Inference& inference) {
  PipelineOptions inlining;
  inlining.passes = {"dead-code"};
  const std::unique_ptr<Pass> inline_calls = inline_every_function.make();
  inlining.added = {&inline_every_function, inline_calls.get()};
  const Result<PipelineReport> done = run_pipeline(model, inference, inlining);
  return done ? Status(Done{}) : Status(done.errors());
}

Status save(const Model& model, const char* path) {
  SaveOptions options;
  options.path = path;
  const Result<SavedFiles> saved = save_model(model, options);
  return saved ? Status(Done{}) : Status(saved.errors());
}

Status run(const char* in, const char* marks_file, const char* out_file, const char* dynamic_file) {
  std::vector<Warning> warnings;
  Result<Model> loaded = load_model({in, {}, 0, true}, warnings);
  if (!loaded) return loaded.errors();
  Model model = *std::move(loaded);
  Result<BucketMarks> marks = parse_marks({}, marks_file);
  if (!marks) return marks.errors();
  if (Status ok = prepare_symbols(model, *marks); !ok) return ok;
  Inference inference(model, promised(model, *marks));
  inference.run();
  if (Status ok = inline_functions(model, inference); !ok) return ok;
  inference.run();
  const Result<BucketDecision> decision = decide(model, inference, *marks);
  if (!decision) return decision.errors();
  const Result<DispatchPlan> plan = plan_dispatch(model, inference, *decision, *marks);
  if (!plan) return plan.errors();

  Model dynamic = model.clone();
  dynamic.dims.forget();
  if (Status ok = clean_up(dynamic, {}); !ok) return ok;
  std::deque<Model> models;
  std::vector<BucketModel> buckets;
  for (std::size_t b = 0; b < plan->buckets.size(); ++b) {
    const auto sizes = plan->buckets.at(b);
    Bindings bindings;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      bindings.symbols.push_back({plan->buckets.symbols[i].name, sizes[i], sizes[i]});
    Model& bucket = models.emplace_back(dynamic.clone());
    Result<InferOptions> bound = bind(bucket, bindings);
    if (!bound) return bound.errors();
    if (Status ok = clean_up(bucket, *std::move(bound)); !ok) return ok;
    buckets.push_back({&bucket, {sizes.begin(), sizes.end()}});
  }
  Result<Model> single = single_model(dynamic, *plan, buckets);
  if (!single) return single.errors();
  if (auto broken = verify(*single)) return *std::move(broken);
  if (Status ok = save(*single, out_file); !ok) return ok;
  return save(dynamic, dynamic_file);
}

}  // namespace
}  // namespace graphopt

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s IN MARKS OUT DYNAMIC\n", argv[0]);
    return 1;
  }
  const graphopt::Status done = graphopt::run(argv[1], argv[2], argv[3], argv[4]);
  if (done) return 0;
  for (const graphopt::Error& e : done.errors()) std::fprintf(stderr, "%s\n", to_string(e).c_str());
  return static_cast<int>(done.error().kind);
}
