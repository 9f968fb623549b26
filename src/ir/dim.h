// Symbolic dimensions: integer expressions over symbols, hash-consed in a pool, so that equal expressions
// have equal ids.
//
// An expression is a polynomial with int64 coefficients over atoms; an atom is a symbol or an opaque call
// (floor division, modulo, min, max) whose arguments are expressions. Terms are sorted by degree, then by
// name, so the printed form is unique. Its grammar:
//   expr := term { ('+'|'-') term }   term := [int '*'] factor { '*' factor }   factor := symbol | call
//   call := 'floor((' expr ')/(' expr '))' | 'min(' expr ', ' expr ')' | 'max(' expr ', ' expr ')'
//         | 'mod(' expr ', ' expr ')'
// A symbol whose name is not a plain one (letters, digits, '_', '.', ':', no digit first) is printed between
// quotes: '-1' is a symbol, -1 is a number. In a file a dim that is one symbol has the bare name (file_text).
//
// All arithmetic is that of the mathematical integers. Where a coefficient leaves int64, or an operand is
// none, the result is none ("unknown"), never a wrapped number. Ids stay valid for the life of the pool.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "support/ids.h"

namespace graphopt {

enum class Tri : std::uint8_t { No, Yes, Unknown };

struct Range {  // inclusive
  std::int64_t low = 0;
  std::int64_t high = kMax;
  static constexpr std::int64_t kMax = std::int64_t{1} << 62;  // "no upper bound known"
  static constexpr std::int64_t kMin = -(std::int64_t{1} << 62);
  friend bool operator==(const Range&, const Range&) = default;
};

enum class SymbolKind : std::uint8_t {
  Input,  // names a dim of a graph input (or was given by --dim): what users and runtimes can bind; the name
          // may be any text
  Fresh,  // stands for one dim that nothing else is known about; printed as u1, u2, ...
};

class DimPool {
 public:
  DimPool();
  ~DimPool();
  DimPool(DimPool&&) noexcept;
  DimPool& operator=(DimPool&&) noexcept;
  // Returns a pool with the same expressions, ids and knowledge. What one learns the other does not know.
  DimPool clone() const;

  // --- making expressions ----------------------------------------------------------------------------------
  DimId constant(std::int64_t v);
  // The input symbol of that name; the same name gives the same id. An existing one keeps its range.
  DimId symbol(std::string_view name, Range range = {});
  // Returns the input symbol of that name, or none when there is no such symbol.
  DimId find_symbol(std::string_view name) const;
  // A new symbol that equals nothing but itself. Dims have low = 0; a data value may be negative.
  DimId fresh(Range range = {});

  DimId add(DimId a, DimId b);
  DimId sub(DimId a, DimId b);
  DimId neg(DimId a);
  DimId mul(DimId a, DimId b);
  DimId floor_div(DimId a, DimId b);  // rounds towards minus infinity; none when b may be 0
  DimId ceil_div(DimId a, DimId b);
  DimId trunc_div(DimId a,
                  DimId b);     // rounds towards zero, as Div of integers in ONNX; none when unsure which
  DimId mod(DimId a, DimId b);  // sign of the divisor; none when b may be 0
  DimId min(DimId a, DimId b);
  DimId max(DimId a, DimId b);
  DimId product(std::span<const DimId> dims);

  // --- queries ---------------------------------------------------------------------------------------------
  std::optional<std::int64_t> value(DimId a) const;  // when it is a number
  bool is_constant(DimId a, std::int64_t v) const;
  Range range(DimId a) const;  // sound bounds by interval arithmetic; none -> all of int64
  // Yes when the relation holds for all values of all symbols in their ranges, No when it holds for none.
  Tri equal(DimId a, DimId b) const;
  Tri less(DimId a, DimId b) const;
  Tri less_equal(DimId a, DimId b) const;
  // Returns a / b when b divides a as a polynomial. b must not be 0: its range excludes 0, or the caller
  // promises so by `b_nonzero`.
  DimId exact_div(DimId a, DimId b, bool b_nonzero = false);
  bool linked(DimId a) const;                    // a number, or input symbols only
  bool is_symbol(DimId a) const;                 // a single symbol with coefficient 1
  std::vector<DimId> symbols_of(DimId a) const;  // each once, in the order of their creation

  // --- facts that are learned later ------------------------------------------------------------------------
  // States that a == b in every run that the model accepts. When one side is a single symbol, or the
  // difference can be solved for a symbol with coefficient 1 or -1, that symbol becomes an alias: canonical()
  // replaces it from then on. A fresh symbol is replaced before an input symbol; an input symbol is replaced
  // by another input symbol only if that one is older. Returns false, and changes nothing, when a and b
  // cannot be equal. Returns true also when nothing could be learned.
  bool assert_equal(DimId a, DimId b);
  // Narrows the range of a single symbol. Returns false, and changes nothing, when the range would be empty.
  bool assert_range(DimId symbol, Range range);
  // States that a product of extents, none of them negative, is at most `high` in every run: they are those
  // of one tensor. Where one of them may be 0, that bounds no product of the others. The first kMaxBounds
  // different products count.
  void assert_at_most(DimId product, std::int64_t high);
  // Returns a with all known aliases replaced. equal, less, range and print do this themselves; ids that were
  // made earlier do not change.
  DimId canonical(DimId a) const;
  std::uint32_t epoch() const;  // grows with each alias or narrowed range, and with forget()
  // Forgets all of them: the nodes from which they were learned may be gone.
  void forget();
  // What was learned since the last forget(), for restore().
  struct Knowledge;
  std::shared_ptr<const Knowledge> knowledge() const;
  // Forgets what was learned since, and knows again what was known then. Symbols and expressions stay.
  void restore(const Knowledge& before);
  // Returns true if something was asserted, since the last forget(), that no values of the symbols satisfy:
  // the model accepts no run, so each fact about its runs holds.
  bool contradicted() const;
  std::uint32_t clock() const;  // number of aliases and narrowed ranges since the last forget()
  // Returns the clock when something was last learned about a symbol in a, or in its canonical form; 0 for
  // never. What was decided about a at a clock of at least that is what would be decided now.
  std::uint32_t learned_at(DimId a) const;

  // --- text and numbers ------------------------------------------------------------------------------------
  std::string print(DimId a) const;  // canonical; "?" for none
  // Returns the text for a file's dim_param: the bare name of a single symbol, else what print() gives.
  std::string file_text(DimId a) const;
  // Parses an expression of the grammar above (also //, floor, ceil, *, parentheses as exporters write them).
  // Returns none when a name is not an existing input symbol.
  DimId parse(std::string_view text);
  // Reads a dim_param as the expression that an exporter may have meant. Returns none where the text is to be
  // taken as a name: it is not one of the forms that exporters write, a name in it is not in `names`, or the
  // value is a number or a single symbol ("+N"). The value may be negative. `names` holds the names of dims
  // that stand alone.
  DimId expression(std::string_view text, const std::unordered_set<std::string_view>& names);
  // Returns the value under a binding of symbol id -> value; nothing when a symbol is missing, on overflow,
  // and on division by 0.
  struct Binding {
    DimId symbol;
    std::int64_t value;
  };
  std::optional<std::int64_t> evaluate(DimId a, std::span<const Binding> binding) const;
  DimId substitute(DimId a, DimId symbol, DimId by);
  std::string_view symbol_name(DimId a) const;  // of a single symbol, without quotes; "u7" for a fresh one
  // Fresh symbols are named "u1", "u2", ..., without the names of input symbols. This numbers them anew: the
  // listed ones first, in that order, then the others in the order of their creation. Names in `taken` are
  // left out.
  void number_fresh(std::span<const DimId> first, const std::unordered_set<std::string>& taken);

 private:
  struct State;
  explicit DimPool(std::unique_ptr<State> s);
  std::unique_ptr<State> s_;
};

}  // namespace graphopt
