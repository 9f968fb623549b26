// bucketable(): loads, decides, and tells; it changes nothing.
#include "graphopt/buckets.h"

#include <cmath>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>

#include "driver/json.h"
#include "driver/reading.h"
#include "passes/inline_functions.h"
#include "passes/pipeline.h"
#include "specialize/decision.h"
#include "specialize/marks/parse_marks.h"

namespace graphopt {
namespace {

std::string_view verdict_name(Verdict v) {
  switch (v) {
    case Verdict::Proved: return "proved";
    case Verdict::Assumed: return "assumed";
    case Verdict::Refused: return "refused";
  }
  return {};
}

std::string_view repair_name(Repair r) {
  switch (r) {
    case Repair::Mask: return "mask";
    case Repair::MaskProduct: return "mask-product";
    case Repair::TrueMean: return "true-mean";
    case Repair::LastIndex: return "last-index";
    case Repair::Lengths: return "lengths";
    case Repair::None: break;
  }
  return {};
}

// A model with its inference; they move and are destroyed together.
struct Prepared {
  Model model;
  std::optional<Inference> inference;
};

Result<std::unique_ptr<Prepared>> prepare(Model model, const BucketMarks& marks) {
  auto p = std::make_unique<Prepared>();
  p->model = std::move(model);
  if (Status ok = prepare_symbols(p->model, marks); !ok) return ok.errors();
  p->inference.emplace(p->model, promised(p->model, marks));
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

class Teller {
 public:
  Teller(const Prepared& p, const BucketDecision& d, const BucketMarks& marks)
      : m_(p.model), d_(d), marks_(marks) {}

  Bucketability all() {
    out_.verdict = verdict_name(d_.verdict);
    out_.where = marks_.where;
    out_.buckets = d_.buckets.size();
    symbols();
    inputs();
    if (d_.refusal) refusal(*d_.refusal);
    else outputs();
    return std::move(out_);
  }

 private:
  std::string name(ValueId v) const { return std::string(m_.text(m_.value(v).name)); }

  // A node without a name is known by its first result.
  std::string name(NodeId n) const {
    if (!n) return {};
    std::string own(m_.text(m_.node(n).name));
    if (!own.empty()) return own;
    for (const ValueId v : m_.outputs(n))
      if (v) return name(v);
    return {};
  }

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

  void outputs() {
    const PaddingAnalysis& a = *d_.choice.analysis;
    for (OutputCut& cut : cuts_of(m_, a))
      out_.outputs.push_back(
          {name(cut.output), std::move(cut.extents), std::move(cut.layouts), cut.is_prefix});
    for (const Divisibility& d : a.divisibilities())
      out_.constraints.push_back("(" + m_.dims.print(d.extent) + ") mod " + std::to_string(d.divisor) +
                                 " == 0");
    for (const Assumption& s : a.assumptions())
      out_.assumptions.push_back(
          {name(s.node),
           s.kind == Assumption::Kind::MaskDominates ? "mask-dominates" : "indices-not-negative", s.text});
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
  }

  const Model& m_;
  const BucketDecision& d_;
  const BucketMarks& marks_;
  Bucketability out_;
};

Result<Bucketability> run(const BucketableOptions& options) {
  Result<BucketMarks> marks = parse_marks(options.buckets, options.file);
  if (!marks) return marks.errors();
  if (marks->groups.empty())
    return Error{ErrorKind::Usage,
                 {options.file, {}, {}, {}, {}},
                 "--bucketable: no sizes are given",
                 "add --bucket SYMBOL=SIZES, as in seq=16..512:pow2, or groups to the file of --buckets"};
  Result<ReadModel> read =
      read_for_view(options.model.input, options.model.external_root, options.model.dim_names);
  if (!read) return read.errors();
  Result<std::unique_ptr<Prepared>> p = prepare(std::move(read->model), *marks);
  if (!p) return p.errors();
  Result<BucketDecision> decision = decide((*p)->model, *(*p)->inference, *marks);
  if (!decision) return decision.errors();
  Bucketability out = Teller(**p, *decision, *marks).all();
  decision->choice.analysis.reset();
  if (options.model.process_ends) (void)p->release();
  return out;
}

Json number_of(double v) {
  if (std::isinf(v)) return json_number(v);
  return std::floor(v) == v && std::fabs(v) < 1e15 ? Json(static_cast<std::int64_t>(v)) : Json(v);
}

}  // namespace

Result<Bucketability> bucketable(const BucketableOptions& options) {
  try {
    return run(options);
  } catch (const std::bad_alloc&) {
    return out_of_memory(options.model.input);
  }
}

std::string to_json(const Bucketability& b) {
  Json j;
  j["verdict"] = b.verdict;
  j["symbols"] = Json::object();
  j["fixed"] = Json::array();
  j["groups"] = b.groups;
  j["ranges"] = Json::object();
  for (const Bucketability::Symbol& s : b.symbols) {
    j["symbols"][s.name] = s.sizes;
    j["ranges"][s.name] = {s.low, s.high};
    if (s.fixed) j["fixed"].push_back(s.name);
  }
  if (!b.where.empty()) j["where"] = b.where;
  j["buckets"] = b.buckets;
  j["inputs"] = Json::object();
  for (const Bucketability::Input& i : b.inputs)
    j["inputs"][i.name] = {
        {"dims", i.layouts}, {"pad", number_of(i.pad)}, {"pad_class", i.pad_class}, {"side", "end"}};
  j["outputs"] = Json::object();
  for (const Bucketability::Output& o : b.outputs)
    j["outputs"][o.name] = {{"dims", o.extents}, {"cut", o.is_prefix ? Json("prefix") : Json(o.layouts)}};
  j["constraints"] = b.constraints;
  j["assumptions"] = Json::array();
  for (const Bucketability::Assumption& a : b.assumptions)
    j["assumptions"].push_back({{"node", a.node}, {"kind", a.kind}, {"text", a.text}});
  if (b.verdict == "refused") {
    Json r = {{"reason", b.refused.reason}};
    if (!b.refused.node.empty()) r["node"] = b.refused.node;
    if (!b.refused.op.empty()) r["operator"] = b.refused.op;
    if (b.refused.axis >= 0) r["axis"] = b.refused.axis;
    if (!b.refused.input.empty()) r["input"] = b.refused.input;
    if (!b.refused.content.empty()) r["content"] = b.refused.content;
    if (!b.refused.needs.empty()) r["needs"] = b.refused.needs;
    if (!b.refused.repair.empty()) r["repair"] = b.refused.repair;
    j["refused"] = std::move(r);
  }
  return json_text(j);
}

}  // namespace graphopt
