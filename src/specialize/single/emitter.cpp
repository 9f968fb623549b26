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

// Sums and products wrap; where the result fits in 64 bits, it is right whatever wrapped on the way. Operands
// of calls must fit.
ValueId FormulaWriter::tree(const Formula& f) {
  using Kind = Formula::Kind;
  if (f.kind == Kind::Number) return out_.ints({f.number});
  if (f.kind == Kind::Symbol) return known(f.dim);
  if (const auto at = known_.find(f.dim); at != known_.end()) return at->second;
  ValueId all;
  for (std::size_t i = 0; i < f.parts.size(); ++i) {
    const Formula& part = f.parts[i];
    const bool is_call = f.kind != Kind::Sum && f.kind != Kind::Product;
    if (is_call && !bounded(part.dim)) return {};
    const ValueId v = tree(part);
    if (!v) return {};
    if (i == 0) {
      all = v;
    } else if (f.kind == Kind::FloorDiv) {
      const bool positive = part.kind == Kind::Number && part.number > 0;
      all = floor_div(all, v, pool_.range(f.parts[0].dim).low >= 0, positive);
    } else if (f.kind == Kind::Min || f.kind == Kind::Max) {
      const ValueId less = out_.add(OpKind::Less, {all, v}, "bucket_less");
      all = f.kind == Kind::Min ? out_.add(OpKind::Where, {less, all, v}, "bucket_least")
                                : out_.add(OpKind::Where, {less, v, all}, "bucket_greatest");
    } else {
      all = out_.add(f.kind == Kind::Sum ? OpKind::Add : OpKind::Mul, {all, v}, "bucket_extent");
    }
  }
  return all;
}

ValueId FormulaWriter::value(DimId d) {
  if (!d) return {};
  d = pool_.canonical(d);
  if (const auto at = known_.find(d); at != known_.end()) return at->second;
  const std::optional<Formula> f = formula_of(pool_, d);
  const ValueId v = f ? tree(*f) : ValueId{};
  if (v) known_.insert_or_assign(d, v);
  return v;
}

}  // namespace graphopt
