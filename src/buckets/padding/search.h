// With what must each input be padded?
//
// Problem: padding that works is not a matter of taste: a sum wants 0, a maximum minus infinity, a table of
// embeddings a legal number. And what is needed least is worth most: an input that may be padded with
// anything need not be cleared. Method: the preset elements 0, 1 and, for floating types, minus infinity are
// tried per input, fewest changes from 0 first, until the analysis accepts the graph; an input that the user
// gave a value for keeps it. Then each input is weakened: to anything, or else to anything finite, if the
// analysis still accepts it and lists no further assumption. An extent "a + b" does not say which part comes
// first in its axis: where one order is refused, the other one is tried. Ends: a bounded number of analyses,
// each linear in the nodes.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "buckets/padding/analysis.h"
#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

struct PaddingChoice {
  struct Input {
    ValueId input;
    PadElement element;
  };
  std::vector<Input> inputs;                  // those with a padded axis, in the model's order
  std::unique_ptr<PaddingAnalysis> analysis;  // under these; the first choice where none is safe
};

// `options.pads` holds what the user asks for, and nothing else. The model and its inference must outlive the
// result.
PaddingChoice choose_padding(Model& m, const Inference& inference, PaddingOptions options);

}  // namespace graphopt
