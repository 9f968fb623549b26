// Whether a model can be compiled per bucket of shapes: the answer of `graphopt inspect --bucketable`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graphopt/error.h"
#include "graphopt/inspect.h"
#include "graphopt/stages/buckets.h"

namespace graphopt {

struct BucketableOptions {
  InspectOptions model;
  std::vector<std::string> buckets;  // --bucket 'seq=16..512:pow2'
  std::string file;                  // --buckets FILE
  // What the verdict is about: with Repair the model as repairs would make it. None: what the file says.
  std::optional<BucketRequire> require;
};

// ErrorKind::Usage for marks that are wrong or do not fit the model.
Result<Bucketability> bucketable(const BucketableOptions& options);
std::string to_json(const Bucketability& b);

}  // namespace graphopt
