// See make_buckets.h.
#include "deploy/make_buckets.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "buckets/marks/shape_filter.h"

namespace graphopt::deploy {
namespace {

PadClass class_of(PadElement::Kind kind) {
  switch (kind) {
    case PadElement::Kind::Number: return PadClass::Const;
    case PadElement::Kind::Finite: return PadClass::Finite;
    case PadElement::Kind::Any: return PadClass::Any;
  }
  return PadClass::None;
}

class BucketsMaker {
 public:
  explicit BucketsMaker(const BucketsSource& source)
      : m_(source.model), s_(source), d_(source.repaired.decision), analysis_(*d_.choice.analysis) {}

  Buckets run() {
    out_.verdict = d_.verdict;
    symbols();
    inputs();
    fixed_inputs();
    if (d_.refusal) out_.refused = refusal(*d_.refusal);
    if (!d_.refusal || s_.forced) outputs();
    for (const RepairedNode& r : s_.repaired.steps) out_.repairs.push_back({r.node, r.op, r.kind, r.text});
    for (const LengthInput& l : s_.repaired.lengths)
      out_.extra_inputs.push_back({name(l.input), std::string(m_.dims.symbol_name(l.symbol))});
    return std::move(out_);
  }

 private:
  std::string name(ValueId v) const { return std::string(m_.text(m_.value(v).name)); }
  Extent extent(DimId d) const { return d ? m_.dims.print(d) : std::string(kUnknownExtent); }

  std::vector<LayoutTree> layouts(std::span<const LayoutId> of) const {
    std::vector<LayoutTree> out;
    for (const LayoutId l : of) out.push_back(layout_tree(analysis_.layouts(), m_.dims, l));
    return out;
  }

  void symbols() {
    const auto& lists = d_.buckets.symbols.empty() ? d_.lists : d_.buckets.symbols;
    for (const BucketSymbol& s : lists)
      out_.symbols.push_back({s.name, s.values, s.range.low, s.range.high, s.fixed});
    for (const BucketGroup& g : s_.marks.groups) out_.groups.push_back(g.symbols);
    if (s_.marks.where.empty()) return;
    const auto filter = ShapeFilter::parse(s_.marks.where, d_.lists, s_.marks.dims);
    if (filter) out_.where = filter->canonical();
  }

  void inputs() {
    for (const PaddingChoice::Input& i : d_.choice.inputs)
      out_.inputs.push_back({name(i.input), layouts(analysis_.value(i.input).layouts),
                             class_of(i.element.kind), i.element.number});
  }

  // Inputs without padding whose extents have a symbol of the buckets, a fixed one.
  void fixed_inputs() {
    for (const ValueId v : m_.graph_inputs(m_.main())) {
      if (std::ranges::any_of(d_.choice.inputs, [v](const auto& i) { return i.input == v; })) continue;
      Buckets::Input input{.name = name(v), .dims = {}, .pad_class = PadClass::None, .pad = 0};
      bool has_symbol = false;
      for (const DimId d : m_.types[m_.value(v).declared].dims) {
        input.dims.push_back({.kind = LayoutTree::Kind::Extent, .extent = extent(d), .parts = {}});
        for (const DimId s : d ? m_.dims.symbols_of(d) : std::vector<DimId>())
          has_symbol = has_symbol || std::ranges::find(d_.symbols, s) != d_.symbols.end();
      }
      if (has_symbol) out_.inputs.push_back(std::move(input));
    }
  }

  void outputs() {
    for (const OutputCut& cut : cuts_of(m_, analysis_)) {
      Buckets::Output& o = out_.outputs.emplace_back();
      o.name = name(cut.output);
      if (!analysis_.value(cut.output).known) {
        // What inference knows where the analysis gave up: the extents, not where elements lie.
        for (const DimId d : s_.inference.type_of(cut.output).dims) o.dims.push_back(extent(d));
        continue;
      }
      for (const LayoutId l : cut.layouts)
        o.dims.push_back(extent(l ? analysis_.layouts().extent(l) : DimId{}));
      if (!cut.is_prefix) o.cut = layouts(cut.layouts);
    }
    for (const Divisibility& d : analysis_.divisibilities())
      out_.constraints.push_back({extent(d.extent), d.divisor});
    for (const Assumption& a : analysis_.assumptions())
      out_.assumptions.push_back({label_of(m_, a.node), a.kind, a.text});
  }

  Buckets::Refusal refusal(const Contamination& c) const {
    Buckets::Refusal r{.reason = c.reason,
                       .node = label_of(m_, c.node),
                       .op = {},
                       .axis = c.axis,
                       .input = {},
                       .content = c.content,
                       .needs = c.needs,
                       .repair = c.repair,
                       .unrepaired = s_.repaired.unrepaired,
                       .remedy = c.remedy};
    if (c.node) {
      r.op = std::string(m_.text(m_.op(c.node).type));
      const std::size_t operand = c.places.empty() ? 0 : c.places.front().operand;
      if (const ValueId v = m_.input(c.node, operand)) r.input = name(v);
    }
    if (r.repair && r.unrepaired.empty())
      r.remedy = "--bucket-require repair may mend such nodes; the model then takes true extents as inputs";
    else if (r.remedy.empty())
      r.remedy = "mark other symbols, or mark this one as 'fixed'; docs/buckets.md says what helps";
    for (const BucketGroup& g : s_.marks.groups)
      if (!g.fixed && g.range.low == 0) {
        r.remedy = "the sizes of " + g.symbols.front() +
                   " begin with 0, an axis without elements: let them begin with 1 if no run has it; else " +
                   r.remedy;
        break;
      }
    return r;
  }

  const Model& m_;
  const BucketsSource& s_;
  const BucketDecision& d_;
  const PaddingAnalysis& analysis_;
  Buckets out_;
};

}  // namespace

Buckets make_buckets(const BucketsSource& source) { return BucketsMaker(source).run(); }

}  // namespace graphopt::deploy
