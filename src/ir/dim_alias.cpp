// Facts that are learned later: aliases of symbols, narrowed ranges, and substitution.
//
// An alias maps a symbol to an expression that does not contain it, in terms of symbols without alias; so
// aliases never form a cycle. The form of an expression with all aliases replaced is cached until the next
// alias or narrowed range (an epoch). Chains of aliases may be as long as the model, so they are followed
// with an explicit stack and shortened on the way; only calls within calls, whose depth is limited, are
// followed by recursion.
#include <algorithm>
#include <limits>

#include "ir/dim_state.h"
#include "support/checked.h"

namespace graphopt {

// Returns a with each listed atom replaced. `by_atom` is sorted and holds all atoms of a.
DimId DimPool::State::rebuild(DimId a, const std::vector<std::pair<std::uint32_t, DimId>>& by_atom) {
  bool same = true;
  for (const auto& [atom, by] : by_atom) {
    if (!by) return {};
    same &= by == atoms[atom].self;
  }
  if (same) return a;
  DimPoly sum;
  for (const DimTerm& t : poly(a)) {
    DimPoly product = constant_poly(t.coef);
    const auto span = factors_of(t.mono);
    const std::vector<std::uint32_t> list(span.begin(), span.end());
    for (const std::uint32_t f : list) {
      const auto at = std::ranges::lower_bound(by_atom, f, {}, &std::pair<std::uint32_t, DimId>::first);
      if (!mul(product, poly(at->second), product)) return {};
    }
    if (!add(sum, product, 1, sum)) return {};
  }
  return intern(sum);
}

// `promised`: the denominator of a division is at least 1 in every run, whatever its range says now.
DimId DimPool::State::rebuild_call(DimAtomKind kind, const std::vector<DimId>& new_args, bool promised) {
  for (const DimId a : new_args)
    if (!a) return {};
  if (kind == DimAtomKind::FloorDiv) return floor_div(poly(new_args[0]), poly(new_args[1]), promised);
  std::vector<DimPoly> operands;
  for (const DimId a : new_args) operands.push_back(poly(a));
  return extremum(kind, std::move(operands));
}

// Returns the canonical form of an expression whose atoms all have theirs. An expression whose form would
// exceed the limits is returned unchanged: still equal, only longer.
DimId DimPool::State::rebuild_from_canon(DimId a) {
  if (const_value(a)) return a;
  if (exprs[a.index()].canon_epoch == epoch) return exprs[a.index()].canon;
  std::vector<std::pair<std::uint32_t, DimId>> by_atom;
  for (const std::uint32_t atom : atoms_of(poly(a))) by_atom.emplace_back(atom, atoms[atom].canon);
  DimId result = rebuild(a, by_atom);
  if (!result) result = a;
  DimExpr& there = exprs[result.index()];
  if (there.canon_epoch == epoch) {
    result = there.canon;
  } else {
    there.canon = result;  // a canonical form stays canonical within the epoch
    there.canon_epoch = epoch;
  }
  exprs[a.index()].canon = result;
  exprs[a.index()].canon_epoch = epoch;
  return result;
}

void DimPool::State::canonicalise_atoms(DimId a) {
  std::vector<std::uint32_t> stack = atoms_of(poly(a));
  std::vector<DimId> parts;
  while (!stack.empty()) {
    const std::uint32_t index = stack.back();
    if (atoms[index].canon_epoch == epoch) {
      stack.pop_back();
      continue;
    }
    const DimAtom atom = atoms[index];
    if (atom.kind == DimAtomKind::Symbol) {
      parts.clear();
      if (atom.alias) parts.push_back(atom.alias);
    } else {
      const auto span = args_of(atom);
      parts.assign(span.begin(), span.end());
    }
    const std::size_t before = stack.size();
    for (const DimId part : parts)
      for (const std::uint32_t inner : atoms_of(poly(part)))
        if (atoms[inner].canon_epoch != epoch) stack.push_back(inner);
    if (stack.size() != before) continue;  // these are resolved first
    for (DimId& part : parts) part = rebuild_from_canon(part);
    DimId canon = atom.self;
    if (atom.kind == DimAtomKind::Symbol) {
      if (atom.alias) {
        canon = parts[0];
        if (canon != atom.alias) atoms[index].learned_at = clock();  // the symbols in between leave the chain
        atoms[index].alias = canon;
      }
    } else if (const DimId made = rebuild_call(atom.kind, parts, true)) {
      canon = made;
    }
    atoms[index].canon = canon;
    atoms[index].canon_epoch = epoch;
    stack.pop_back();
  }
}

DimId DimPool::State::canonical(DimId a) {
  if (!a || a.index() < kSmallDims) return a;
  if (exprs[a.index()].canon_epoch == epoch) return exprs[a.index()].canon;
  if (const_value(a)) return a;
  if (const auto symbol = lone_symbol(a); symbol && !atoms[*symbol].alias) return a;
  canonicalise_atoms(a);
  return rebuild_from_canon(a);
}

DimId DimPool::State::substitute(DimId a, std::uint32_t symbol, DimId by,
                                 std::unordered_map<std::uint32_t, DimId>& done) {
  if (const_value(a)) return a;
  std::vector<std::pair<std::uint32_t, DimId>> by_atom;
  for (const std::uint32_t atom : atoms_of(poly(a))) {
    if (atoms[atom].kind == DimAtomKind::Symbol) {
      by_atom.emplace_back(atom, atom == symbol ? by : atoms[atom].self);
      continue;
    }
    if (const auto known = done.find(atom); known != done.end()) {
      by_atom.emplace_back(atom, known->second);
      continue;
    }
    const auto span = args_of(atoms[atom]);
    std::vector<DimId> parts(span.begin(), span.end());
    bool same = true;
    for (DimId& part : parts) {
      const DimId replaced = substitute(part, symbol, by, done);
      same &= replaced == part;
      part = replaced;
    }
    const DimId made = same ? atoms[atom].self : rebuild_call(atoms[atom].kind, parts, false);
    done.emplace(atom, made);
    by_atom.emplace_back(atom, made);
  }
  return rebuild(a, by_atom);
}

// Divides d == 0 by numbers, and by atoms whose range excludes 0. Returns false when that gives a
// contradiction (2*x == 1).
bool DimPool::State::divide_out(DimPoly& d) {
  const std::int64_t g = content(d, false);
  if (g == 0) return d.empty();
  if (g > 1) {
    if (const_term(d) % g != 0) return false;
    for (DimTerm& t : d) t.coef /= g;
  }
  std::uint32_t common = d[0].mono;
  for (const DimTerm& t : d) common = mono_gcd(common, t.mono);
  const auto span = factors_of(common);
  const std::vector<std::uint32_t> list(span.begin(), span.end());
  for (const std::uint32_t atom : list) {
    const Range r = atom_range(atom);
    if (r.low <= 0 && r.high >= 0) continue;
    const std::uint32_t mono = mono_of_atom(atom);
    for (DimTerm& t : d) t.mono = *mono_div(t.mono, mono);
  }
  return !(is_const(d) && !d.empty()) && (content(d, false) <= 1 || const_term(d) % content(d, false) == 0);
}

bool DimPool::State::linked(const DimPoly& p) const {
  for (const std::uint32_t atom : atoms_of(p)) {
    if (atoms[atom].kind == DimAtomKind::Symbol) {
      if (atoms[atom].symbol_kind == SymbolKind::Fresh) return false;
      continue;
    }
    for (const DimId arg : args_of(atoms[atom]))
      if (!linked(poly(arg))) return false;
  }
  return true;
}

// Returns true if no symbol in it has an alias. Canonical expressions satisfy this, except those that the
// limits left unchanged.
bool DimPool::State::settled(const DimPoly& p) const {
  for (const std::uint32_t atom : atoms_of(p)) {
    if (atoms[atom].alias) return false;
    for (const DimId arg : args_of(atoms[atom]))
      if (!settled(poly(arg))) return false;
  }
  return true;
}

// Returns the symbol that d == 0 can be solved for, if any: a fresh one first, then one that stood alone on a
// side of the equation, then the youngest.
std::optional<std::uint32_t> DimPool::State::solvable(const DimPoly& d, DimId side_a, DimId side_b) {
  std::optional<std::uint32_t> best;
  int best_rank = 0;
  for (const DimTerm& t : d) {
    if ((t.coef != 1 && t.coef != -1) || monos[t.mono].degree != 1) continue;
    const std::uint32_t atom = factors_of(t.mono)[0];
    if (atoms[atom].kind != DimAtomKind::Symbol) continue;
    DimPoly one, rest;
    if (!split(d, atom, true, one, rest) || !is_const(one) || contains(rest, atom)) continue;
    const bool fresh = atoms[atom].symbol_kind == SymbolKind::Fresh;
    if (atoms[atom].alias || !settled(rest)) continue;  // otherwise aliases could form a cycle
    if (!fresh && !linked(rest)) continue;              // an input symbol is only replaced by input symbols
    const bool alone = atoms[atom].self == side_a || atoms[atom].self == side_b;
    const int rank = (fresh ? 4 : 0) + (alone ? 2 : 1);
    if (!best || rank > best_rank || (rank == best_rank && atom > *best)) {
      best = atom;
      best_rank = rank;
    }
  }
  return best;
}

// Derives bounds of the symbols that occur linearly in p from p in `value`. Returns false when one of them
// can have no value.
bool DimPool::State::narrowed(const DimPoly& p, Range value, Changes& changes) {
  for (std::size_t i = 0; i < p.size(); ++i) {
    const DimTerm t = p[i];
    if (monos[t.mono].degree != 1 || t.coef == std::numeric_limits<std::int64_t>::min()) continue;
    const std::uint32_t atom = factors_of(t.mono)[0];
    if (atoms[atom].kind != DimAtomKind::Symbol) continue;
    DimPoly rest = p;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const Range product = range_add(value, range_neg(range_of(rest)));  // coef * symbol
    const Range bound =
        t.coef > 0 ? range_divide(product, t.coef) : range_divide(range_neg(product), -t.coef);
    const Range now = range_meet(atoms[atom].range, bound);
    if (now.low > now.high) return false;
    if (now != atoms[atom].range) changes.emplace_back(atom, now);
  }
  return true;
}

void DimPool::State::note(std::uint32_t atom) {
  learned.push_back({atom, atoms[atom].range});
  atoms[atom].learned_at = clock();
}

// Nothing else depends on aliases and ranges: forms and ranges that are cached are of an earlier epoch then.
void DimPool::State::forget() {
  contradicted = false;
  if (learned.empty() && products.empty()) return;
  products.clear();
  bounds_epoch = 0;
  for (; !learned.empty(); learned.pop_back()) {
    DimAtom& atom = atoms[learned.back().atom];
    atom.range = learned.back().before;
    atom.alias = {};
    atom.learned_at = 0;
  }
  ++epoch;
}

DimPool::Knowledge DimPool::State::knowledge() const {
  Knowledge now{learned, {}, products, contradicted};
  for (const Learned& l : learned) {
    const DimAtom& atom = atoms[l.atom];
    now.symbols.push_back({l.atom, atom.range, atom.alias, atom.learned_at});
  }
  return now;
}

void DimPool::State::restore(const Knowledge& before) {
  forget();
  learned = before.learned;
  products = before.products;
  contradicted = before.contradicted;
  for (const Knowledge::Symbol& s : before.symbols) {
    atoms[s.atom].range = s.range;
    atoms[s.atom].alias = s.alias;
    atoms[s.atom].learned_at = s.learned_at;
  }
  bounds_epoch = 0;
  ++epoch;
}

// Returns the greatest learned_at of the symbols in a, as a was written.
std::uint32_t DimPool::State::newest(DimId a) const {
  std::uint32_t last = 0;
  std::vector<std::uint32_t> todo = atoms_of(poly(a));
  while (!todo.empty()) {
    const std::uint32_t atom = todo.back();
    todo.pop_back();
    last = std::max(last, atoms[atom].learned_at);
    for (const DimId arg : args_of(atoms[atom])) {
      const auto inner = atoms_of(poly(arg));
      todo.insert(todo.end(), inner.begin(), inner.end());
    }
  }
  return last;
}

// The canonical form is made first, since that notes in a symbol what happened to the symbols of its alias.
std::uint32_t DimPool::State::learned_at(DimId a) {
  if (a.index() < kSmallDims) return 0;
  const DimId now = canonical(a);
  return now == a ? newest(a) : std::max(newest(a), newest(now));
}

void DimPool::State::apply(const Changes& changes) {
  for (const auto& [atom, range] : changes) {
    note(atom);
    atoms[atom].range = range;
    if (const auto v = range_single(range); v && !atoms[atom].alias) atoms[atom].alias = constant(*v);
  }
  if (!changes.empty()) ++epoch;
}

bool DimPool::State::assert_zero(DimPoly d, DimId side_a, DimId side_b) {
  if (!divide_out(d)) return false;
  const Range r = range_of(d);
  if (r.low > 0 || r.high < 0) return false;
  Changes changes;
  if (!narrowed(d, {0, 0}, changes)) return false;
  DimId target;
  const auto symbol = solvable(d, side_a, side_b);
  if (symbol) {
    DimPoly one, rest;
    split(d, *symbol, true, one, rest);
    if (scale(rest, -const_of(one), rest)) target = intern(rest);
  }
  apply(changes);
  if (target && !atoms[*symbol].alias) {
    note(*symbol);
    atoms[*symbol].alias = target;
    ++epoch;
  }
  return true;
}

}  // namespace graphopt
