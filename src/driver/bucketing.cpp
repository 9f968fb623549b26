#include "driver/bucketing.h"

#include <algorithm>
#include <string>
#include <utility>

#include "buckets/marks/parse_marks.h"
#include "buckets/promise.h"
#include "buckets/symbols.h"
#include "passes/inline_functions.h"
#include "passes/pipeline.h"

namespace graphopt {
namespace {

// Returns both; a symbol that has marks may not have a size of its own beside them.
Result<InferOptions> join(const Model& m, InferOptions promises, const InferOptions& bound,
                          const BucketMarks& marks) {
  for (const InferOptions::DimRange& given : bound.ranges) {
    const bool is_marked = std::ranges::any_of(marks.groups, [&](const BucketGroup& g) {
      return std::ranges::find(g.symbols, given.symbol) != g.symbols.end();
    });
    if (is_marked)
      return Error{ErrorKind::Usage,
                   {m.file, {}, {}, {}, {}},
                   "'" + given.symbol + "' has a size by --dim or --shape and sizes by --bucket",
                   "leave one of them out: --bucket " + given.symbol + '=' +
                       std::to_string(given.range.high) + " makes models of that size"};
    std::erase_if(promises.ranges, [&](const InferOptions::DimRange& r) { return r.symbol == given.symbol; });
    promises.ranges.push_back(given);
  }
  promises.shapes = bound.shapes;
  return promises;
}

}  // namespace

Result<BucketMarks> read_marks(const std::vector<std::string>& marks, const std::string& file,
                               std::string_view option) {
  Result<BucketMarks> read = parse_marks(marks, file);
  if (!read || !read->groups.empty()) return read;
  return Error{ErrorKind::Usage,
               {file, {}, {}, {}, {}},
               std::string(option) + ": no sizes are given",
               "add --bucket SYMBOL=SIZES, as in seq=16..512:pow2, or groups to the file of --buckets"};
}

Result<std::unique_ptr<PreparedModel>> prepare_buckets(Model model, const BucketMarks& marks,
                                                       const InferOptions& bound) {
  auto p = std::make_unique<PreparedModel>();
  p->model = std::move(model);
  if (Status ok = prepare_symbols(p->model, marks); !ok) return ok.errors();
  Result<InferOptions> options = join(p->model, promised(p->model, marks), bound, marks);
  if (!options) return options.errors();
  p->inference.emplace(p->model, *std::move(options));
  p->inference->run();
  // The analysis looks into no function.
  if (p->model.function_count() > 0) {
    PipelineOptions inlining;
    inlining.passes = {"dead-code"};
    const std::unique_ptr<Pass> inline_calls = inline_every_function.make();
    inlining.added = {&inline_every_function, inline_calls.get()};
    if (Result<PipelineReport> done = run_pipeline(p->model, *p->inference, inlining); !done)
      return done.errors();
    p->inference->run();
  }
  return p;
}

}  // namespace graphopt
