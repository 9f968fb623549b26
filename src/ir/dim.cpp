// The public functions of the pool. Operands are replaced by their canonical forms first; two numbers are
// computed directly; the rest goes to the rules of calls (dim_call.cpp), the bounds (dim_range.cpp) and the
// aliases (dim_alias.cpp).
#include "ir/dim.h"

#include <algorithm>

#include "ir/dim_state.h"
#include "support/checked.h"

namespace graphopt {
namespace {

bool without_zero(Range r) { return r.low > 0 || r.high < 0; }

}  // namespace

DimPool::DimPool() : s_(std::make_unique<State>()) {}
DimPool::~DimPool() = default;
DimPool::DimPool(DimPool&&) noexcept = default;
DimPool& DimPool::operator=(DimPool&&) noexcept = default;
DimPool::DimPool(std::unique_ptr<State> s) : s_(std::move(s)) {}

DimPool DimPool::clone() const {
  auto s = std::make_unique<State>(*s_);
  s->input_symbols.clear();  // its keys are views of the names of this pool
  for (const auto& [name, atom] : s_->input_symbols)
    s->input_symbols.emplace(s->names[s->atoms[atom].name], atom);
  return DimPool(std::move(s));
}

DimId DimPool::constant(std::int64_t v) { return s_->constant(v); }

DimId DimPool::add(DimId a, DimId b) {
  if (!a || !b) return {};
  a = s_->canonical(a);
  b = s_->canonical(b);
  if (const auto x = s_->const_value(a), y = s_->const_value(b); x && y) {
    const auto sum = checked_add(*x, *y);
    return sum ? s_->constant(*sum) : DimId{};
  } else if (x == 0) {
    return b;
  } else if (y == 0) {
    return a;
  }
  DimPoly sum;
  return s_->add(s_->poly(a), s_->poly(b), 1, sum) ? s_->intern(sum) : DimId{};
}

DimId DimPool::sub(DimId a, DimId b) {
  if (!a || !b) return {};
  a = s_->canonical(a);
  b = s_->canonical(b);
  if (a == b) return s_->constant(0);
  if (const auto x = s_->const_value(a), y = s_->const_value(b); x && y) {
    const auto difference = checked_sub(*x, *y);
    return difference ? s_->constant(*difference) : DimId{};
  } else if (y == 0) {
    return a;
  }
  DimPoly difference;
  return s_->add(s_->poly(a), s_->poly(b), -1, difference) ? s_->intern(difference) : DimId{};
}

DimId DimPool::neg(DimId a) { return sub(s_->constant(0), a); }

DimId DimPool::mul(DimId a, DimId b) {
  if (!a || !b) return {};
  a = s_->canonical(a);
  b = s_->canonical(b);
  if (const auto x = s_->const_value(a), y = s_->const_value(b); x && y) {
    const auto product = checked_mul(*x, *y);
    return product ? s_->constant(*product) : DimId{};
  } else if (x == 0 || y == 0) {
    return s_->constant(0);
  } else if (x == 1) {
    return b;
  } else if (y == 1) {
    return a;
  }
  DimPoly product;
  return s_->mul(s_->poly(a), s_->poly(b), product) ? s_->intern(product) : DimId{};
}

DimId DimPool::product(std::span<const DimId> dims) {
  DimId result = s_->constant(1);
  for (const DimId d : dims) result = mul(result, d);
  return result;
}

DimId DimPool::floor_div(DimId a, DimId b) {
  if (!a || !b) return {};
  a = s_->canonical(a);
  b = s_->canonical(b);
  if (const auto x = s_->const_value(a), y = s_->const_value(b); x && y) {
    const auto quotient = checked_floor_div(*x, *y);
    return quotient ? s_->constant(*quotient) : DimId{};
  } else if (y == 1) {
    return a;
  }
  return s_->floor_div(s_->poly(a), s_->poly(b), false);
}

DimId DimPool::ceil_div(DimId a, DimId b) {
  if (!a || !b) return {};
  a = s_->canonical(a);
  b = s_->canonical(b);
  if (const auto x = s_->const_value(a), y = s_->const_value(b); x && y) {
    const auto quotient = checked_ceil_div(*x, *y);
    return quotient ? s_->constant(*quotient) : DimId{};
  }
  if (s_->range_of(b).high <= -1) {
    a = neg(a);
    b = neg(b);
    if (!a || !b) return {};
  }
  return floor_div(add(a, sub(b, s_->constant(1))), b);  // b >= 1, else none
}

DimId DimPool::trunc_div(DimId a, DimId b) {
  if (!a || !b) return {};
  a = s_->canonical(a);
  b = s_->canonical(b);
  const Range ra = s_->range_of(a), rb = s_->range_of(b);
  if (!without_zero(rb)) return {};
  if (DimPoly quotient; s_->exact_divide(s_->poly(a), s_->poly(b), quotient)) return s_->intern(quotient);
  const bool negative_b = rb.high < 0;
  if (ra.low >= 0) return negative_b ? neg(floor_div(a, neg(b))) : floor_div(a, b);
  if (ra.high <= 0) return negative_b ? floor_div(neg(a), neg(b)) : neg(floor_div(neg(a), b));
  return {};
}

DimId DimPool::mod(DimId a, DimId b) {
  if (!a || !b) return {};
  a = s_->canonical(a);
  b = s_->canonical(b);
  if (const auto x = s_->const_value(a), y = s_->const_value(b); x && y) {
    const auto rest = checked_floor_mod(*x, *y);
    return rest ? s_->constant(*rest) : DimId{};
  }
  return sub(a, mul(b, floor_div(a, b)));
}

DimId DimPool::min(DimId a, DimId b) {
  if (!a || !b) return {};
  a = s_->canonical(a);
  b = s_->canonical(b);
  return a == b ? a : s_->extremum(DimAtomKind::Min, {s_->poly(a), s_->poly(b)});
}

DimId DimPool::max(DimId a, DimId b) {
  if (!a || !b) return {};
  a = s_->canonical(a);
  b = s_->canonical(b);
  return a == b ? a : s_->extremum(DimAtomKind::Max, {s_->poly(a), s_->poly(b)});
}

std::optional<std::int64_t> DimPool::value(DimId a) const { return s_->const_value(s_->canonical(a)); }
bool DimPool::is_constant(DimId a, std::int64_t v) const { return value(a) == v; }

Range DimPool::range(DimId a) const { return a ? s_->range_of(s_->canonical(a)) : kAnyInteger; }

Tri DimPool::equal(DimId a, DimId b) const {
  if (!a || !b) return Tri::Unknown;
  a = s_->canonical(a);
  b = s_->canonical(b);
  if (a == b) return Tri::Yes;
  if (s_->const_value(a) && s_->const_value(b)) return Tri::No;
  DimPoly d;
  if (!s_->add(s_->poly(a), s_->poly(b), -1, d)) return Tri::Unknown;
  if (d.empty()) return Tri::Yes;
  if (!s_->divide_out(d)) return Tri::No;
  const Range r = s_->range_of(d);
  if (without_zero(r)) return Tri::No;
  return r == Range{0, 0} ? Tri::Yes : Tri::Unknown;
}

Tri DimPool::less(DimId a, DimId b) const {
  const Tri not_less = less_equal(b, a);
  return not_less == Tri::Unknown ? not_less : not_less == Tri::Yes ? Tri::No : Tri::Yes;
}

Tri DimPool::less_equal(DimId a, DimId b) const {
  if (!a || !b) return Tri::Unknown;
  a = s_->canonical(a);
  b = s_->canonical(b);
  if (a == b) return Tri::Yes;
  if (const auto x = s_->const_value(a), y = s_->const_value(b); x && y) return *x <= *y ? Tri::Yes : Tri::No;
  DimPoly d;
  if (!s_->add(s_->poly(b), s_->poly(a), -1, d)) return Tri::Unknown;
  const Range r = s_->range_of(d);
  if (r.low >= 0) return Tri::Yes;
  return r.high < 0 ? Tri::No : Tri::Unknown;
}

DimId DimPool::exact_div(DimId a, DimId b, bool b_nonzero) {
  if (!a || !b) return {};
  a = s_->canonical(a);
  b = s_->canonical(b);
  if (!b_nonzero && !without_zero(s_->range_of(b))) return {};
  DimPoly quotient;
  return s_->exact_divide(s_->poly(a), s_->poly(b), quotient) ? s_->intern(quotient) : DimId{};
}

bool DimPool::linked(DimId a) const { return a && s_->linked(s_->poly(s_->canonical(a))); }

bool DimPool::is_symbol(DimId a) const { return s_->lone_symbol(s_->canonical(a)).has_value(); }

std::vector<DimId> DimPool::symbols_of(DimId a) const {
  if (!a) return {};
  std::vector<std::uint32_t> todo = s_->atoms_of(s_->poly(s_->canonical(a))), symbols;
  while (!todo.empty()) {
    const std::uint32_t atom = todo.back();
    todo.pop_back();
    if (s_->atoms[atom].kind == DimAtomKind::Symbol) symbols.push_back(atom);
    for (const DimId arg : s_->args_of(s_->atoms[atom])) {
      const auto inner = s_->atoms_of(s_->poly(arg));
      todo.insert(todo.end(), inner.begin(), inner.end());
    }
  }
  std::ranges::sort(symbols);  // atoms are numbered in the order of their creation
  const auto twice = std::ranges::unique(symbols);
  symbols.erase(twice.begin(), twice.end());
  std::vector<DimId> result;
  for (const std::uint32_t symbol : symbols) result.push_back(s_->atoms[symbol].self);
  return result;
}

bool DimPool::assert_equal(DimId a, DimId b) {
  if (!a || !b) return true;
  // What one round learns may let the next round learn more. Only the first round can fail, and it changes
  // nothing when it does.
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    const DimId x = s_->canonical(a), y = s_->canonical(b);
    DimPoly d;
    if (x == y || !s_->add(s_->poly(x), s_->poly(y), -1, d)) return true;
    const std::uint32_t before = s_->epoch;
    if (!s_->assert_zero(std::move(d), x, y)) {
      s_->contradicted = true;
      return round > 0;
    }
    if (s_->epoch == before) return true;
  }
  return true;
}

bool DimPool::assert_range(DimId symbol, Range range) {
  if (!symbol) return true;
  if (range.low > range.high) return false;
  range = range_clamped(range.low, range.high);
  symbol = s_->canonical(symbol);
  const Range now = range_meet(s_->range_of(symbol), range);
  State::Changes changes;
  if (now.low > now.high || !s_->narrowed(s_->poly(symbol), range, changes)) {
    s_->contradicted = true;
    return false;
  }
  s_->apply(changes);
  return true;
}

void DimPool::assert_at_most(DimId product, std::int64_t high) {
  product = s_->canonical(product);
  if (!product || s_->range_of(product).high <= high || s_->products.size() == kMaxBounds) return;
  if (std::ranges::find(s_->products, product, &std::pair<DimId, std::int64_t>::first) != s_->products.end())
    return;
  s_->products.emplace_back(product, high);
  s_->bounds_epoch = 0;
  ++s_->epoch;  // ranges are known better
}

DimId DimPool::canonical(DimId a) const { return s_->canonical(a); }
std::uint32_t DimPool::epoch() const { return s_->epoch; }
std::uint32_t DimPool::clock() const { return s_->clock(); }
std::uint32_t DimPool::learned_at(DimId a) const { return a ? s_->learned_at(a) : 0; }
void DimPool::forget() { s_->forget(); }
bool DimPool::contradicted() const { return s_->contradicted; }
void DimPool::restore(const Knowledge& before) { s_->restore(before); }
std::shared_ptr<const DimPool::Knowledge> DimPool::knowledge() const {
  return std::make_shared<const Knowledge>(s_->knowledge());
}

DimId DimPool::substitute(DimId a, DimId symbol, DimId by) {
  if (!a || !symbol || !by) return {};
  a = s_->canonical(a);
  const auto atom = s_->lone_symbol(s_->canonical(symbol));
  if (!atom) return a;  // its value is already known
  std::unordered_map<std::uint32_t, DimId> done;
  return s_->canonical(s_->substitute(a, *atom, s_->canonical(by), done));
}

std::string DimPool::print(DimId a) const { return a ? s_->print(s_->canonical(a)) : "?"; }

std::optional<std::int64_t> DimPool::evaluate(DimId a, std::span<const Binding> binding) const {
  if (!a) return std::nullopt;
  // a symbol that is bound may have become an alias in the meantime
  if (const auto v = s_->evaluate(a, binding)) return v;
  std::vector<Binding> canonical_binding(binding.begin(), binding.end());
  for (Binding& b : canonical_binding) b.symbol = s_->canonical(b.symbol);
  return s_->evaluate(s_->canonical(a), canonical_binding);
}

}  // namespace graphopt
