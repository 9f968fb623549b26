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

std::vector<std::string> texts_of(const std::vector<deploy::LayoutTree>& layouts) {
  std::vector<std::string> out;
  for (const deploy::LayoutTree& l : layouts) out.push_back(l.text());
  return out;
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

Result<Repaired> decide_or_repair(PreparedModel& p, const BucketMarks& marks, bool repairs) {
  if (repairs) return repair(p.model, *p.inference, marks);
  Result<BucketDecision> decision = decide(p.model, *p.inference, marks);
  if (!decision) return decision.errors();
  Repaired out;
  out.decision = *std::move(decision);
  return out;
}

Bucketability report_of(const deploy::Buckets& section, std::uint64_t buckets) {
  Bucketability out;
  out.verdict = section.verdict;
  for (const deploy::Buckets::Symbol& s : section.symbols)
    out.symbols.push_back({s.name, s.sizes, s.low, s.high, s.fixed});
  out.groups = section.groups;
  out.where = section.where;
  out.buckets = buckets;
  for (const deploy::Buckets::Input& i : section.inputs)
    out.inputs.push_back({i.name, texts_of(i.dims), i.pad_class, i.pad});
  for (const deploy::Buckets::Output& o : section.outputs)
    out.outputs.push_back({o.name, o.dims, o.cut ? texts_of(*o.cut) : std::vector<std::string>(), !o.cut});
  for (const deploy::Constraint& c : section.constraints) out.constraints.push_back(c.text());
  for (const deploy::Buckets::Assumption& a : section.assumptions)
    out.assumptions.push_back({a.node, a.kind, a.text});
  if (const auto& r = section.refused)
    out.refused = {r->op,      r->node,  r->axis,   r->input,      r->reason,
                   r->content, r->needs, r->repair, r->unrepaired, r->remedy};
  for (const deploy::Buckets::Repair& r : section.repairs)
    out.repairs.push_back({r.op, r.node, r.kind, r.text});
  for (const deploy::Buckets::ExtraInput& i : section.extra_inputs)
    out.extra_inputs.push_back({i.name, i.symbol});
  return out;
}

}  // namespace graphopt
