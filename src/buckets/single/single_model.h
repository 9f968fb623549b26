// One model that runs each shape in the bucket that holds it.
//
// Problem: a model per bucket needs a program around it that chooses, pads and cuts. Where only an ONNX file
// can be deployed, that must be in the file. Method: a model with the inputs and outputs of the dynamic one.
// Its main graph has the weights, and works out from the shapes of the inputs whether the promise holds for
// them (dispatcher.h) and which bucket is the smallest; nested Ifs halve the buckets until one is left. Its
// branch pads the inputs, runs the static graph and cuts the results (branch_shapes.h). All other shapes run
// the dynamic graph, which is there once:
//
//   if the shape has a bucket   if the bucket is below 2   if it is 0   pad, bucket 0, cut
//                                                          else         pad, bucket 1, cut
//                               else                       pad, bucket 2, cut
//   else                        the dynamic graph
//
// Why it is exact: the shapes in a branch are those for which the analysis proved it, checked at run time, by
// the sizes, not by what the caller says. Depth: 1 + log2 of the buckets. Size: weights once
// (shared_constants.h), nodes of all graphs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "buckets/single/dispatch_plan.h"
#include "graphopt/error.h"
#include "ir/model.h"

namespace graphopt {

struct BucketModel {
  const Model* model = nullptr;  // a clone of the dynamic model, or what passes made of one; its inputs and
                                 // outputs have the names of the dynamic model's
  std::vector<std::int64_t> at;  // its sizes, in the order of the plan's symbols
};

// Returns the model. `buckets` has one for each bucket of the plan, in their order. The bucket models may go
// then; the dynamic model is not changed. ErrorKind::Usage: an opset before 11, inner values that are named
// by training information or annotations, bucket models that call functions, extents that do not follow from
// the inputs' shapes.
Result<Model> single_model(const Model& dynamic, const DispatchPlan& plan,
                           std::span<const BucketModel> buckets);

}  // namespace graphopt
