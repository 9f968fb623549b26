// What a bucket spec promises about the runs of a model, and whether the model can keep it.
//
// Problem: a spec says that its symbols vary freely within their ranges. A model may tie them to each other,
// take fewer sizes, index beyond an axis, or have constants that fit one size alone; then no bucket outside
// of that can run, and a verdict about padding would be about nothing. Method: inference runs with the
// promised ranges; then what it found is compared with them, as a formula where there is one, in each bucket
// for indices, and in the least and the largest bucket for whole nodes.
#pragma once

#include <optional>
#include <span>

#include "buckets/marks/buckets.h"
#include "buckets/marks/marks.h"
#include "buckets/padding/analysis.h"
#include "graphopt/error.h"
#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

// Returns the options of inference: the ranges of the marks; other symbols of the inputs are at least 1,
// since an empty tensor is for the model that all shapes can use. After prepare_symbols() (symbols.h).
InferOptions promised(const Model& m, const BucketMarks& marks);
// Returns what the marks say to the analysis. After prepare_symbols(). ErrorKind::Usage for padding that
// groups or ranges contradict.
Result<PaddingOptions> padding_options(const Model& m, const BucketMarks& marks);

// What is asked of a model whose inference ran with the promised ranges.
struct Promise {
  const BucketMarks& marks;
  std::span<const DimId> symbols;       // in the order of the groups
  std::span<const BucketSymbol> lists;  // by symbol
  const BucketSet& buckets;
  std::span<const IndexLimit> limits;  // that the analysis met
};

// Returns what of the model contradicts the promise, with a remedy; none where nothing does.
std::optional<Contamination> broken_promise(Model& m, const Promise& promise);

}  // namespace graphopt
