#include "driver/bucketing.h"

#include <algorithm>
#include <string>
#include <utility>

#include "passes/inline_functions.h"
#include "passes/pipeline.h"
#include "specialize/marks/parse_marks.h"
#include "specialize/marks/shape_filter.h"

namespace graphopt {
namespace {

std::string_view verdict_name(BucketVerdict v) {
  switch (v) {
    case BucketVerdict::Proved: return "proved";
    case BucketVerdict::Assumed: return "assumed";
    case BucketVerdict::Refused: return "refused";
  }
  return {};
}

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

class Teller {
 public:
  Teller(const PreparedModel& p, const Repaired& r, const BucketMarks& marks)
      : m_(p.model), inference_(*p.inference), r_(r), d_(r.decision), marks_(marks) {}

  Bucketability all(bool forced) {
    out_.verdict = verdict_name(d_.verdict);
    if (!marks_.where.empty())
      if (const auto filter = ShapeFilter::parse(marks_.where, d_.lists, marks_.dims))
        out_.where = filter->canonical();
    out_.buckets = d_.buckets.size();
    symbols();
    inputs();
    sized_inputs();
    if (d_.refusal) refusal(*d_.refusal);
    if (!d_.refusal || forced) outputs();
    for (const RepairedNode& s : r_.steps)
      out_.repairs.push_back({s.op, s.node, std::string(repair_name(s.kind)), s.text});
    for (const LengthInput& l : r_.lengths)
      out_.extra_inputs.push_back({name(l.input), std::string(m_.dims.symbol_name(l.symbol))});
    return std::move(out_);
  }

 private:
  std::string name(ValueId v) const { return std::string(m_.text(m_.value(v).name)); }

  std::string name(NodeId n) const { return label_of(m_, n); }

  void symbols() {
    for (const BucketGroup& g : marks_.groups) out_.groups.push_back(g.symbols);
    const auto& lists = d_.buckets.symbols.empty() ? d_.lists : d_.buckets.symbols;
    for (const BucketSymbol& s : lists)
      out_.symbols.push_back({s.name, s.values, s.range.low, s.range.high, s.fixed});
  }

  void inputs() {
    for (const PaddingChoice::Input& i : d_.choice.inputs) {
      const std::string_view kind = i.element.kind == PadElement::Kind::Number   ? "const"
                                    : i.element.kind == PadElement::Kind::Finite ? "finite"
                                                                                 : "any";
      out_.inputs.push_back(
          {name(i.input), layouts_of(*d_.choice.analysis, i.input), i.element.number, std::string(kind)});
    }
  }

  void sized_inputs() {
    for (const ValueId v : m_.graph_inputs(m_.main())) {
      const auto is_this = [v](const PaddingChoice::Input& i) { return i.input == v; };
      if (std::ranges::any_of(d_.choice.inputs, is_this)) continue;
      bool has_mark = false;
      std::vector<std::string> extents;
      for (const DimId d : m_.types[m_.value(v).declared].dims) {
        extents.push_back(d ? m_.dims.print(d) : std::string("?"));
        for (const DimId s : d ? m_.dims.symbols_of(d) : std::vector<DimId>())
          has_mark = has_mark || std::ranges::find(d_.symbols, s) != d_.symbols.end();
      }
      if (has_mark) out_.sized_inputs.push_back({name(v), std::move(extents)});
    }
  }

  void outputs() {
    const PaddingAnalysis& a = *d_.choice.analysis;
    for (OutputCut& cut : cuts_of(m_, a)) {
      if (!a.value(cut.output).known) cut = whole_extents(cut.output);
      out_.outputs.push_back(
          {name(cut.output), std::move(cut.extents), std::move(cut.layouts), cut.is_prefix});
    }
    for (const Divisibility& d : a.divisibilities())
      out_.constraints.push_back("(" + m_.dims.print(d.extent) + ") mod " + std::to_string(d.divisor) +
                                 " == 0");
    for (const Assumption& s : a.assumptions())
      out_.assumptions.push_back(
          {name(s.node),
           s.kind == Assumption::Kind::MaskDominates ? "mask-dominates" : "indices-not-negative", s.text});
  }

  // What inference knows where the analysis gave up: the formulas of the extents, not where elements lie.
  OutputCut whole_extents(ValueId output) const {
    OutputCut out{.output = output, .extents = {}, .layouts = {}};
    for (const DimId d : inference_.type_of(output).dims)
      out.extents.push_back(d ? m_.dims.print(d) : std::string("?"));
    return out;
  }

  void refusal(const Contamination& c) {
    Bucketability::Refusal& r = out_.refused;
    r.node = name(c.node);
    if (c.node) {
      r.op = std::string(m_.text(m_.op(c.node).type));
      const std::size_t operand = c.places.empty() ? 0 : c.places.front().operand;
      if (const ValueId v = m_.input(c.node, operand)) r.input = name(v);
    }
    r.axis = c.axis;
    r.reason = c.reason;
    r.content = c.content;
    r.needs = c.needs;
    r.repair = repair_name(c.repair);
    r.unrepaired = r_.unrepaired;
    const bool repairable = !r.repair.empty() && r.unrepaired.empty();
    r.remedy = repairable ? "--bucket-repair may mend such nodes; the model then takes true extents as inputs"
               : c.remedy.empty()
                   ? "mark other symbols, or mark this one as 'fixed'; docs/buckets.md says what helps"
                   : c.remedy;
    for (const BucketGroup& g : marks_.groups)
      if (!g.fixed && g.range.low == 0) {
        r.remedy = "the sizes of " + g.symbols.front() +
                   " begin with 0, an axis without elements: let them begin "
                   "with 1 if no run has it; else " +
                   r.remedy;
        break;
      }
  }

  const Model& m_;
  const Inference& inference_;
  const Repaired& r_;
  const BucketDecision& d_;
  const BucketMarks& marks_;
  Bucketability out_;
};

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

Bucketability tell(const PreparedModel& p, const Repaired& repaired, const BucketMarks& marks, bool forced) {
  return Teller(p, repaired, marks).all(forced);
}

}  // namespace graphopt
