#include "buckets/repair/extents.h"

#include <algorithm>

namespace graphopt {
namespace {

constexpr int kMostCalls = 16;  // of calls within calls

}  // namespace

ExtentValues::ExtentValues(Model& m, const Inference& inference, std::span<const PaddedSymbol> padded)
    : m_(m),
      inference_(inference),
      front_(Emitter::in_front(m, "bucket")),
      of_true_run_(front_, m.dims, FormulaWriter::Form::Number,
                   [this](DimId s) { return symbol_value(s, ExtentOf::TrueRun); }),
      of_this_run_(front_, m.dims, FormulaWriter::Form::Number,
                   [this](DimId s) { return symbol_value(s, ExtentOf::ThisRun); }) {
  for (const PaddedSymbol& s : padded) padded_.push_back(s.symbol);
}

bool ExtentValues::is_padded(DimId symbol) const {
  return std::ranges::find(padded_, symbol) != padded_.end();
}

std::optional<ExtentValues::DimPlace> ExtentValues::place_of(DimId symbol) const {
  for (const ValueId v : m_.graph_inputs(m_.main())) {
    const auto dims = inference_.dims(v);
    for (std::size_t i = 0; i < dims.size(); ++i)
      if (dims[i] && m_.dims.canonical(dims[i]) == symbol) return DimPlace{v, static_cast<std::int64_t>(i)};
  }
  return std::nullopt;
}

// --- whether it can be written -----------------------------------------------------------------------------

std::string ExtentValues::obstacle(const DimFactor& f, ExtentOf run, int depth) const {
  const std::string text = m_.dims.print(f.self);
  if (f.kind == DimFactor::Kind::Symbol) {
    if (run == ExtentOf::TrueRun && is_padded(f.self)) return {};
    return place_of(f.self) ? std::string() : "no dim of an input is just " + text;
  }
  for (const DimId d : f.operands)
    if (std::string why = obstacle(d, run, depth + 1); !why.empty()) return why;
  if (f.kind != DimFactor::Kind::FloorDiv)  // Min and Max take integers from there on
    return front_.opset() >= 12 ? std::string()
                                : "opset " + std::to_string(front_.opset()) + " has no " + text;
  const bool is_plain = f.operands.size() == 2 && m_.dims.value(f.operands[1]).value_or(0) > 0 &&
                        m_.dims.range(f.operands[0]).low >= 0;
  return is_plain ? std::string() : "the division in " + text + " may round another way";
}

std::string ExtentValues::obstacle(DimId extent, ExtentOf run, int depth) const {
  if (!extent) return "an extent has no formula";
  const Range range = m_.dims.range(extent);
  if (depth > kMostCalls || range.low < 0 || range.high >= Range::kMax)
    return "the extent " + m_.dims.print(extent) + " is too long";
  const auto terms = terms_of(m_.dims, extent);
  if (!terms) return "the extent " + m_.dims.print(extent) + " is not one of inputs";
  for (const DimProduct& t : *terms)
    for (const DimFactor& f : t.factors)
      if (std::string why = obstacle(f, run, depth); !why.empty()) return why;
  return {};
}

std::string ExtentValues::obstacle(DimId extent, ExtentOf run) const { return obstacle(extent, run, 0); }

// --- writing -----------------------------------------------------------------------------------------------

ValueId ExtentValues::length_of(DimId symbol) {
  for (const LengthInput& l : lengths_)
    if (l.symbol == symbol) return l.input;
  const std::string base = "true_len_" + std::string(m_.dims.symbol_name(symbol));
  const ValueId v = m_.add_input(m_.main(), m_.fresh_name(base));
  m_.declare(v, m_.types.tensor(DType::Int64, std::span<const DimId>{}));
  lengths_.push_back({symbol, v});
  return v;
}

ValueId ExtentValues::symbol_value(DimId symbol, ExtentOf run) {
  if (run == ExtentOf::TrueRun && is_padded(symbol)) return length_of(symbol);
  const DimPlace at = *place_of(symbol);
  const ValueId shape = front_.node(OpKind::Shape, {at.input}, "shape");
  return front_.node(OpKind::Gather, {shape, front_.number(at.axis)}, "extent");
}

ValueId ExtentValues::value(DimId extent, ExtentOf run) {
  return (run == ExtentOf::TrueRun ? of_true_run_ : of_this_run_).value(extent);
}

std::optional<std::string> ExtentValues::mistake(const PaddingAnalysis& analysis) const {
  for (const auto& [extent, v] : of_true_run_.written()) {
    if (m_.dims.value(extent)) continue;
    const PaddedValue& p = analysis.value(v);
    const auto is_extent = [&](const Bound& b) {
      return b.expression && m_.dims.equal(b.expression, extent) == Tri::Yes;
    };
    if (!p.known || p.bad || !is_extent(p.true_part().low) || !is_extent(p.true_part().high))
      return m_.dims.print(extent);
  }
  return std::nullopt;
}

}  // namespace graphopt
