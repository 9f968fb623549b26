#include "buckets/decision.h"

#include <algorithm>
#include <utility>

#include "buckets/promise.h"
#include "infer/multiply_adds.h"

namespace graphopt {
namespace {

// Returns the work of a run by the extent of one symbol: its multiplications, the other marked symbols being
// as large as they get. Nothing where they have no formula or do not depend on it: then the length counts.
class WorkBySymbol {
 public:
  WorkBySymbol(Model& m, const Inference& inference, const BucketMarks& marks)
      : m_(m), count_(multiply_adds(m, inference).count) {
    if (!count_) return;
    for (const DimId s : m.dims.symbols_of(count_)) others_.push_back({s, 1});
    for (const BucketGroup& group : marks.groups)
      for (const std::string& name : group.symbols) set(others_, m.dims.find_symbol(name), group.range.high);
  }

  LengthWork of(std::string_view symbol) const {
    const DimId s = m_.dims.find_symbol(symbol);
    if (!s || !count_ || std::ranges::find(others_, s, &DimPool::Binding::symbol) == others_.end()) return {};
    return [this, s, values = others_](std::int64_t length) mutable -> std::int64_t {
      set(values, s, length);
      const auto count = m_.dims.evaluate(count_, values);
      // Not representable: too long for any other length to matter.
      return count ? std::max<std::int64_t>(*count, 0) : std::int64_t{1} << 62;
    };
  }

 private:
  static void set(std::vector<DimPool::Binding>& values, DimId symbol, std::int64_t value) {
    const auto at = std::ranges::find(values, symbol, &DimPool::Binding::symbol);
    if (at != values.end()) at->value = value;
  }

  Model& m_;
  DimId count_;
  std::vector<DimPool::Binding> others_;
};

}  // namespace

Result<BucketDecision> decide(Model& m, const Inference& inference, const BucketMarks& marks,
                              std::map<ValueId, DimId> lengths) {
  std::optional<WorkBySymbol> work;  // asked for by histograms alone
  if (std::ranges::any_of(marks.groups, [](const BucketGroup& g) { return g.method == BucketMethod::Hist; }))
    work.emplace(m, inference, marks);
  Result<std::vector<BucketSymbol>> lists = bucket_symbols(
      marks, [&work](std::string_view symbol) { return work ? work->of(symbol) : LengthWork(); });
  if (!lists) return lists.errors();
  Result<PaddingOptions> options = padding_options(m, marks);
  if (!options) return options.errors();
  options->lengths = std::move(lengths);
  BucketDecision out;
  out.lists = *std::move(lists);
  for (const BucketSymbol& s : out.lists) out.symbols.push_back(m.dims.find_symbol(s.name));
  out.choice = choose_padding(m, inference, *std::move(options));
  Result<BucketSet> buckets = make_buckets(marks, out.lists, m.dims, out.choice.analysis->divisibilities());
  if (!buckets) return buckets.errors();
  out.buckets = *std::move(buckets);
  const PaddingAnalysis& analysis = *out.choice.analysis;
  if (const Contamination* refusal = analysis.refusal()) out.refusal = *refusal;
  else out.refusal = broken_promise(m, {marks, out.symbols, out.lists, out.buckets, analysis.index_limits()});
  if (!out.refusal)
    out.verdict = analysis.assumptions().empty() ? BucketVerdict::Proved : BucketVerdict::Assumed;
  return out;
}

std::string label_of(const Model& m, NodeId n) {
  if (!n) return {};
  std::string own(m.text(m.node(n).name));
  if (!own.empty()) return own;
  for (const ValueId v : m.outputs(n))
    if (v) return std::string(m.text(m.value(v).name));
  return {};
}

std::vector<std::string> layouts_of(const PaddingAnalysis& analysis, ValueId v) {
  std::vector<std::string> out;
  for (const LayoutId l : analysis.value(v).layouts)
    out.push_back(l ? analysis.layouts().text(l) : std::string("?"));
  return out;
}

std::vector<OutputCut> cuts_of(const Model& m, const PaddingAnalysis& analysis) {
  std::vector<OutputCut> out;
  for (std::size_t i = 0; i < m.graph_output_count(m.main()); ++i) {
    OutputCut& cut = out.emplace_back();
    cut.output = m.graph_output(m.main(), i);
    cut.layouts = analysis.value(cut.output).layouts;
    for (const LayoutId l : cut.layouts) {
      if (!l) continue;  // of an input that is refused and an output, too
      const LayoutKind kind = analysis.layouts()[l].kind;
      cut.is_prefix = cut.is_prefix && (kind == LayoutKind::Same || kind == LayoutKind::Prefix);
    }
  }
  return out;
}

}  // namespace graphopt
