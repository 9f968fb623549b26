#include "buckets/formula_writer.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace graphopt {

bool FormulaWriter::bounded(DimId d) const {
  const Range r = pool_.range(d);
  return r.low > Range::kMin && r.high < Range::kMax;
}

ValueId FormulaWriter::floor_div(ValueId a, ValueId b, bool nonnegative, bool positive) {
  constexpr std::string_view kName = "quotient";
  if (!positive) {
    const ValueId one = number(1);
    b = out_.node(OpKind::Where, {out_.node(OpKind::Less, {b, one}, kName), one, b}, kName);
  }
  // Div of integers rounds towards zero; Mod has the sign of the divisor.
  if (!nonnegative) a = out_.node(OpKind::Sub, {a, out_.node(OpKind::Mod, {a, b}, kName)}, kName);
  return out_.node(OpKind::Div, {a, b}, kName);
}

ValueId FormulaWriter::least_or_greatest(bool least, ValueId a, ValueId b) {
  constexpr std::int64_t kIntegers = 12;  // from this opset on Min and Max take them
  const std::string_view name = least ? "least" : "greatest";
  if (out_.opset() >= kIntegers) return out_.node(least ? OpKind::Min : OpKind::Max, {a, b}, name);
  const ValueId less = out_.node(OpKind::Less, {a, b}, "less");
  return least ? out_.node(OpKind::Where, {less, a, b}, name) : out_.node(OpKind::Where, {less, b, a}, name);
}

ValueId FormulaWriter::known(DimId symbol) {
  const auto [at, fresh] = known_.try_emplace(symbol, ValueId{});
  if (fresh) at->second = symbol_(symbol);
  return at->second;
}

ValueId FormulaWriter::factor(const DimFactor& f) {
  using Kind = DimFactor::Kind;
  if (f.kind == Kind::Symbol) return known(f.self);
  if (const auto at = known_.find(f.self); at != known_.end()) return at->second;
  std::vector<ValueId> in;
  for (const DimId d : f.operands) {
    in.push_back(bounded(d) ? value(d) : ValueId{});
    if (!in.back()) return {};
  }
  if (f.kind == Kind::FloorDiv) {
    const bool positive = pool_.value(f.operands[1]).value_or(0) > 0;
    return floor_div(in[0], in[1], pool_.range(f.operands[0]).low >= 0, positive);
  }
  ValueId out = in[0];
  for (std::size_t i = 1; i < in.size(); ++i) out = least_or_greatest(f.kind == Kind::Min, out, in[i]);
  return out;
}

// Without its sign.
ValueId FormulaWriter::product(const DimProduct& t) {
  ValueId out;
  const auto bits = static_cast<std::uint64_t>(t.coefficient);
  const auto size = static_cast<std::int64_t>(t.coefficient < 0 ? 0 - bits : bits);
  for (const DimFactor& f : t.factors) {
    const ValueId v = factor(f);
    if (!v) return {};
    out = out ? out_.node(OpKind::Mul, {out, v}, "extent") : v;
  }
  if (!out) return number(size);
  return size == 1 ? out : out_.node(OpKind::Mul, {out, number(size)}, "extent");
}

ValueId FormulaWriter::value(DimId d) {
  if (!d) return {};
  d = pool_.canonical(d);
  if (const auto at = known_.find(d); at != known_.end()) return at->second;
  if (pool_.is_symbol(d)) return known(d);
  auto terms = terms_of(pool_, d);
  if (!terms) return {};
  std::ranges::stable_partition(*terms, [](const DimProduct& t) { return t.coefficient > 0; });
  ValueId sum;
  for (const DimProduct& t : *terms) {
    const ValueId v = product(t);
    if (!v) return {};
    if (!sum && t.coefficient < 0) sum = number(0);
    if (!sum) sum = v;
    else sum = out_.node(t.coefficient > 0 ? OpKind::Add : OpKind::Sub, {sum, v}, "extent");
  }
  if (!sum) sum = number(0);
  known_.insert_or_assign(d, sum);
  return sum;
}

}  // namespace graphopt
