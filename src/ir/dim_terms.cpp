// The printed form is unique and has a grammar (dim.h), so the parts are read from it.
#include "ir/dim_terms.h"

#include <string>
#include <string_view>

namespace graphopt {
namespace {

// Returns the first place in `text` from `begin` on, outside of parentheses and quotes, at which f(place) is
// true; the length of the text where there is none.
template <class F> std::size_t find_outside(std::string_view text, std::size_t begin, F f) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (quoted) {
      if (text[i] == '\\') ++i;
      else if (text[i] == '\'') quoted = false;
      continue;
    }
    if (depth == 0 && f(i)) return i;
    if (text[i] == '\'') quoted = true;
    else if (text[i] == '(') ++depth;
    else if (text[i] == ')') --depth;
  }
  return text.size();
}

// "name(": what stands between the parentheses; nothing for other texts.
std::optional<std::string_view> within(std::string_view text, std::string_view name) {
  if (!text.starts_with(name) || text.back() != ')') return std::nullopt;
  return text.substr(name.size(), text.size() - name.size() - 1);
}

std::optional<DimFactor> factor(DimPool& dims, std::string_view text) {
  DimFactor out;
  out.self = dims.parse(text);
  struct Call {
    std::string_view name, between;
    DimFactor::Kind kind;
  };
  constexpr Call kCalls[] = {{"floor(", "/", DimFactor::Kind::FloorDiv},
                             {"min(", ", ", DimFactor::Kind::Min},
                             {"max(", ", ", DimFactor::Kind::Max}};
  std::optional<std::string_view> inner;
  std::string_view between;
  for (const Call& call : kCalls) {
    inner = within(text, call.name);
    if (!inner) continue;
    out.kind = call.kind;
    between = call.between;
    break;
  }
  if (inner) {
    const std::size_t cut =
        find_outside(*inner, 0, [&](std::size_t i) { return inner->substr(i).starts_with(between); });
    if (cut == inner->size()) return std::nullopt;
    for (const std::string_view operand : {inner->substr(0, cut), inner->substr(cut + between.size())})
      out.operands.push_back(dims.parse(operand));
    if (!out.operands[0] || !out.operands[1]) return std::nullopt;
  } else if (!out.self || !dims.is_symbol(out.self)) {
    return std::nullopt;
  }
  return out.self ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<DimProduct> product(DimPool& dims, std::string_view text) {
  DimProduct out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = find_outside(text, begin, [&](std::size_t i) { return text[i] == '*'; });
    const std::string_view part = text.substr(begin, end - begin);
    const DimId number = begin == 0 ? dims.parse(part) : DimId{};
    if (const auto v = number ? dims.value(number) : std::nullopt) {
      out.coefficient = *v;
    } else {
      auto read = factor(dims, part);
      if (!read) return std::nullopt;
      out.factors.push_back(*std::move(read));
    }
    begin = end + 1;
  }
  return out;
}

}  // namespace

std::optional<std::vector<DimProduct>> terms_of(DimPool& dims, DimId a) {
  std::vector<DimProduct> out;
  if (!a) return std::nullopt;
  if (dims.is_constant(a, 0)) return out;
  const std::string text = dims.print(a);
  bool negative = text.starts_with('-');
  for (std::size_t begin = negative ? 1 : 0; begin < text.size();) {
    const std::string_view rest = text;
    const std::size_t end = find_outside(text, begin, [&](std::size_t i) {
      return rest.substr(i).starts_with(" + ") || rest.substr(i).starts_with(" - ");
    });
    auto term = product(dims, rest.substr(begin, end - begin));
    if (!term) return std::nullopt;
    if (negative) term->coefficient = -term->coefficient;
    out.push_back(*std::move(term));
    negative = end < text.size() && text[end + 1] == '-';
    begin = end + 3;
  }
  return out;
}

}  // namespace graphopt
