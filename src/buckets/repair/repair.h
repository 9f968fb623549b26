// Makes nodes safe that mix padding into true results.
//
// Problem: a mean divides by the padded count, a softmax without a mask weighs padding, a second convolution
// reads what the first one left behind the end. The analysis (padding/analysis.h) refuses these. What the
// model lacks is the true extent.
// Method: each padded symbol that a repair needs becomes an input, an int64 scalar that carries its true
// extent. The first refused node is rewritten with plain operators of the model's own opset: padding that it
// reads is replaced by a neutral number (Where, which stops NaN, with a mask of positions below the true
// extent), a count is the product of true extents, an index from the end counts from the true one, a
// recurrence gets its lengths. Then the model is analysed again, since a repaired graph is proved and not
// trusted, until it is safe or no repair is left. Ends: each step rewrites a place that none has rewritten
// before, and there are at most kMostRepairs.
// Exact: with every length input at the extent itself, masks select nothing and the model gives what it gave
// before, bit for bit (but for ONNX Runtime's Where, which gives +0 for -0); a mean or a normalization that
// is written as sums and a division rounds differently. So the theorem of the analysis, for the repaired
// model, speaks of the results of the original.
//
//   y = ReduceMean (x)    =>    m = Less (Range (0, dim), true_len_s)
//                               y = Div (ReduceSum (Where (m, x, 0)), Cast (true_len_s))
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "buckets/decision.h"
#include "buckets/marks/marks.h"
#include "buckets/repair/extents.h"
#include "graphopt/error.h"
#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

// What was done to a node.
struct RepairedNode {
  std::string node, op;  // a node without a name is known by its first result
  BucketRepair kind = BucketRepair::Mask;
  std::string text;
};

struct Repaired {
  BucketDecision decision;           // of the repaired model; where refused, of what is left
  std::vector<RepairedNode> steps;   // in the order in which they were made; none: nothing has changed
  std::vector<LengthInput> lengths;  // the inputs that were added
  std::string unrepaired;            // why the refused node is not repaired; empty where not refused
};

// Decides, and repairs the model in place while it is refused. The model has been prepared, and its inference
// has run, as for decide(). Where the result is refused, the model may be repaired in part. Errors are those
// of decide().
Result<Repaired> repair(Model& m, Inference& inference, const BucketMarks& marks);

// Decides. `repairs`: nodes that padding would disturb are repaired in place, as far as that helps.
Result<Repaired> decide_or_repair(Model& m, Inference& inference, const BucketMarks& marks, bool repairs);

}  // namespace graphopt
