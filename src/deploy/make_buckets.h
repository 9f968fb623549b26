// Makes the section `buckets` of a manifest of the decision about padding.
#pragma once

#include "buckets/marks/marks.h"
#include "buckets/repair/repair.h"
#include "deploy/manifest.h"
#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt::deploy {

// What was decided, of which model. All are kept by reference while the section is made.
struct BucketsSource {
  const Model& model;  // as it was prepared for the decision, and repaired
  const Inference& inference;
  const Repaired& repaired;
  const BucketMarks& marks;
  bool forced = false;  // outputs are wanted of a model that was refused, too
};

// Returns everything but `waste`, models and files: they are known when the models are made, resp. written.
Buckets make_buckets(const BucketsSource& source);

}  // namespace graphopt::deploy
