// Repairs a model for buckets and saves it, for tests/equal/bucket_repairs.py.
//
//   graphopt_repair_model MODEL BUCKETS.json OUT
//
// What stands in OUT is the model of which `graphopt inspect --bucketable --bucket-require repair` speaks.
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include "buckets/marks/parse_marks.h"
#include "buckets/promise.h"
#include "buckets/repair/repair.h"
#include "buckets/symbols.h"
#include "onnx/reader.h"
#include "onnx/writer.h"
#include "passes/inline_functions.h"
#include "passes/pipeline.h"
#include "shapes/written_types.h"

namespace graphopt {
namespace {

int fail(const Errors& errors) {
  for (const Error& e : errors) std::fprintf(stderr, "%s\n", to_string(e).c_str());
  return 1;
}

int run(std::span<char*> words) {
  const Result<BucketMarks> marks = parse_marks({}, words[1]);
  if (!marks) return fail(marks.errors());
  std::vector<Warning> warnings;
  LoadOptions load;
  load.path = words[0];
  Result<Model> m = load_model(load, warnings);
  if (!m) return fail(m.errors());
  const std::size_t file_values = m->value_count();
  if (Status ok = prepare_symbols(*m, *marks); !ok) return fail(ok.errors());
  Inference inference(*m, promised(*m, *marks));
  inference.run();
  if (m->function_count() > 0) {
    PipelineOptions inlining;
    inlining.passes = {"dead-code"};
    const std::unique_ptr<Pass> inline_calls = inline_every_function.make();
    inlining.added = {&inline_every_function, inline_calls.get()};
    if (Result<PipelineReport> done = run_pipeline(*m, inference, inlining); !done)
      return fail(done.errors());
    inference.run();
  }
  const Result<Repaired> repaired = repair(*m, inference, *marks);
  if (!repaired) return fail(repaired.errors());
  const std::vector<TypeOverride> types = written_types(
      *m, inference, {.specialized = false, .all = false, .passes_ran = true, .file_values = file_values});
  SaveOptions save;
  save.path = words[2];
  save.types = types;
  if (const Result<SavedFiles> saved = save_model(*m, save); !saved) return fail(saved.errors());
  return 0;
}

}  // namespace
}  // namespace graphopt

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return graphopt::run(std::span(argv + 1, argv + argc));
}
