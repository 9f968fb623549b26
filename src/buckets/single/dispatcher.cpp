#include "buckets/single/dispatcher.h"

#include <algorithm>

#include "infer/infer.h"

namespace graphopt {
namespace {

using List = std::vector<std::int64_t>;

bool is_literal(DimPool& pool, DimId d) {
  const auto v = pool.value(d);
  return v && pool.constant(*v) == d;
}

}  // namespace

Dispatcher::Dispatcher(const DispatchPlan& plan, DimPool& pool, Emitter& out, std::vector<ValueId> inputs)
    : plan_(plan),
      pool_(pool),
      out_(out),
      inputs_(std::move(inputs)),
      formulas_(out, pool, FormulaWriter::Form::List, [this](DimId s) {
        const auto at = position_of(s);
        return at ? safe(static_cast<std::size_t>(*at)) : ValueId{};
      }) {
  for (const std::vector<DimId>* list : {&plan.symbols, &plan.others})
    for (const DimId s : *list) ids_.push_back(pool.canonical(s));
}

std::optional<std::int64_t> Dispatcher::position_of(DimId symbol) const {
  const auto at = std::ranges::find(ids_, symbol);
  return at == ids_.end() ? std::nullopt : std::optional(at - ids_.begin());
}

ValueId Dispatcher::safe(std::size_t symbol) {
  const auto position = static_cast<std::int64_t>(symbol);
  return out_.pick(safe_symbols_, std::span(&position, 1), "symbol");
}

std::optional<std::string> Dispatcher::run() {
  join_shapes();
  if (auto problem = find_symbols()) return problem;
  find_ranges();
  if (!check_dims()) return "an extent that the inputs state is too large a formula";
  if (!check_filter()) return "numbers in 'where' may leave 64 bits";
  if (!check_multiples()) return "an extent that must be a multiple is too large a formula";
  check_fixed();
  find_bucket();
  covered_ = joined_conditions();
  return std::nullopt;
}

// --- the shapes --------------------------------------------------------------------------------------------

void Dispatcher::join_shapes() {
  shapes_.assign(inputs_.size(), {});
  std::vector<ValueId> parts;
  std::int64_t position = 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::vector<DimId>& dims = plan_.inputs[i].dims;
    if (std::ranges::all_of(dims, [this](DimId d) { return !d || is_literal(pool_, d); })) continue;
    shapes_[i] = out_.node(OpKind::Shape, {inputs_[i]}, "shape");
    parts.push_back(shapes_[i]);
    for (const DimId d : dims) {
      if (d && !is_literal(pool_, d)) dims_.push_back({pool_.canonical(d), position});
      ++position;
    }
  }
  if (!parts.empty()) all_dims_ = parts.size() == 1 ? parts[0] : out_.concat(parts, 0, "dims");
}

// --- the symbols -------------------------------------------------------------------------------------------

// Returns the least value of the symbol for which the extent is `seen`, if there is one; none where nobody
// can say. What it returns for other extents is of no use, and is checked later.
DimId Dispatcher::solved(DimId extent, DimId symbol, DimId seen) {
  struct Line {
    DimId factor, rest;
  };
  const DimId zero = pool_.constant(0), one = pool_.constant(1);
  const auto line = [&](DimId d) -> std::optional<Line> {
    const DimId rest = pool_.substitute(d, symbol, zero);
    const DimId factor = pool_.sub(pool_.substitute(d, symbol, one), rest);
    const DimId left = pool_.sub(d, pool_.add(rest, pool_.mul(factor, symbol)));
    if (!left || !pool_.is_constant(left, 0)) return std::nullopt;
    return Line{factor, rest};
  };
  if (const auto l = line(extent)) {
    if (pool_.range(l->factor).low >= 0)
      return pool_.floor_div(pool_.sub(seen, l->rest), pool_.max(l->factor, one));
    if (pool_.range(l->factor).high < 0)
      return pool_.floor_div(pool_.sub(l->rest, seen), pool_.neg(l->factor));
    return {};
  }
  // floor((factor*symbol + rest)/(divisor)) + other
  const auto terms = terms_of(pool_, extent);
  if (!terms) return {};
  for (const DimProduct& t : *terms) {
    if (t.coefficient != 1 || t.factors.size() != 1) continue;
    if (t.factors[0].kind != DimFactor::Kind::FloorDiv) continue;
    const DimId above = t.factors[0].operands[0], divisor = t.factors[0].operands[1];
    const DimId other = pool_.sub(extent, pool_.floor_div(above, divisor));
    const auto has_symbol = [&](DimId d) {
      return !d || std::ranges::count(pool_.symbols_of(d), symbol) > 0;
    };
    const auto l = line(above);
    if (!l || has_symbol(other) || has_symbol(divisor) || pool_.range(l->factor).low < 1) return {};
    const DimId reached = pool_.sub(pool_.mul(pool_.sub(seen, other), divisor), l->rest);
    return pool_.max(pool_.ceil_div(reached, l->factor), pool_.constant(pool_.range(symbol).low));
  }
  return {};
}

std::optional<std::string> Dispatcher::find_symbols() {
  std::vector<ValueId> values(ids_.size());
  List places(ids_.size(), -1);
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    if (const auto v = pool_.value(ids_[i])) values[i] = out_.numbers({*v});
    const auto alone = std::ranges::find(dims_, ids_[i], &Dim::extent);
    if (values[i] || alone == dims_.end()) continue;
    alone->is_source = true;
    places[i] = alone->position;
  }
  if (std::ranges::all_of(places, [](std::int64_t p) { return p >= 0; })) {
    symbols_ = out_.pick(all_dims_, places, "symbols");
    return std::nullopt;
  }
  std::vector<std::pair<DimId, std::int64_t>> seen;  // symbols of the pool for entries of the list
  FormulaWriter raw(out_, pool_, FormulaWriter::Form::List, [&](DimId s) {
    if (const auto at = position_of(s)) return values[static_cast<std::size_t>(*at)];
    const auto at = std::ranges::find(seen, s, &std::pair<DimId, std::int64_t>::first);
    return at == seen.end() ? ValueId{} : out_.pick(all_dims_, std::span(&at->second, 1), "extent");
  });
  for (std::size_t i = 0; i < ids_.size(); ++i)
    if (places[i] >= 0) values[i] = out_.pick(all_dims_, std::span(&places[i], 1), "symbol");
  for (bool found = true; found;) {
    found = false;
    for (const Dim& dim : dims_) {
      std::vector<std::size_t> open;
      for (const DimId s : pool_.symbols_of(dim.extent))
        if (const auto at = position_of(s); at && !values[static_cast<std::size_t>(*at)])
          open.push_back(static_cast<std::size_t>(*at));
      if (open.size() != 1) continue;
      std::string name = "extent " + std::to_string(dim.position);
      while (pool_.find_symbol(name)) name += '#';
      seen.emplace_back(pool_.symbol(name, {0, kMaxInputExtent}), dim.position);
      values[open[0]] = raw.value(solved(dim.extent, ids_[open[0]], seen.back().first));
      found = found || values[open[0]].valid();
    }
  }
  for (std::size_t i = 0; i < ids_.size(); ++i)
    if (!values[i]) return "the shapes of the inputs do not say what " + pool_.print(ids_[i]) + " is";
  symbols_ = values.size() == 1 ? values[0] : out_.concat(values, 0, "symbols");
  return std::nullopt;
}

// --- what was promised -------------------------------------------------------------------------------------

void Dispatcher::find_ranges() {
  List lows, below, above;
  for (const BucketSymbol& s : plan_.buckets.symbols) {
    lows.push_back(s.fixed ? s.values.front() : s.range.low);
    above.push_back(std::min(s.range.high, s.values.back()) + 1);
  }
  for (std::size_t i = 0; i < plan_.others.size(); ++i) {
    lows.push_back(1);
    above.push_back(kMaxInputExtent + 1);
  }
  for (const std::int64_t low : lows) below.push_back(low - 1);
  const ValueId within = out_.node(OpKind::And,
                                   {out_.node(OpKind::Less, {out_.numbers(below), symbols_}, "least"),
                                    out_.node(OpKind::Less, {symbols_, out_.numbers(above)}, "greatest")},
                                   "within");
  conditions_.push_back(within);
  safe_symbols_ = out_.node(OpKind::Where, {within, symbols_, out_.numbers(lows)}, "symbols");
}

bool Dispatcher::check_dims() {
  List again, symbols, stated;
  std::vector<ValueId> formulas;
  for (const Dim& dim : dims_) {
    if (dim.is_source) continue;
    if (const auto at = position_of(dim.extent)) {
      again.push_back(dim.position);
      symbols.push_back(*at);
      continue;
    }
    stated.push_back(dim.position);
    formulas.push_back(formulas_.value(dim.extent));
    if (!formulas.back()) return false;
  }
  if (!again.empty())
    require_equal(out_.pick(all_dims_, again, "dims"), out_.pick(symbols_, symbols, "symbols"));
  if (!stated.empty()) {
    const ValueId all = formulas.size() == 1 ? formulas[0] : out_.concat(formulas, 0, "extents");
    require_equal(out_.pick(all_dims_, stated, "dims"), all);
  }
  return true;
}

bool Dispatcher::check_filter() {
  if (!plan_.filter) return true;
  const ShapeFilter& filter = *plan_.filter;
  DimPool pool = filter.pool().clone();
  pool.forget();
  for (std::size_t i = 0; i < filter.symbols().size(); ++i) {
    const BucketSymbol& s = plan_.buckets.symbols[i];
    (void)pool.assert_range(filter.symbols()[i], {s.range.low, s.range.high});
  }
  FormulaWriter formulas(out_, pool, FormulaWriter::Form::List, [&](DimId s) {
    for (std::size_t i = 0; i < filter.symbols().size(); ++i)
      if (filter.symbols()[i] == s) return safe(i);
    return ValueId{};
  });
  for (const DimId side : {filter.left(), filter.right()}) {
    const Range r = pool.range(side);
    if (r.low <= Range::kMin || r.high >= Range::kMax) return false;
  }
  ValueId a = formulas.value(filter.left()), b = formulas.value(filter.right());
  if (!a || !b) return false;
  using Relation = ShapeFilter::Relation;
  if (filter.relation() == Relation::Equal) {
    require_equal(a, b);
    return true;
  }
  if (filter.relation() == Relation::Greater || filter.relation() == Relation::GreaterEqual) std::swap(a, b);
  if (filter.relation() == Relation::LessEqual || filter.relation() == Relation::GreaterEqual)
    b = out_.node(OpKind::Add, {b, out_.numbers({1})}, "where");
  conditions_.push_back(out_.node(OpKind::Less, {a, b}, "where"));
  return true;
}

// A shape that does not meet them is one that the model refuses, and the dynamic graph says so.
bool Dispatcher::check_multiples() {
  List divisors;
  std::vector<ValueId> extents;
  for (const Divisibility& d : plan_.multiples) {
    const std::vector<DimId> symbols = pool_.symbols_of(d.extent);
    const bool concerned = std::ranges::any_of(symbols, [this](DimId s) {
      const auto at = position_of(s);
      return at && static_cast<std::size_t>(*at) < plan_.symbols.size();
    });
    if (!concerned) continue;
    divisors.push_back(d.divisor);
    extents.push_back(formulas_.value(d.extent));
    if (!extents.back()) return false;
  }
  if (extents.empty()) return true;
  const ValueId all = extents.size() == 1 ? extents[0] : out_.concat(extents, 0, "extents");
  require_equal(out_.node(OpKind::Mod, {all, out_.numbers(divisors)}, "rest"), out_.numbers({0}));
  return true;
}

void Dispatcher::check_fixed() {
  for (std::size_t i = 0; i < plan_.buckets.symbols.size(); ++i) {
    const BucketSymbol& s = plan_.buckets.symbols[i];
    if (!s.fixed || s.values.size() == 1) continue;  // one size is a range
    const ValueId equal = out_.node(OpKind::Equal, {out_.numbers(s.values), safe(i)}, "equal");
    const ValueId number = out_.cast(equal, DType::Int32, "equal");
    const ValueId any = out_.cast(out_.reduce(OpKind::ReduceMax, number, "any"), DType::Bool, "any");
    conditions_.push_back(out_.node(OpKind::Reshape, {any, out_.numbers({1})}, "any"));
  }
}

// --- the bucket --------------------------------------------------------------------------------------------

void Dispatcher::find_bucket() {
  const BucketCells cells = cells_of(plan_.buckets);
  if (cells.buckets.size() == 1) return;
  const ValueId each = out_.pick(safe_symbols_, cells.symbols, "each");
  const ValueId less = out_.node(OpKind::Less, {out_.numbers(cells.sizes), each}, "less");
  const ValueId steps =
      out_.node(OpKind::Mul, {out_.cast(less, DType::Int64, "less"), out_.numbers(cells.strides)}, "steps");
  bucket_ = out_.reduce(OpKind::ReduceSum, steps, "cell");
  if (cells.is_plain) return;
  bucket_ = out_.gather(out_.numbers(cells.buckets), bucket_, 0, "chosen");
  if (std::ranges::find(cells.buckets, -1) == cells.buckets.end()) return;
  const ValueId list = out_.node(OpKind::Reshape, {bucket_, out_.numbers({1})}, "chosen");
  conditions_.push_back(out_.node(OpKind::Less, {out_.numbers({-1}), list}, "found"));
}

ValueId Dispatcher::joined_conditions() {
  const ValueId all = conditions_.size() == 1 ? conditions_[0] : out_.concat(conditions_, 0, "conditions");
  const ValueId least =
      out_.reduce(OpKind::ReduceMin, out_.cast(all, DType::Int32, "conditions"), "conditions");
  return out_.cast(least, DType::Bool, "covered");
}

}  // namespace graphopt
