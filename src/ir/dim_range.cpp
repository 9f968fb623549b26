// Bounds of symbolic dims, and the interval arithmetic below them.
//
// Bounds are mathematical integers clamped to [kMin, kMax], where kMin as a low bound and kMax as a high
// bound mean "no bound"; products are formed in 128 bits, so nothing overflows.
//
// Plain interval arithmetic forgets that two occurrences of one symbol are the same number. Three exact
// identities win much of that back, within a budget of steps per expression:
//   Horner        p = x*q + r lies in range(x)*range(q) + range(r)           (decides b*a - b)
//   floors        d*floor(n/d) = n - r with r in [0, d-1]                    (decides 2*floor(s/2) <= s)
//   min and max   max(..) is one of its operands, and at least each of them  (decides max(a, b) >= a)
#include <algorithm>

#include "ir/dim_state.h"

namespace graphopt {
namespace {

constexpr bool no_low(Range r) { return r.low == Range::kMin; }
constexpr bool no_high(Range r) { return r.high == Range::kMax; }

constexpr std::int64_t clamp(Int128 v) {
  if (v <= Range::kMin) return Range::kMin;
  if (v >= Range::kMax) return Range::kMax;
  return static_cast<std::int64_t>(v);
}

// A bound in 128 bits; "no bound" lies beyond any product of two clamped bounds.
constexpr Int128 kInfinite = Int128{1} << 126;
constexpr Int128 low_end(Range r) { return no_low(r) ? -kInfinite : Int128{r.low}; }
constexpr Int128 high_end(Range r) { return no_high(r) ? kInfinite : Int128{r.high}; }

constexpr Int128 end_product(Int128 a, Int128 b) {
  if (a == 0 || b == 0) return 0;
  const bool infinite = a == kInfinite || a == -kInfinite || b == kInfinite || b == -kInfinite;
  if (infinite) return (a < 0) == (b < 0) ? kInfinite : -kInfinite;
  return a * b;
}

constexpr Int128 floor_quotient(Int128 a, Int128 b) {  // b > 0
  const Int128 q = a / b;
  return a % b < 0 ? q - 1 : q;
}

constexpr int kRefineDepth = 3;
constexpr int kRefineBudget = 1024;  // terms visited

}  // namespace

std::optional<std::int64_t> range_single(Range r) {
  if (r.low != r.high || r.low <= Range::kMin || r.low >= Range::kMax) return std::nullopt;
  return r.low;
}

Range range_clamped(std::int64_t low, std::int64_t high) { return {clamp(low), clamp(high)}; }

// A number above kMax becomes [kMax, no bound], one below kMin becomes [no bound, kMin]: weaker, but true.
Range range_of_constant(std::int64_t v) { return {clamp(v), clamp(v)}; }

Range range_add(Range a, Range b) {
  return {no_low(a) || no_low(b) ? Range::kMin : clamp(Int128{a.low} + b.low),
          no_high(a) || no_high(b) ? Range::kMax : clamp(Int128{a.high} + b.high)};
}

Range range_neg(Range a) {
  return {no_high(a) ? Range::kMin : clamp(-Int128{a.high}), no_low(a) ? Range::kMax : clamp(-Int128{a.low})};
}

Range range_mul(Range a, Range b) {
  const Int128 corners[] = {end_product(low_end(a), low_end(b)), end_product(low_end(a), high_end(b)),
                            end_product(high_end(a), low_end(b)), end_product(high_end(a), high_end(b))};
  return {clamp(*std::min_element(corners, corners + 4)), clamp(*std::max_element(corners, corners + 4))};
}

Range range_hull(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }
Range range_meet(Range a, Range b) { return {std::max(a.low, b.low), std::min(a.high, b.high)}; }

Range range_floor_div(Range a, Range b) {
  b.low = std::max<std::int64_t>(b.low, 1);
  b.high = std::max(b.high, b.low);
  Range r = kAnyInteger;
  if (!no_low(a)) {  // the smallest quotient: divide a negative number by little, a positive one by much
    if (a.low < 0) r.low = clamp(floor_quotient(a.low, b.low));
    else r.low = no_high(b) ? 0 : clamp(floor_quotient(a.low, b.high));
  }
  if (!no_high(a)) {
    if (a.high >= 0) r.high = clamp(floor_quotient(a.high, b.low));
    else r.high = no_high(b) ? -1 : clamp(floor_quotient(a.high, b.high));
  }
  return r;
}

Range range_divide(Range a, std::int64_t k) {
  return {no_low(a) ? Range::kMin : clamp(-floor_quotient(-Int128{a.low}, k)),
          no_high(a) ? Range::kMax : clamp(floor_quotient(a.high, k))};
}

Range DimPool::State::atom_range(std::uint32_t index) {
  if (atoms[index].kind == DimAtomKind::Symbol || atoms[index].range_epoch == epoch)
    return atoms[index].range;
  std::vector<Range> of;  // copied, because the arenas may move during the computation
  const auto span = args_of(atoms[index]);
  const std::vector<DimId> list(span.begin(), span.end());
  for (const DimId a : list) of.push_back(range_of(a));
  Range r = of[0];
  switch (atoms[index].kind) {
    case DimAtomKind::Symbol: break;
    case DimAtomKind::FloorDiv: r = range_floor_div(of[0], of[1]); break;
    case DimAtomKind::Min:
      for (const Range& x : of) r = {std::min(r.low, x.low), std::min(r.high, x.high)};
      break;
    case DimAtomKind::Max:
      for (const Range& x : of) r = {std::max(r.low, x.low), std::max(r.high, x.high)};
      break;
  }
  atoms[index].range = r;
  atoms[index].range_epoch = epoch;
  return r;
}

Range DimPool::State::mono_range(std::uint32_t mono) {
  Range r{1, 1};
  const std::size_t degree = monos[mono].degree;
  for (std::size_t i = 0; i < degree;) {
    const std::uint32_t atom = factors_of(mono)[i];
    const Range x = atom_range(atom);
    Range power{1, 1};
    std::size_t exponent = 0;
    for (; i < degree && factors_of(mono)[i] == atom; ++i, ++exponent) power = range_mul(power, x);
    if (exponent % 2 == 0) power.low = std::max<std::int64_t>(power.low, 0);
    r = range_mul(r, power);
  }
  if (!products.empty() && r.low >= 0) r.high = std::min(r.high, bound_of(mono));
  return r;
}

// Each term of a bounded product is bounded, as none of them is negative.
void DimPool::State::renew_bounds() {
  bounds_epoch = epoch;
  bounds.clear();
  const auto list = products;
  std::vector<std::pair<std::uint32_t, std::int64_t>> found;
  for (const auto& [product, high] : list) {
    const DimPoly p = poly(canonical(product));
    const bool positive =
        std::ranges::all_of(p, [&](const DimTerm& t) { return t.coef > 0 && mono_range(t.mono).low >= 0; });
    for (const DimTerm& t : p)
      if (positive && monos[t.mono].degree > 0) found.emplace_back(t.mono, high / t.coef);
  }
  bounds = std::move(found);
}

std::int64_t DimPool::State::bound_of(std::uint32_t mono) {
  if (monos[mono].degree < 2) return Range::kMax;
  if (bounds_epoch != epoch) renew_bounds();
  std::int64_t high = Range::kMax;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const auto [whole, bound] = bounds[i];
    if (bound >= high) continue;
    const auto rest = mono_div(whole, mono);
    if (!rest) continue;
    const auto span = factors_of(*rest);
    const std::vector<std::uint32_t> others(span.begin(), span.end());
    if (std::ranges::all_of(others, [&](std::uint32_t f) { return atom_range(f).low >= 1; })) high = bound;
  }
  return high;
}

Range DimPool::State::plain_range(const DimPoly& p) {
  Range r{0, 0};
  for (const DimTerm& t : p) r = range_add(r, range_mul(range_of_constant(t.coef), mono_range(t.mono)));
  return r;
}

Range DimPool::State::range_of(DimId a) {
  if (const auto v = const_value(a)) return range_of_constant(*v);
  if (exprs[a.index()].range_epoch == epoch) return exprs[a.index()].range;
  const Range r = range_of(poly(a));
  exprs[a.index()].range = r;
  exprs[a.index()].range_epoch = epoch;
  return r;
}

Range DimPool::State::range_of(const DimPoly& p) {
  int budget = kRefineBudget;
  return refined_range(p, kRefineDepth, budget);
}

Range DimPool::State::refined_range(const DimPoly& p, int depth, int& budget) {
  Range r = plain_range(p);
  budget -= static_cast<int>(p.size());
  if (p.size() < 2 || depth == 0) return r;
  for (const std::uint32_t atom : atoms_of(p)) {
    if (budget <= 0 || r.low >= r.high) break;
    switch (atoms[atom].kind) {
      case DimAtomKind::Symbol: break;
      case DimAtomKind::FloorDiv: r = without_floor(p, atom, r, depth, budget); break;
      case DimAtomKind::Min:
      case DimAtomKind::Max: r = without_extremum(p, atom, r, depth, budget); break;
    }
    DimPoly q, rest;
    if (!split(p, atom, false, q, rest) || q.size() < 2) continue;  // one term: nothing is shared
    const Range product = range_mul(atom_range(atom), refined_range(q, depth - 1, budget));
    r = range_meet(r, range_add(product, refined_range(rest, depth - 1, budget)));
  }
  return r;
}

// p = q*floor(n/d) + rest, d = k*m. If q = m*c: k*p = c*(n - r) + k*rest for an r in [0, d-1]. For fixed
// symbols this is affine in r, so it lies between its values at r = 0 and r = d-1.
Range DimPool::State::without_floor(const DimPoly& p, std::uint32_t atom, Range known, int depth,
                                    int& budget) {
  DimPoly q, rest;
  if (!split(p, atom, true, q, rest)) return known;
  const DimPoly n = poly(args_of(atoms[atom])[0]), d = poly(args_of(atoms[atom])[1]);
  if (d.size() != 1 || d[0].coef < 1) return known;
  const std::int64_t k = d[0].coef;
  DimPoly c;
  for (const DimTerm& t : q) {
    const auto cofactor = mono_div(t.mono, d[0].mono);
    if (!cofactor) return known;
    c.push_back({t.coef, *cofactor});
  }
  DimPoly at_zero, at_end, scaled, last;
  if (!mul(c, n, at_zero) || !scale(rest, k, scaled) || !add(at_zero, scaled, 1, at_zero)) return known;
  if (!add(d, constant_poly(1), -1, last) || !mul(c, last, last) || !add(at_zero, last, -1, at_end))
    return known;
  const Range both =
      range_hull(refined_range(at_zero, depth - 1, budget), refined_range(at_end, depth - 1, budget));
  return range_meet(known, range_divide(both, k));
}

// p = q*max(..) + rest: p equals one of the polynomials q*operand + rest, and where q >= 0 none of them
// exceeds p.
Range DimPool::State::without_extremum(const DimPoly& p, std::uint32_t atom, Range known, int depth,
                                       int& budget) {
  DimPoly q, rest;
  if (!split(p, atom, true, q, rest)) return known;
  const auto span = args_of(atoms[atom]);
  const std::vector<DimId> operands(span.begin(), span.end());
  const Range sign = plain_range(q);
  const bool is_max = atoms[atom].kind == DimAtomKind::Max;
  const bool all_below = (is_max && sign.low >= 0) || (!is_max && sign.high <= 0);
  const bool all_above = (is_max && sign.high <= 0) || (!is_max && sign.low >= 0);
  Range hull{}, inner = kAnyInteger;
  bool first = true;
  for (const DimId operand : operands) {
    DimPoly with;
    if (!mul(q, poly(operand), with) || !add(with, rest, 1, with)) return known;
    const Range r = refined_range(with, depth - 1, budget);
    hull = first ? r : range_hull(hull, r);
    first = false;
    if (all_below) inner.low = std::max(inner.low, r.low);
    if (all_above) inner.high = std::min(inner.high, r.high);
  }
  return range_meet(known, range_meet(hull, inner));
}

}  // namespace graphopt
