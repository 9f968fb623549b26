// A model that is prepared for a bucket spec: for `inspect --bucketable` and the stages buckets and
// specialize.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "buckets/marks/marks.h"
#include "buckets/repair/repair.h"
#include "graphopt/error.h"
#include "graphopt/stages/buckets.h"
#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

// A model with its inference; they move and are destroyed together.
struct PreparedModel {
  Model model;
  std::optional<Inference> inference;
};

// Reads the marks of the command line and of a file. ErrorKind::Usage where they name no sizes; `option` is
// what asked for them.
Result<BucketMarks> read_marks(const std::vector<std::string>& marks, const std::string& file,
                               std::string_view option);

// Returns the model with the symbols of the marks, every function call replaced by its body, and inference
// run with the promised ranges. `bound`: what --dim and --shape say. ErrorKind::Usage where they speak of a
// symbol that has marks.
Result<std::unique_ptr<PreparedModel>> prepare_buckets(Model model, const BucketMarks& marks,
                                                       const InferOptions& bound);

}  // namespace graphopt
