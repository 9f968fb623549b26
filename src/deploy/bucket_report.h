// The verdict about buckets as the public report has it, and as JSON: in `inspect --bucketable` and in the
// report of a run.
#pragma once

#include <cstdint>

#include "deploy/manifest.h"
#include "graphopt/stages/buckets.h"
#include "support/json_text.h"

namespace graphopt {

// Returns what the report says of buckets; `buckets`: how many there are.
Bucketability report_of(const deploy::Buckets& section, std::uint64_t buckets);

Json bucketability_json(const Bucketability& b);
// Returns the field `buckets` of the report.
nlohmann::json buckets_json(const Bucketability& report);

}  // namespace graphopt
