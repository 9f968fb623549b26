// What the stages buckets and specialize know and save writes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>
#include "deploy/manifest.h"

#include "buckets/marks/marks.h"
#include "buckets/repair/repair.h"
#include "driver/bucketing.h"
#include "driver/partitioned.h"
#include "driver/run.h"
#include "graphopt/error.h"
#include "onnx/writer.h"
#include "placement/assignment.h"
#include "runtime/inputs.h"

namespace graphopt {

// The model of one bucket. `work` owns what the other members refer to.
struct SpecializedModel {
  std::vector<std::int64_t> sizes;  // in the order of the marks' symbols
  std::unique_ptr<Work> work;
  LowerStage::Report lowered;
  PartitionedModel cut;
  std::vector<TypeOverride> types;          // that its file states
  std::optional<std::uint64_t> peak_bytes;  // of activations at once; none where a size is not a number
};

struct Specialized {
  BucketMarks marks;                        // from before load on: mistakes in them come first
  std::unique_ptr<PreparedModel> prepared;  // as it was loaded, with the symbols of the marks, and repaired
  Assignments assigned;                     // as it was loaded
  InputPlan plan;                           // inputs of promised extents, for --check
  Repaired repaired;                        // refers to `prepared`
  deploy::Buckets section;                  // of the manifest, without models and files
  std::unique_ptr<Work>
      base;  // what models are made of where OUT will not do: it is not repaired, calls functions
  std::vector<SpecializedModel> models;  // in lexicographic order of their sizes
  std::optional<Model> single;           // of --bucket-single: what is written for OUT

  const BucketSet& buckets() const { return repaired.decision.buckets; }
};

// How sure padding has to be harmless: what the options say, else the file of marks.
BucketRequire required(const Run& run);

// Returns a clone of a model that was made of the same file as that of `work`. Its dims know nothing of a
// run, and its inference has to be made.
std::unique_ptr<Work> work_beside(const Work& work, const Model& model);

// Makes the models of all buckets, several at a time: symbols bound, the passes of the options, cut for the
// devices of the run. Errors of single buckets name the bucket.
Result<std::vector<SpecializedModel>> specialize_models(const Run& run, const Specialized& s);

// Returns one model that chooses the bucket, pads and cuts. The models have been made.
Result<Model> single_model(const Run& run, const Specialized& s);

}  // namespace graphopt
