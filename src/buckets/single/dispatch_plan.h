// What a model with a branch per bucket is made from: which shapes were promised, how inputs are padded and
// outputs are cut. Plain data that owns its dims, so that the model that was analysed may change or go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "buckets/decision.h"
#include "buckets/marks/shape_filter.h"
#include "buckets/padding/layout.h"
#include "graphopt/error.h"
#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

// Of a model that dispatches: from this opset on, all operators that are written have the same form.
inline constexpr std::int64_t kDispatchOpset = 11;

// A layout (padding/layout.h) with what it is made of.
struct AxisPlace {
  LayoutKind kind = LayoutKind::Same;
  bool padded = false;
  DimId extent;  // of the true run; none where no formula says it, which is never so where it is padded
  std::vector<AxisPlace> parts;
};

struct DispatchPlan {
  struct Input {
    std::string name;
    DType type = DType::Undefined;
    std::vector<DimId> dims;      // as declared; none: open
    std::vector<AxisPlace> axes;  // empty where no axis is padded
    double pad = 0;
  };
  struct Output {
    std::string name;
    std::vector<AxisPlace> axes;  // empty where no axis is padded
  };
  // An input of the bucket models that holds a true extent; the dynamic model has none of that name.
  struct Length {
    std::string input;
    DimId symbol;
  };

  std::string file;            // of the model, for messages
  DimPool dims;                // of all ids here; symbols have the ranges that were promised
  std::vector<DimId> symbols;  // that have buckets, in the order of the bucket set
  std::vector<DimId> others;   // further symbols of the inputs
  BucketSet buckets;
  std::vector<Divisibility> multiples;
  std::optional<ShapeFilter> filter;
  std::vector<Input> inputs;  // tensors of known rank
  std::vector<Output> outputs;
  std::vector<Length> lengths;
};

// The model that was analysed, its inference, and what was decided. ErrorKind::Usage for what a single model
// cannot say: a refused decision, outputs that are no tensors, an output that is cut where data decide, a pad
// element that no operator writes.
Result<DispatchPlan> plan_dispatch(const Model& m, const Inference& inference, const BucketDecision& decision,
                                   const BucketMarks& marks);

// Returns the bytes of one element of that type; none where the type does not hold the number.
std::optional<std::string> pad_element(DType type, double number);

}  // namespace graphopt
