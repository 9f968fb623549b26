#include "specialize/single/emitter.h"

#include "ops/node_facts.h"
#include "support/known_names.h"

namespace graphopt {

ValueId NodeEmitter::add(OpKind kind, std::span<const ValueId> in, std::string_view base) {
  const NodeId n = m_.add_node_like(graph_, standard_op(m_, kind), in, 1, base, before_);
  return m_.output(n, 0);
}

void NodeEmitter::attribute(ValueId result, NameId name, std::int64_t i) {
  m_.set_attr_int(m_.value(result).def, name, i);
}

ValueId NodeEmitter::cast(ValueId x, DType to, std::string_view base) {
  const ValueId y = add(OpKind::Cast, {x}, base);
  attribute(y, names::to, static_cast<std::int64_t>(to));
  return y;
}

ValueId NodeEmitter::concat(std::span<const ValueId> parts, std::int64_t axis, std::string_view base) {
  const ValueId y = add(OpKind::Concat, parts, base);
  attribute(y, names::axis, axis);
  return y;
}

ValueId NodeEmitter::reduce(OpKind kind, ValueId x, std::string_view base) {
  const ValueId y = add(kind, {x}, base);
  attribute(y, names::keepdims, 0);
  return y;
}

ValueId NodeEmitter::slice(ValueId x, ValueId starts, ValueId ends, ValueId axes, std::string_view base) {
  return add(OpKind::Slice, {x, starts, ends, axes}, base);
}

ValueId NodeEmitter::pick(ValueId list, std::span<const std::int64_t> positions, std::string_view base) {
  return add(OpKind::Gather, {list, ints(positions)}, base);
}

ValueId NodeEmitter::gather(ValueId x, ValueId positions, std::int64_t axis, std::string_view base) {
  const ValueId y = add(OpKind::Gather, {x, positions}, base);
  attribute(y, names::axis, axis);
  return y;
}

ValueId NodeEmitter::ints(std::span<const std::int64_t> list) {
  const auto [at, fresh] = lists_.try_emplace({list.begin(), list.end()}, ValueId{});
  if (fresh) at->second = constant(m_.make_int64s(list), "bucket_numbers");
  return at->second;
}

bool FormulaWriter::bounded(DimId d) const {
  const Range r = pool_.range(d);
  return r.low > Range::kMin && r.high < Range::kMax;
}

ValueId FormulaWriter::floor_div(ValueId a, ValueId b, bool nonnegative, bool positive) {
  constexpr std::string_view kName = "bucket_quotient";
  if (!positive) {
    const ValueId one = out_.ints({1});
    b = out_.add(OpKind::Where, {out_.add(OpKind::Less, {b, one}, kName), one, b}, kName);
  }
  // Div of integers rounds towards zero; Mod has the sign of the divisor.
  if (!nonnegative) a = out_.add(OpKind::Sub, {a, out_.add(OpKind::Mod, {a, b}, kName)}, kName);
  return out_.add(OpKind::Div, {a, b}, kName);
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
  const ValueId less = out_.add(OpKind::Less, {in[0], in[1]}, "bucket_less");
  return f.kind == Kind::Min ? out_.add(OpKind::Where, {less, in[0], in[1]}, "bucket_least")
                             : out_.add(OpKind::Where, {less, in[1], in[0]}, "bucket_greatest");
}

// Sums and products wrap; where the result fits in 64 bits, it is right whatever wrapped on the way. Operands
// of calls must fit.
ValueId FormulaWriter::value(DimId d) {
  if (!d) return {};
  d = pool_.canonical(d);
  if (const auto at = known_.find(d); at != known_.end()) return at->second;
  const auto terms = terms_of(pool_, d);
  if (!terms) return {};
  ValueId sum;
  for (const DimProduct& t : *terms) {
    ValueId product;
    if (t.coefficient != 1 || t.factors.empty()) product = out_.ints({t.coefficient});
    for (const DimFactor& f : t.factors) {
      const ValueId v = factor(f);
      if (!v) return {};
      product = product ? out_.add(OpKind::Mul, {product, v}, "bucket_extent") : v;
    }
    sum = sum ? out_.add(OpKind::Add, {sum, product}, "bucket_extent") : product;
  }
  if (!sum) sum = out_.ints({0});
  known_.insert_or_assign(d, sum);
  return sum;
}

}  // namespace graphopt
