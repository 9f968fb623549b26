// The pass of --fold ort as a part of the pipeline: its budget, strictness, and values that stay. What it
// folds is in tests/cli/fold_ort.py.
#include "folding/runtime_folding.h"

#include <gtest/gtest.h>

#include <string>

#include "infer_case.h"
#include "ir/reader_access.h"
#include "passes/pipeline.h"

namespace graphopt {
namespace {

constexpr const char* kTwo = R"(g (float[n,2] x) => (float[n,2] y) <float[2,2] w = {1, 2, 3, 4}> {
  d = Det (w)
  a = Add (x, d)
  m = Mish (d)
  y = Mul (a, m)
})";

struct Outcome {
  PipelineReport pipeline;
  CleanUpStage::RuntimeFold fold;
};

Outcome run(InferCase& given, PipelineOptions options) {
  auto runtime = Runtime::open("");
  if (!runtime) {
    ADD_FAILURE() << to_string(runtime.error());
    return {};
  }
  RuntimeFolding folding(*runtime, ".");
  options.passes = {"drop-identity"};
  options.verify_each = true;
  options.added = {&kRuntimeFolding, &folding};
  auto report = run_pipeline(*given.model, *given.facts, options);
  EXPECT_TRUE(report.ok()) << to_string(report.error());
  return {report.ok() ? *report : PipelineReport(), folding.report()};
}

TEST(RuntimeFolding, EachNodeIsARewriteOfItsOwn) {
  for (std::uint64_t budget = 0; budget <= 3; ++budget) {
    InferCase given(kTwo);
    PipelineOptions options;
    options.pass.fold_limit = 1024;
    options.rewrite_budget = budget;
    const Outcome done = run(given, options);
    const std::uint64_t expected = std::min<std::uint64_t>(budget, 2);
    EXPECT_EQ(done.pipeline.rewrites, expected);
    EXPECT_EQ(done.fold.constants, expected);
    EXPECT_EQ(given.model->live_node_count(), 4 - expected);
    if (budget != 1) continue;
    EXPECT_EQ(done.pipeline.last_rewrite.pass, "runtime-folding");
    EXPECT_EQ(done.pipeline.last_rewrite.place.op, "Det");
    EXPECT_TRUE(given.model->constant_of(given.value("d")));
  }
}

TEST(RuntimeFolding, NotWhereBitsAreKept) {
  for (const Strictness s : {Strictness::Plain, Strictness::Exact}) {
    InferCase given(kTwo);
    PipelineOptions options;
    options.pass = {.fold_limit = 1024, .strictness = s};
    const Outcome done = run(given, options);
    EXPECT_EQ(done.fold.constants, 0u);
    EXPECT_EQ(done.pipeline.passes.size(), 1u);
  }
}

TEST(RuntimeFolding, PinnedValuesStay) {
  InferCase given(kTwo);
  ReaderAccess::value(*given.model, given.value("d")).pinned = true;
  PipelineOptions options;
  options.pass.fold_limit = 1024;
  EXPECT_EQ(run(given, options).fold.constants, 0u);
  EXPECT_TRUE(given.node_of("d"));
}

}  // namespace
}  // namespace graphopt
