// Symbolic dims as text, and their value under a binding.
//
// print() sorts terms by degree, then by name, so that the text does not depend on the order in which things
// were made. evaluate() works in 128 bits, so that only the results, not the intermediate values, must fit.
#include <algorithm>

#include "ir/dim_state.h"

namespace graphopt {
namespace {

struct PrintedTerm {
  std::size_t degree = 0;
  std::vector<std::string> factors;
  std::int64_t coef = 0;
};

std::string joined(const std::vector<std::string>& factors) {
  std::string out;
  for (const std::string& f : factors) {
    if (!out.empty()) out += '*';
    out += f;
  }
  return out;
}

std::string quoted_unless_plain(const std::string& name) {
  if (is_plain_dim_name(name)) return name;
  std::string out = "'";
  for (const char c : name) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + '\'';
}

}  // namespace

std::string DimPool::State::print_atom(std::uint32_t index) const {
  const DimAtom& atom = atoms[index];
  if (atom.kind == DimAtomKind::Symbol) return quoted_unless_plain(names[atom.name]);
  std::vector<std::string> texts;
  for (const DimId a : args_of(atom)) texts.push_back(print(a));
  if (atom.kind == DimAtomKind::FloorDiv) return "floor((" + texts[0] + ")/(" + texts[1] + "))";
  std::ranges::sort(texts);
  const std::string open = atom.kind == DimAtomKind::Min ? "min(" : "max(";
  std::string out;
  for (std::size_t i = 0; i + 1 < texts.size(); ++i) out += open + texts[i] + ", ";
  return out + texts.back() + std::string(texts.size() - 1, ')');
}

std::string DimPool::State::print(DimId a) const {
  if (const auto v = const_value(a)) return std::to_string(*v);
  std::vector<PrintedTerm> list;
  for (const DimTerm& t : poly(a)) {
    PrintedTerm& printed = list.emplace_back();
    printed.degree = monos[t.mono].degree;
    printed.coef = t.coef;
    for (const std::uint32_t f : factors_of(t.mono)) printed.factors.push_back(print_atom(f));
    std::ranges::sort(printed.factors);
  }
  std::ranges::sort(list, [](const PrintedTerm& x, const PrintedTerm& y) {
    return x.degree != y.degree ? x.degree > y.degree : x.factors < y.factors;
  });
  std::string out;
  for (const PrintedTerm& t : list) {
    const bool negative = t.coef < 0;
    if (!out.empty()) out += negative ? " - " : " + ";
    else if (negative) out += '-';
    const std::string size =
        std::to_string(negative ? -t.coef : t.coef);  // int64's minimum is never a coefficient
    if (t.factors.empty()) {
      out += size;
    } else {
      if (size != "1") out += size + '*';
      out += joined(t.factors);
    }
  }
  return out;
}

std::optional<std::int64_t> DimPool::State::evaluate_atom(std::uint32_t index,
                                                          std::span<const Binding> binding) const {
  const DimAtom& atom = atoms[index];
  if (atom.kind == DimAtomKind::Symbol) {
    for (const Binding& b : binding)
      if (b.symbol == atom.self) return b.value;
    return std::nullopt;
  }
  std::vector<std::int64_t> values;
  for (const DimId a : args_of(atom)) {
    const auto v = evaluate(a, binding);
    if (!v) return std::nullopt;
    values.push_back(*v);
  }
  switch (atom.kind) {
    case DimAtomKind::Symbol: break;
    case DimAtomKind::FloorDiv: {
      if (values[1] == 0) return std::nullopt;
      const Int128 n = values[0], d = values[1];
      const Int128 q = n / d - (n % d != 0 && (n < 0) != (d < 0) ? 1 : 0);
      const auto narrow = static_cast<std::int64_t>(q);
      return narrow == q ? std::optional(narrow) : std::nullopt;
    }
    case DimAtomKind::Min: return *std::ranges::min_element(values);
    case DimAtomKind::Max: return *std::ranges::max_element(values);
  }
  return std::nullopt;
}

std::optional<std::int64_t> DimPool::State::evaluate(DimId a, std::span<const Binding> binding) const {
  Int128 sum = 0;
  for (const DimTerm& t : poly(a)) {
    Int128 product = t.coef;
    bool zero = false, overflow = false;
    for (const std::uint32_t f : factors_of(t.mono)) {
      const auto v = evaluate_atom(f, binding);
      if (!v) return std::nullopt;
      zero |= *v == 0;
      overflow |= __builtin_mul_overflow(product, Int128{*v}, &product);
    }
    if (zero) continue;
    if (overflow || __builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  const auto narrow = static_cast<std::int64_t>(sum);
  return narrow == sum ? std::optional(narrow) : std::nullopt;
}

std::string DimPool::file_text(DimId a) const {
  return a && is_symbol(a) ? std::string(symbol_name(a)) : print(a);
}

}  // namespace graphopt
