// The contents of a DimPool: the representation of symbolic dims, private to src/ir/dim*.cpp.
//
// Three kinds of things are hash-consed into dense arrays, each referring to the one before it by index:
//   atom        a symbol, or an opaque call (floor division, min, max) with expressions as arguments
//   monomial    a sorted list of atoms, with repetition; number 0 is the empty product
//   expression  terms (coefficient, monomial), sorted by a graded lexicographic order of the monomials; 0 has
//               no terms
// The order is compatible with multiplication, which polynomial division needs. It depends on the order in
// which atoms were made, but no result does: printing sorts by name.
//
// mod(a, b) has no atom of its own. It is a - b*floor(a/b), so that whatever is equal through that relation
// has one form. What min and max have in common leaves the call, and both are flat: max(a + 1, max(b, c) + 1)
// is max(a, b, c) + 1.
//
// Limits, so that no model can exhaust time or memory: an expression that exceeds one is none ("unknown").
#pragma once

#include <array>
#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/dim.h"
#include "support/intern_index.h"

namespace graphopt {

inline constexpr std::size_t kMaxDimTerms = 64;      // of one expression
inline constexpr std::size_t kMaxDimDepth = 16;      // calls within calls
inline constexpr std::size_t kMaxDimSize = 1024;     // terms and factors, printed out in full
inline constexpr std::size_t kMaxDimDegree = 32;     // factors of one term
inline constexpr std::size_t kMaxDimProducts = 256;  // pairs of terms in one multiplication
inline constexpr std::size_t kMaxDimOperands = 16;   // of one min or max
inline constexpr std::size_t kMaxBounds = 64;        // products with a bound of their own
inline constexpr std::int64_t kSmallDims = 1024;     // the constants 0..1023 are there from the start

__extension__ typedef __int128 Int128;

// Returns true if the text can stand in an expression as a name without quotes. dim_parse.cpp.
bool is_plain_dim_name(std::string_view text);

struct DimTerm {
  std::int64_t coef = 0;
  std::uint32_t mono = 0;
  friend bool operator==(const DimTerm&, const DimTerm&) = default;
};
using DimPoly = std::vector<DimTerm>;

enum class DimAtomKind : std::uint8_t { Symbol, FloorDiv, Min, Max };

struct DimAtom {
  DimAtomKind kind = DimAtomKind::Symbol;
  SymbolKind symbol_kind = SymbolKind::Input;
  std::uint16_t depth = 0, size = 1;
  std::uint32_t args_first = 0, args_count = 0;  // into State::args
  std::uint32_t name = 0;                        // into State::names (symbols)
  std::uint32_t range_epoch = 0, canon_epoch = 0;
  std::uint32_t learned_at = 0;  // a symbol: State::clock() when its alias or range changed; 0 for never
  Range range;                   // a symbol's own; of a call: computed in range_epoch
  DimId self;                    // the expression that is just this atom
  DimId alias;                   // a symbol that was found to equal this; none otherwise
  DimId canon;                   // with aliases replaced, in canon_epoch
};

struct DimMono {
  std::uint32_t first = 0, degree = 0;  // into State::factors
};

struct DimExpr {
  std::uint32_t first = 0, count = 0;  // into State::terms
  std::uint16_t depth = 0, size = 0;
  std::uint32_t range_epoch = 0, canon_epoch = 0;
  DimId canon;
  Range range;
};

// Interval arithmetic; kMin as a low end and kMax as a high end mean "no bound". dim_range.cpp.
Range range_of_constant(std::int64_t v);
Range range_clamped(std::int64_t low, std::int64_t high);  // low <= high is kept
std::optional<std::int64_t> range_single(Range r);         // the only number in it
Range range_add(Range a, Range b);
Range range_neg(Range a);
Range range_mul(Range a, Range b);
Range range_hull(Range a, Range b);
Range range_meet(Range a, Range b);           // may be empty: low > high
Range range_floor_div(Range a, Range b);      // b >= 1, whatever its low bound is
Range range_divide(Range a, std::int64_t k);  // the integers x with k*x in a; k > 0
inline constexpr Range kAnyInteger{Range::kMin, Range::kMax};

struct DimPool::State {
  struct Division;  // these two: dim_call.cpp
  struct Operands;
  std::vector<DimTerm> terms;
  std::vector<DimExpr> exprs;
  std::vector<std::uint32_t> factors;
  std::vector<DimMono> monos;
  std::vector<DimId> args;
  std::vector<DimAtom> atoms;
  std::deque<std::string> names;  // a deque: views of names stay valid
  std::unordered_map<std::string_view, std::uint32_t> input_symbols;
  std::vector<std::uint32_t> fresh_symbols;
  std::uint64_t last_fresh = 0;  // the number in the name of the fresh symbol that was named last
  std::uint32_t epoch = 1;
  struct Learned {
    std::uint32_t atom;
    Range before;
  };
  std::vector<Learned> learned;  // each alias and narrowed range, in order, for forget()
  bool contradicted = false;     // an assertion failed
  std::vector<std::pair<DimId, std::int64_t>> products;        // as given to assert_at_most
  std::vector<std::pair<std::uint32_t, std::int64_t>> bounds;  // of monomials, from these, in bounds_epoch
  std::uint32_t bounds_epoch = 0;
  InternIndex expr_index{2048}, mono_index{2048}, call_index{2048};

  State();

  // --- dim_store.cpp: construction and access --------------------------------------------------------------
  DimId constant(std::int64_t v);
  DimId intern(const DimPoly& p);
  DimPoly poly(DimId a) const;
  std::uint32_t new_symbol(SymbolKind kind, std::string name, Range range);
  DimId call(DimAtomKind kind, std::vector<DimId> args);
  bool is_const(const DimPoly& p) const { return p.empty() || (p.size() == 1 && p[0].mono == 0); }
  std::int64_t const_of(const DimPoly& p) const { return p.empty() ? 0 : p[0].coef; }  // when is_const
  std::int64_t const_term(const DimPoly& p) const;  // its constant term; terms of degree 0 sort last
  std::optional<std::int64_t> const_value(DimId a) const;
  std::optional<std::uint32_t> lone_atom(const DimPoly& p) const;  // coefficient 1, degree 1
  std::optional<std::uint32_t> lone_symbol(DimId a) const;
  std::uint32_t mono_of_atom(std::uint32_t atom);
  std::uint32_t intern_mono(const std::vector<std::uint32_t>& sorted_factors);
  std::optional<std::uint32_t> mono_mul(std::uint32_t a, std::uint32_t b);
  std::optional<std::uint32_t> mono_div(std::uint32_t a, std::uint32_t b);
  std::uint32_t mono_gcd(std::uint32_t a, std::uint32_t b);
  int mono_compare(std::uint32_t a, std::uint32_t b) const;
  std::span<const std::uint32_t> factors_of(std::uint32_t mono) const;
  std::span<const DimId> args_of(const DimAtom& atom) const;
  std::vector<std::uint32_t> atoms_of(
      const DimPoly& p) const;                                // each once, ascending; not those inside calls
  bool contains(const DimPoly& p, std::uint32_t atom) const;  // anywhere, inside calls too

  // Each returns false, and leaves `out` unspecified, where a limit or int64 is exceeded. `out` may be the
  // same object as an operand.
  bool add(const DimPoly& a, const DimPoly& b, std::int64_t factor_of_b, DimPoly& out) const;
  bool mul(const DimPoly& a, const DimPoly& b, DimPoly& out);
  bool scale(const DimPoly& a, std::int64_t k, DimPoly& out) const;
  bool normalise(DimPoly& p) const;  // sorts, merges, drops zeros
  static DimPoly constant_poly(std::int64_t v) { return v == 0 ? DimPoly{} : DimPoly{{v, 0}}; }
  // Splits p == q*atom + rest, with no atom in rest. Returns false if `linear` is set and q contains the
  // atom.
  bool split(const DimPoly& p, std::uint32_t atom, bool linear, DimPoly& q, DimPoly& rest);

  // --- dim_symbols.cpp -------------------------------------------------------------------------------------
  std::string next_fresh_name(const std::unordered_set<std::string>& taken);

  // --- dim_call.cpp: rules of division, min and max --------------------------------------------------------
  // `positive` promises b >= 1.
  DimId floor_div(DimPoly a, DimPoly b, bool positive);
  DimId extremum(DimAtomKind kind, std::vector<DimPoly> operands);
  bool exact_divide(const DimPoly& a, const DimPoly& b, DimPoly& quotient);
  std::int64_t content(const DimPoly& p, bool with_constant) const;  // gcd of the coefficients; 0 for none

  // --- dim_range.cpp ---------------------------------------------------------------------------------------
  Range range_of(DimId canonical_id);
  Range range_of(const DimPoly& p);
  Range atom_range(std::uint32_t atom);
  Range mono_range(std::uint32_t mono);
  std::int64_t bound_of(std::uint32_t mono);  // by assert_at_most; Range::kMax when there is none
  void renew_bounds();
  Range plain_range(const DimPoly& p);
  Range refined_range(const DimPoly& p, int depth, int& budget);
  Range without_floor(const DimPoly& p, std::uint32_t atom, Range known, int depth, int& budget);
  Range without_extremum(const DimPoly& p, std::uint32_t atom, Range known, int depth, int& budget);

  // --- dim_alias.cpp ---------------------------------------------------------------------------------------
  DimId canonical(DimId a);
  void canonicalise_atoms(DimId a);
  DimId rebuild(DimId a, const std::vector<std::pair<std::uint32_t, DimId>>& by_atom);
  DimId rebuild_from_canon(DimId a);
  DimId rebuild_call(DimAtomKind kind, const std::vector<DimId>& new_args, bool promised);
  DimId substitute(DimId a, std::uint32_t symbol, DimId by, std::unordered_map<std::uint32_t, DimId>& done);
  bool divide_out(DimPoly& d);
  bool assert_zero(DimPoly d, DimId side_a, DimId side_b);
  std::optional<std::uint32_t> solvable(const DimPoly& d, DimId side_a, DimId side_b);
  using Changes = std::vector<std::pair<std::uint32_t, Range>>;
  bool narrowed(const DimPoly& p, Range value, Changes& changes);
  void apply(const Changes& changes);
  std::uint32_t clock() const { return static_cast<std::uint32_t>(learned.size()); }
  void note(std::uint32_t atom);  // call it before the alias or range of a symbol changes
  void forget();
  Knowledge knowledge() const;
  void restore(const Knowledge& before);
  std::uint32_t learned_at(DimId a);
  std::uint32_t newest(DimId a) const;
  bool linked(const DimPoly& p) const;
  bool settled(const DimPoly& p) const;

  // --- dim_text.cpp ----------------------------------------------------------------------------------------
  std::string print(DimId a) const;
  std::string print_atom(std::uint32_t atom) const;
  std::optional<std::int64_t> evaluate(DimId a, std::span<const Binding> binding) const;
  std::optional<std::int64_t> evaluate_atom(std::uint32_t atom, std::span<const Binding> binding) const;
};

struct DimPool::Knowledge {
  std::vector<State::Learned> learned;
  struct Symbol {
    std::uint32_t atom;
    Range range;
    DimId alias;
    std::uint32_t learned_at;
  };
  std::vector<Symbol> symbols;  // those in `learned`
  std::vector<std::pair<DimId, std::int64_t>> products;
  bool contradicted = false;
};

}  // namespace graphopt
