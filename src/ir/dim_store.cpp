// Storage of symbolic dims: hash-consing of atoms, monomials and expressions, and polynomial arithmetic.
//
// Polynomials are short sorted vectors while they are worked on, and index ranges of one arena once interned,
// so the pool is linear in the number of distinct expressions. All coefficient arithmetic is checked.
#include <algorithm>
#include <limits>

#include "ir/dim_state.h"
#include "support/checked.h"

namespace graphopt {
namespace {

constexpr std::size_t mix(std::size_t h, std::uint64_t v) {
  h ^= static_cast<std::size_t>(v) + 0x9E3779B97F4A7C15ull + (h << 6) + (h >> 2);
  return h * 0xFF51AFD7ED558CCDull;
}
template <class Terms> std::size_t hash_terms(const Terms& terms) {
  std::size_t h = terms.size();
  for (const DimTerm& t : terms) h = mix(mix(h, static_cast<std::uint64_t>(t.coef)), t.mono);
  return h;
}

template <class Factors> std::size_t hash_factors(const Factors& factors) {
  std::size_t h = factors.size();
  for (const std::uint32_t f : factors) h = mix(h, f);
  return h;
}

template <class Args> std::size_t hash_call(DimAtomKind kind, const Args& args) {
  std::size_t h = static_cast<std::size_t>(kind);
  for (const DimId a : args) h = mix(h, a.index());
  return h;
}

}  // namespace

DimPool::State::State() {
  monos.push_back({});
  exprs.reserve(2 * kSmallDims);
  for (std::int64_t v = 0; v < kSmallDims; ++v) {
    DimExpr e;
    e.first = static_cast<std::uint32_t>(terms.size());
    e.count = v == 0 ? 0 : 1;
    e.size = 1;
    if (v != 0) terms.push_back({v, 0});
    exprs.push_back(e);
  }
}

std::optional<std::int64_t> DimPool::State::const_value(DimId a) const {
  if (!a) return std::nullopt;
  if (a.index() < kSmallDims) return a.index();
  const DimExpr& e = exprs[a.index()];
  if (e.count == 1 && terms[e.first].mono == 0) return terms[e.first].coef;
  return std::nullopt;
}

DimId DimPool::State::constant(std::int64_t v) {
  if (v >= 0 && v < kSmallDims) return DimId(static_cast<std::uint32_t>(v));
  return intern({{v, 0}});
}

DimPoly DimPool::State::poly(DimId a) const {
  const DimExpr& e = exprs[a.index()];
  const auto first = terms.begin() + e.first;
  return DimPoly(first, first + e.count);
}

// Precondition: p is normalised. Returns none where the expression exceeds a limit.
DimId DimPool::State::intern(const DimPoly& p) {
  if (is_const(p)) {
    const std::int64_t v = const_of(p);
    if (v >= 0 && v < kSmallDims) return DimId(static_cast<std::uint32_t>(v));
  }
  if (p.size() > kMaxDimTerms) return {};
  std::size_t depth = 0, size = p.size();
  for (const DimTerm& t : p) {
    // its negation does not fit
    if (t.mono != 0 && t.coef == std::numeric_limits<std::int64_t>::min()) return {};
    for (const std::uint32_t f : factors_of(t.mono)) {
      depth = std::max<std::size_t>(depth, atoms[f].depth);
      size += atoms[f].size;
    }
  }
  if (depth > kMaxDimDepth || size > kMaxDimSize) return {};
  const auto span_of = [this](std::uint32_t id) {
    return std::span(terms).subspan(exprs[id].first, exprs[id].count);
  };
  const auto equal = [&](std::uint32_t id) { return std::ranges::equal(span_of(id), p); };
  const auto make = [&] {
    DimExpr e;
    e.first = static_cast<std::uint32_t>(terms.size());
    e.count = static_cast<std::uint32_t>(p.size());
    e.depth = static_cast<std::uint16_t>(depth);
    e.size = static_cast<std::uint16_t>(size);
    terms.insert(terms.end(), p.begin(), p.end());
    exprs.push_back(e);
    return static_cast<std::uint32_t>(exprs.size() - 1);
  };
  return DimId(expr_index.find_or_add(hash_terms(p), equal, make));
}

std::uint32_t DimPool::State::new_symbol(SymbolKind kind, std::string name, Range range) {
  const auto index = static_cast<std::uint32_t>(atoms.size());
  DimAtom atom;
  atom.symbol_kind = kind;
  atom.name = static_cast<std::uint32_t>(names.size());
  atom.range =
      // an empty range carries no information
      range.low <= range.high ? range_clamped(range.low, range.high) : kAnyInteger;
  names.push_back(std::move(name));
  atoms.push_back(atom);
  atoms[index].self = intern({{1, mono_of_atom(index)}});
  if (const auto v = range_single(atom.range)) atoms[index].alias = constant(*v);
  return index;
}

// Returns the expression that is one call of these arguments (canonical, sorted for min and max).
DimId DimPool::State::call(DimAtomKind kind, std::vector<DimId> call_args) {
  std::size_t depth = 0, size = 1;
  for (const DimId a : call_args) {
    depth = std::max<std::size_t>(depth, exprs[a.index()].depth);
    size += exprs[a.index()].size;
  }
  if (depth + 1 > kMaxDimDepth || size > kMaxDimSize) return {};
  const auto equal = [&](std::uint32_t id) {
    return atoms[id].kind == kind && std::ranges::equal(args_of(atoms[id]), call_args);
  };
  const auto make = [&] {
    const auto index = static_cast<std::uint32_t>(atoms.size());
    DimAtom atom;
    atom.kind = kind;
    atom.depth = static_cast<std::uint16_t>(depth + 1);
    atom.size = static_cast<std::uint16_t>(size);
    atom.args_first = static_cast<std::uint32_t>(args.size());
    atom.args_count = static_cast<std::uint32_t>(call_args.size());
    args.insert(args.end(), call_args.begin(), call_args.end());
    atoms.push_back(atom);
    return index;
  };
  const std::uint32_t index = call_index.find_or_add(hash_call(kind, call_args), equal, make);
  if (!atoms[index].self) atoms[index].self = intern({{1, mono_of_atom(index)}});
  return atoms[index].self;
}

std::span<const std::uint32_t> DimPool::State::factors_of(std::uint32_t mono) const {
  return std::span(factors).subspan(monos[mono].first, monos[mono].degree);
}

std::span<const DimId> DimPool::State::args_of(const DimAtom& atom) const {
  return std::span(args).subspan(atom.args_first, atom.args_count);
}

std::uint32_t DimPool::State::intern_mono(const std::vector<std::uint32_t>& sorted) {
  if (sorted.empty()) return 0;
  const auto equal = [&](std::uint32_t id) { return std::ranges::equal(factors_of(id), sorted); };
  const auto make = [&] {
    const auto index = static_cast<std::uint32_t>(monos.size());
    monos.push_back({static_cast<std::uint32_t>(factors.size()), static_cast<std::uint32_t>(sorted.size())});
    factors.insert(factors.end(), sorted.begin(), sorted.end());
    return index;
  };
  return mono_index.find_or_add(hash_factors(sorted), equal, make);
}

std::uint32_t DimPool::State::mono_of_atom(std::uint32_t atom) { return intern_mono({atom}); }

std::optional<std::uint32_t> DimPool::State::mono_mul(std::uint32_t a, std::uint32_t b) {
  if (a == 0) return b;
  if (b == 0) return a;
  if (monos[a].degree + monos[b].degree > kMaxDimDegree) return std::nullopt;
  std::vector<std::uint32_t> merged(monos[a].degree + monos[b].degree);
  std::ranges::merge(factors_of(a), factors_of(b), merged.begin());
  return intern_mono(merged);
}

std::optional<std::uint32_t> DimPool::State::mono_div(std::uint32_t a, std::uint32_t b) {
  if (b == 0) return a;
  const auto fa = factors_of(a), fb = factors_of(b);
  if (!std::ranges::includes(fa, fb)) return std::nullopt;
  std::vector<std::uint32_t> rest;
  std::ranges::set_difference(fa, fb, std::back_inserter(rest));
  return intern_mono(rest);
}

std::uint32_t DimPool::State::mono_gcd(std::uint32_t a, std::uint32_t b) {
  std::vector<std::uint32_t> common;
  std::ranges::set_intersection(factors_of(a), factors_of(b), std::back_inserter(common));
  return intern_mono(common);
}

// Returns a negative number when a sorts first, that is, has the higher degree, or more of the older atoms.
int DimPool::State::mono_compare(std::uint32_t a, std::uint32_t b) const {
  if (a == b) return 0;
  if (monos[a].degree != monos[b].degree) return monos[a].degree > monos[b].degree ? -1 : 1;
  const auto fa = factors_of(a), fb = factors_of(b);
  for (std::size_t i = 0; i < fa.size(); ++i)
    if (fa[i] != fb[i]) return fa[i] < fb[i] ? -1 : 1;
  return 0;
}

std::int64_t DimPool::State::const_term(const DimPoly& p) const {
  return !p.empty() && p.back().mono == 0 ? p.back().coef : 0;
}

std::optional<std::uint32_t> DimPool::State::lone_atom(const DimPoly& p) const {
  if (p.size() != 1 || p[0].coef != 1 || monos[p[0].mono].degree != 1) return std::nullopt;
  return factors_of(p[0].mono)[0];
}

std::optional<std::uint32_t> DimPool::State::lone_symbol(DimId a) const {
  if (!a || a.index() < kSmallDims || exprs[a.index()].count != 1) return std::nullopt;
  const DimTerm& t = terms[exprs[a.index()].first];
  if (t.coef != 1 || monos[t.mono].degree != 1) return std::nullopt;
  const std::uint32_t atom = factors_of(t.mono)[0];
  if (atoms[atom].kind != DimAtomKind::Symbol) return std::nullopt;
  return atom;
}

std::vector<std::uint32_t> DimPool::State::atoms_of(const DimPoly& p) const {
  std::vector<std::uint32_t> found;
  for (const DimTerm& t : p) {
    const auto fs = factors_of(t.mono);
    found.insert(found.end(), fs.begin(), fs.end());
  }
  std::ranges::sort(found);
  const auto twice = std::ranges::unique(found);
  found.erase(twice.begin(), twice.end());
  return found;
}

bool DimPool::State::contains(const DimPoly& p, std::uint32_t atom) const {  // depth and size are limited
  for (const std::uint32_t f : atoms_of(p)) {
    if (f == atom) return true;
    for (const DimId arg : args_of(atoms[f]))
      if (contains(poly(arg), atom)) return true;
  }
  return false;
}

bool DimPool::State::add(const DimPoly& a, const DimPoly& b, std::int64_t k, DimPoly& out) const {
  DimPoly sum;
  sum.reserve(a.size() + b.size());
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const int order = j == b.size() ? -1 : i == a.size() ? 1 : mono_compare(a[i].mono, b[j].mono);
    if (order < 0) {
      sum.push_back(a[i++]);
      continue;
    }
    const auto right = checked_mul(b[j].coef, k);
    const auto coef = order > 0 ? right : checked_add(right, std::optional(a[i].coef));
    if (!coef) return false;
    if (*coef != 0) sum.push_back({*coef, b[j].mono});
    ++j;
    if (order == 0) ++i;
  }
  out = std::move(sum);
  return out.size() <= kMaxDimTerms;
}

bool DimPool::State::scale(const DimPoly& a, std::int64_t k, DimPoly& out) const {
  return add({}, a, k, out);
}

bool DimPool::State::normalise(DimPoly& p) const {
  std::ranges::sort(p,
                    [this](const DimTerm& x, const DimTerm& y) { return mono_compare(x.mono, y.mono) < 0; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < p.size();) {
    DimTerm t = p[i++];
    while (i < p.size() && p[i].mono == t.mono) {
      const auto sum = checked_add(t.coef, p[i++].coef);
      if (!sum) return false;
      t.coef = *sum;
    }
    if (t.coef != 0) p[kept++] = t;
  }
  p.resize(kept);
  return kept <= kMaxDimTerms;
}

bool DimPool::State::mul(const DimPoly& a, const DimPoly& b, DimPoly& out) {
  if (a.size() * b.size() > kMaxDimProducts) return false;
  DimPoly product;
  product.reserve(a.size() * b.size());
  for (const DimTerm& x : a) {
    for (const DimTerm& y : b) {
      const auto coef = checked_mul(x.coef, y.coef);
      const auto mono = mono_mul(x.mono, y.mono);
      if (!coef || !mono) return false;
      product.push_back({*coef, *mono});
    }
  }
  if (!normalise(product)) return false;
  out = std::move(product);
  return true;
}

bool DimPool::State::split(const DimPoly& p, std::uint32_t atom, bool linear, DimPoly& q, DimPoly& rest) {
  const std::uint32_t mono = mono_of_atom(atom);
  DimPoly with, without;
  for (const DimTerm& t : p) {
    const auto cofactor = mono_div(t.mono, mono);
    if (!cofactor) {
      without.push_back(t);
      continue;
    }
    if (linear && mono_div(*cofactor, mono)) return false;
    with.push_back({t.coef, *cofactor});
  }
  q = std::move(with);  // dividing by a monomial keeps the order of the terms
  rest = std::move(without);
  return true;
}

}  // namespace graphopt
