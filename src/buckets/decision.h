// Whether a model may be compiled per bucket of shapes, and how its inputs are padded and its outputs
// cropped.
//
// Problem: a bucket spec (marks/marks.h) says which sizes are wanted; the analysis (padding/analysis.h) says
// what padding does. Together they give what a user and a loader need: lists of sizes, what each input is
// padded with, the extent of each output as a formula of the true extents, and a verdict.
// Method: the symbols of the spec are found among the model's inputs (symbols.h), inference runs with the
// promised ranges (promise.h), then the analysis with the best padding (padding/search.h); last, the model is
// asked whether it can keep the promise at all.
//
//   Model m = read.clone();
//   prepare_symbols(m, marks);                    // x: [batch, seq]
//   Inference inference(m, promised(m, marks));
//   inference.run();
//   Result<BucketDecision> b = decide(m, inference, marks);
//   b->verdict == BucketVerdict::Proved
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "buckets/marks/buckets.h"
#include "buckets/marks/marks.h"
#include "buckets/padding/search.h"
#include "graphopt/error.h"
#include "graphopt/stages/buckets.h"
#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

// Facts in ids of the model. `choice.analysis` refers to the model and the inference.
struct BucketDecision {
  BucketVerdict verdict = BucketVerdict::Refused;
  std::vector<DimId> symbols;       // of the marks, in the order of the groups
  std::vector<BucketSymbol> lists;  // by symbol
  BucketSet buckets;                // empty where refused
  PaddingChoice choice;
  // None where not refused. A refusal of the whole has no node.
  std::optional<Contamination> refusal;
};

// The model must have been prepared, and its inference have run with the promised ranges. `lengths`: inputs
// that carry the true extent of a symbol in every run. ErrorKind::Usage for marks that do not fit together.
Result<BucketDecision> decide(Model& m, const Inference& inference, const BucketMarks& marks,
                              std::map<ValueId, DimId> lengths = {});

// The layouts of the axes of an output that is cut, none for one that is not known, and whether each axis
// keeps its true elements at the front.
struct OutputCut {
  ValueId output;
  std::vector<LayoutId> layouts;
  bool is_prefix = true;
};
std::vector<OutputCut> cuts_of(const Model& m, const PaddingAnalysis& analysis);
// Returns the name of a node; one without a name is known by its first result. Empty for none.
std::string label_of(const Model& m, NodeId n);
// The layouts of the axes of an input, as texts.
std::vector<std::string> layouts_of(const PaddingAnalysis& analysis, ValueId v);

}  // namespace graphopt
