#include "buckets/repair/repair.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "buckets/promise.h"
#include "buckets/repair/rules.h"
#include "ops/hidden_operators.h"

namespace graphopt {
namespace {

constexpr std::size_t kMostRepairs = 1000;

class Repairer {
 public:
  Repairer(Model& m, Inference& inference, const BucketMarks& marks, std::span<const PaddedSymbol> padded)
      : m_(m), inference_(inference), marks_(marks), extents_(m, inference, padded), masks_(m, extents_) {}

  Result<Repaired> run() {
    while (true) {
      if (auto error = decide_again()) return *std::move(error);
      if (!out_.decision.refusal) break;
      if (!step(*out_.decision.refusal)) break;
      inference_.run();
    }
    out_.lengths.assign(extents_.lengths().begin(), extents_.lengths().end());
    if (!out_.decision.refusal) refuse_unproved();
    return std::move(out_);
  }

 private:
  std::optional<Errors> decide_again() {
    std::map<ValueId, DimId> lengths;
    for (const LengthInput& l : extents_.lengths()) lengths.emplace(l.input, l.symbol);
    out_.decision = {};
    Result<BucketDecision> decided = decide(m_, inference_, marks_, std::move(lengths));
    if (!decided) return decided.errors();
    out_.decision = *std::move(decided);
    return std::nullopt;
  }

  bool stuck(std::string why) {
    out_.unrepaired = std::move(why);
    return false;
  }

  bool step(const Contamination& why) {
    if (!why.node) return stuck("no node is to blame");
    if (!why.repair) return stuck("no repair is known for this");
    if (const FunctionId f = hidden_operator(m_))
      return stuck("the function '" + std::string(m_.text(m_.function(f).name)) +
                   "' of the model has the name of an operator, so that no operators are written");
    if (out_.steps.size() == kMostRepairs)
      return stuck("it needs more than " + std::to_string(kMostRepairs) + " repairs");
    if (!is_new(why)) return stuck("it has been repaired, which did not suffice");
    RepairContext r(m_, inference_, extents_, masks_, *out_.decision.choice.analysis, why);
    RepairedNode done{label_of(m_, why.node), std::string(m_.text(m_.op(why.node).type)), *why.repair, {}};
    if (!apply(r)) return stuck(r.text);
    done.text = r.text;
    out_.steps.push_back(std::move(done));
    return true;
  }

  // Precondition: a repair is known.
  static bool apply(RepairContext& r) {
    switch (*r.refusal.repair) {
      case BucketRepair::Mask:
      case BucketRepair::MaskProduct: return repairs::mask(r);
      case BucketRepair::TrueMean: return repairs::true_mean(r);
      case BucketRepair::TrueStatistics: return repairs::true_statistics(r);
      case BucketRepair::LastIndex: return repairs::last_index(r);
      case BucketRepair::Lengths: return repairs::lengths(r);
    }
    return r.refuse("no repair is known for this");
  }

  // Returns false if this place of the node has been rewritten this way before.
  bool is_new(const Contamination& why) {
    if (why.places.empty()) return seen_.insert({why.node, *why.repair, why.axis, -1}).second;
    bool any = false;
    for (const Contamination::Place& p : why.places)
      for (const int axis : p.axes)
        if (seen_.insert({why.node, *why.repair, axis, static_cast<int>(p.operand)}).second) any = true;
    return any;
  }

  // The run on true data must be that of the original, which the proof about two runs of the repaired model
  // does not say: masks select all there, and numbers are the extents.
  void refuse_unproved() {
    const PaddingAnalysis& analysis = *out_.decision.choice.analysis;
    const auto extent = extents_.mistake(analysis);
    if (!extent && !masks_.mistaken(analysis)) return;
    Contamination why;
    why.reason = extent ? "a repair computes a number that is not proved to be the true extent " + *extent
                        : "a mask of a repair is not proved to show all true elements";
    out_.decision.refusal = std::move(why);
    out_.decision.verdict = BucketVerdict::Refused;
    stuck("the repaired model may differ from the original on true data");
  }

  Model& m_;
  Inference& inference_;
  const BucketMarks& marks_;
  ExtentValues extents_;
  Masks masks_;
  Repaired out_;
  std::set<std::tuple<NodeId, BucketRepair, int, int>> seen_;
};

}  // namespace

Result<Repaired> repair(Model& m, Inference& inference, const BucketMarks& marks) {
  const Result<PaddingOptions> options = padding_options(m, marks);
  if (!options) return options.errors();
  return Repairer(m, inference, marks, options->symbols).run();
}

Result<Repaired> decide_or_repair(Model& m, Inference& inference, const BucketMarks& marks, bool repairs) {
  if (repairs) return repair(m, inference, marks);
  Result<BucketDecision> decision = decide(m, inference, marks);
  if (!decision) return decision.errors();
  Repaired out;
  out.decision = *std::move(decision);
  return out;
}

}  // namespace graphopt
