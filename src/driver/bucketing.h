// Marks of buckets on a model, and the verdict as the public report has it: for `inspect --bucketable` and
// the stages buckets and specialize.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "buckets/marks/marks.h"
#include "buckets/repair/repair.h"
#include "deploy/manifest.h"
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

// Decides. `repairs`: nodes that padding would disturb are repaired in place, as far as that helps.
Result<Repaired> decide_or_repair(PreparedModel& p, const BucketMarks& marks, bool repairs);

// Returns what the report says of buckets; `buckets`: how many there are.
Bucketability report_of(const deploy::Buckets& section, std::uint64_t buckets);

nlohmann::ordered_json bucketability_json(const Bucketability& b);

}  // namespace graphopt
