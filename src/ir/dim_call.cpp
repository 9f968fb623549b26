// Division, min and max of symbolic dims: the rules that give equal calls one form.
//
// A call is first reduced as far as it can be decided; only the rest becomes an opaque atom.
//   floor(a/b), b >= 1
//     a = q*b                                   q
//     floor((g*a + c)/(g*b)) = floor((a + floor(c/g))/b)       g > 0 a number, c the constant term
//     floor((m*a)/(m*b))     = floor(a/b)                      m a product of atoms (not 0, as m*b is not)
//     floor((q*b + r)/b)     = q + floor(r/b)                  for a number b: coefficients of r in [0, b)
//     floor((floor(x/m) + p)/n) = floor((x + m*p)/(m*n))
//     ranges: 0 <= a < b gives 0, -b <= a < 0 gives -1
//   max(a, b), and min with everything mirrored
//     an operand that never exceeds another one is dropped; nested calls are flattened;
//     max(p + a, p + b) = p + max(a, b), so that each monomial's least coefficient is 0;
//     max(g*a, g*b) = g*max(a, b)
// Each is an identity of the integers; the only facts used about the operands are bounds by their ranges.
#include <algorithm>
#include <limits>
#include <numeric>

#include "ir/dim_state.h"
#include "support/checked.h"

namespace graphopt {
namespace {
constexpr int kMaxDivisionSteps = 64;
constexpr int kMaxRuleSteps = 24;  // each rule step shrinks the call, so this is only a safety bound
}  // namespace

std::int64_t DimPool::State::content(const DimPoly& p, bool with_constant) const {
  std::int64_t g = 0;
  for (const DimTerm& t : p) {
    if (t.mono == 0 && !with_constant) continue;
    if (t.coef == std::numeric_limits<std::int64_t>::min()) return 1;
    g = std::gcd(g, t.coef);
  }
  return g;
}

// Divides by the leading term until nothing is left. Returns false when b does not divide a, or at a limit.
bool DimPool::State::exact_divide(const DimPoly& a, const DimPoly& b, DimPoly& quotient) {
  if (b.empty()) return false;
  DimPoly rest = a, q;
  for (int step = 0; !rest.empty(); ++step) {
    if (step == kMaxDivisionSteps) return false;
    const auto mono = mono_div(rest[0].mono, b[0].mono);
    const auto coef = checked_floor_div(rest[0].coef, b[0].coef);
    if (!mono || !coef || *checked_floor_mod(rest[0].coef, b[0].coef) != 0) return false;
    q.push_back({*coef, *mono});
    DimPoly part;
    if (!mul({q.back()}, b, part) || !add(rest, part, -1, rest)) return false;
  }
  if (!normalise(q)) return false;
  quotient = std::move(q);
  return true;
}

// One floor division during its reduction. Invariant: value = whole + floor(a/b), b >= 1.
struct DimPool::State::Division {
  State& s;
  DimPoly whole, a, b;

  // Cancels factors, numbers and atoms, that numerator and denominator share.
  bool cancel() {
    std::int64_t g = std::gcd(s.content(a, false), s.content(b, true));
    bool changed = false;
    if (g > 1) {
      DimPoly reduced;
      for (const DimTerm& t : a) {
        const auto c = checked_floor_div(t.coef, g);
        if (*c != 0) reduced.push_back({*c, t.mono});
      }
      a = std::move(reduced);
      for (DimTerm& t : b) t.coef /= g;
      changed = true;
    }
    std::uint32_t m = a.empty() ? 0 : a[0].mono;
    for (const DimTerm& t : a) m = s.mono_gcd(m, t.mono);
    for (const DimTerm& t : b) m = s.mono_gcd(m, t.mono);
    if (m == 0) return changed;
    DimPoly small_a, small_b;
    for (const DimTerm& t : a) small_a.push_back({t.coef, *s.mono_div(t.mono, m)});
    for (const DimTerm& t : b) small_b.push_back({t.coef, *s.mono_div(t.mono, m)});
    // b >= 1 makes m nonzero; the sign of the new denominator must be known, too.
    if (s.mono_range(m).low < 1 && s.range_of(small_b).low < 1) return changed;
    a = std::move(small_a);
    b = std::move(small_b);
    return true;
  }

  // Moves multiples of b out of the floor. For a polynomial b only constant multiples are moved: others would
  // not make the expression simpler.
  bool take_whole() {
    const DimPoly before = a;
    DimPoly q;
    for (const DimTerm& t : a) {
      const auto mono = b.size() == 1         ? s.mono_div(t.mono, b[0].mono)
                        : t.mono == b[0].mono ? std::optional<std::uint32_t>(0)
                                              : std::nullopt;
      if (!mono) continue;
      // The remainder's coefficient lies in [0, |leading coefficient|).
      const std::int64_t lead = b[0].coef;
      const auto c = lead > 0 ? checked_floor_div(t.coef, lead) : checked_ceil_div(t.coef, lead);
      if (c && *c != 0) q.push_back({*c, *mono});
    }
    move_out(q);
    // Keeps a single negative number out of the numerator: floor((t - 1)/s) = floor((t + s - 1)/s) - 1.
    if (!s.is_const(b) && s.const_term(a) < 0) move_out(constant_poly(-1));
    return a != before;
  }

  void move_out(const DimPoly& q) {
    DimPoly part, rest, sum;
    if (q.empty() || !s.mul(q, b, part) || !s.add(a, part, -1, rest) || !s.add(whole, q, 1, sum)) return;
    a = std::move(rest);
    whole = std::move(sum);
  }

  // floor((floor(x/m) + p)/n) = floor((x + m*p)/(m*n)) where that is the only floor with coefficient 1.
  bool unnest() {
    std::optional<std::uint32_t> inner;
    for (const DimTerm& t : a) {
      if (t.coef != 1 || s.monos[t.mono].degree != 1) continue;
      const std::uint32_t atom = s.factors_of(t.mono)[0];
      if (s.atoms[atom].kind != DimAtomKind::FloorDiv) continue;
      if (inner) return false;
      inner = atom;
    }
    if (!inner) return false;
    DimPoly one, p, scaled, numerator, denominator;
    if (!s.split(a, *inner, true, one, p) || !s.is_const(one) || s.contains(b, *inner)) return false;
    const DimPoly x = s.poly(s.args_of(s.atoms[*inner])[0]), m = s.poly(s.args_of(s.atoms[*inner])[1]);
    if (!s.mul(m, p, scaled) || !s.add(x, scaled, 1, numerator) || !s.mul(m, b, denominator)) return false;
    a = std::move(numerator);
    b = std::move(denominator);
    return true;
  }

  // floor(a/b) when the ranges leave one value.
  std::optional<std::int64_t> decided() {
    if (s.is_const(a) && s.is_const(b)) return checked_floor_div(s.const_of(a), s.const_of(b));
    const Range r = s.range_of(a);
    if (s.is_const(b)) return range_single(range_floor_div(r, range_of_constant(s.const_of(b))));
    DimPoly gap;
    if (r.low >= 0 && s.add(b, a, -1, gap) && s.range_of(gap).low >= 1) return 0;
    if (r.high <= -1 && s.add(b, a, 1, gap) && s.range_of(gap).low >= 0) return -1;
    return std::nullopt;
  }
};

DimId DimPool::State::floor_div(DimPoly a, DimPoly b, bool positive) {
  if (b.empty()) return {};
  if (is_const(a) && is_const(b)) {
    const auto q = checked_floor_div(const_of(a), const_of(b));
    return q ? constant(*q) : DimId{};
  }
  if (is_const(b) ? const_of(b) < 0 : !positive && range_of(b).high <= -1) {
    if (!scale(a, -1, a) || !scale(b, -1, b)) return {};
  } else if (!is_const(b) && !positive && range_of(b).low < 1) {
    return {};
  }
  Division d{*this, {}, std::move(a), std::move(b)};
  std::optional<std::int64_t> rest;
  for (int step = 0; step < kMaxRuleSteps; ++step) {
    DimPoly quotient;
    if (exact_divide(d.a, d.b, quotient)) {
      return add(d.whole, quotient, 1, d.whole) ? intern(d.whole) : DimId{};
    }
    bool changed = d.cancel();
    changed |= d.take_whole();
    rest = d.decided();
    if (rest) break;
    changed |= d.unnest();
    if (!changed) break;
  }
  if (!rest) {
    const DimId n = intern(d.a), m = intern(d.b);
    if (!n || !m) return {};
    const DimId atom = call(DimAtomKind::FloorDiv, {n, m});
    if (!atom || !add(d.whole, poly(atom), 1, d.whole)) return {};
  } else if (!add(d.whole, constant_poly(*rest), 1, d.whole)) {
    return {};
  }
  return intern(d.whole);
}

// The operands of one min or max during its reduction.
struct DimPool::State::Operands {
  State& s;
  DimAtomKind kind;
  std::vector<DimPoly> list;

  // p + c*arg for each arg of an operand p + c*max(args), c > 0, when there is exactly one such term.
  bool flatten() {
    std::vector<DimPoly> flat;
    for (DimPoly& p : list) {
      std::optional<std::uint32_t> nested;
      bool several = false;
      for (const DimTerm& t : p) {
        if (t.coef < 1 || s.monos[t.mono].degree != 1) continue;
        const std::uint32_t atom = s.factors_of(t.mono)[0];
        if (s.atoms[atom].kind != kind) continue;
        several |= nested.has_value();
        nested = atom;
      }
      DimPoly c, rest;
      if (!nested || several || !s.split(p, *nested, true, c, rest) || !s.is_const(c)) {
        flat.push_back(std::move(p));
        continue;
      }
      const auto span = s.args_of(s.atoms[*nested]);
      const std::vector<DimId> nested_args(span.begin(), span.end());
      for (const DimId arg : nested_args) {
        DimPoly with;
        if (!s.add(rest, s.poly(arg), s.const_of(c), with)) return false;
        flat.push_back(std::move(with));
      }
    }
    list = std::move(flat);
    return list.size() <= kMaxDimOperands;
  }

  // Removes operands that another operand makes redundant.
  void drop_dominated() {
    for (std::size_t i = 0; i < list.size(); ++i) {
      for (std::size_t j = 0; j < list.size();) {
        DimPoly difference;
        const bool known = i != j && s.add(list[i], list[j], -1, difference);
        const Range r = known ? s.range_of(difference) : kAnyInteger;
        if (!known || (kind == DimAtomKind::Max ? r.low < 0 : r.high > 0)) {
          ++j;
          continue;
        }
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(j));
        if (j < i) --i;
      }
    }
  }

  // Returns what all operands share: each monomial with its least coefficient (0 where it is missing).
  bool common_part(DimPoly& part) const {
    DimPoly all;
    for (const DimPoly& p : list)
      for (const DimTerm& t : p) all.push_back({0, t.mono});
    std::ranges::sort(all,
                      [&](const DimTerm& x, const DimTerm& y) { return s.mono_compare(x.mono, y.mono) < 0; });
    const auto twice = std::ranges::unique(all);
    all.erase(twice.begin(), twice.end());
    for (DimTerm t : all) {
      t.coef = std::numeric_limits<std::int64_t>::max();
      for (const DimPoly& p : list) {
        const auto found = std::ranges::find(p, t.mono, &DimTerm::mono);
        t.coef = std::min(t.coef, found == p.end() ? 0 : found->coef);
      }
      if (t.coef != 0) part.push_back(t);
    }
    return part.size() <= kMaxDimTerms;
  }
};

DimId DimPool::State::extremum(DimAtomKind kind, std::vector<DimPoly> list) {
  // Invariant: value = whole + factor * extremum(operands). Taking a common part out of the operands can
  // uncover a nested call in one of them; then the reduction starts again.
  Operands operands{*this, kind, std::move(list)};
  DimPoly whole;
  std::int64_t factor = 1;
  for (int step = 0; step < kMaxRuleSteps; ++step) {
    const std::size_t count = operands.list.size();
    if (!operands.flatten()) return {};
    const bool flattened = operands.list.size() != count;
    operands.drop_dominated();
    DimPoly part;
    if (operands.list.size() == 1) {
      return add(whole, operands.list[0], factor, whole) ? intern(whole) : DimId{};
    }
    if (!operands.common_part(part) || !add(whole, part, factor, whole)) return {};
    std::int64_t g = 0;
    for (DimPoly& p : operands.list) {
      if (!add(p, part, -1, p)) return {};
      g = std::gcd(g, content(p, true));
    }
    if (g > 1) {
      for (DimPoly& p : operands.list)
        for (DimTerm& t : p) t.coef /= g;
      const auto product = checked_mul(factor, g);
      if (!product) return {};
      factor = *product;
    }
    if (!flattened && part.empty() && g <= 1) break;
  }
  std::vector<DimId> ids;
  for (const DimPoly& p : operands.list) {
    ids.push_back(intern(p));
    if (!ids.back()) return {};
  }
  std::ranges::sort(ids);
  const DimId atom = call(kind, std::move(ids));
  return atom && add(whole, poly(atom), factor, whole) ? intern(whole) : DimId{};
}

}  // namespace graphopt
