// bucketable(): loads, decides, and repairs if that is wanted; it writes nothing.
#include "graphopt/buckets.h"

#include <memory>
#include <new>

#include "deploy/bucket_report.h"
#include "deploy/make_buckets.h"
#include "driver/bucketing.h"
#include "driver/json.h"
#include "driver/reading.h"

namespace graphopt {
namespace {

Result<Bucketability> run(const BucketableOptions& options) {
  Result<BucketMarks> marks = read_marks(options.buckets, options.file, "--bucketable");
  if (!marks) return marks.errors();
  Result<ReadModel> read =
      read_for_view(options.model.input, options.model.external_root, options.model.dim_names);
  if (!read) return read.errors();
  Result<std::unique_ptr<PreparedModel>> p = prepare_buckets(std::move(read->model), *marks, {});
  if (!p) return p.errors();
  const bool repairs = (options.require ? options.require : marks->require) == BucketRequire::Repair;
  Result<Repaired> repaired = decide_or_repair((*p)->model, *(*p)->inference, *marks, repairs);
  if (!repaired) return repaired.errors();
  const deploy::BucketsSource source{(*p)->model, *(*p)->inference, *repaired, *marks};
  Bucketability out = report_of(deploy::make_buckets(source), repaired->decision.buckets.size());
  repaired->decision.choice.analysis.reset();
  if (options.model.process_ends) (void)p->release();
  return out;
}

}  // namespace

Result<Bucketability> bucketable(const BucketableOptions& options) {
  try {
    return run(options);
  } catch (const std::bad_alloc&) {
    return out_of_memory(options.model.input);
  }
}

std::string to_json(const Bucketability& b) { return json_text(bucketability_json(b)); }

}  // namespace graphopt
