// Reads symbolic dims from text: the grammar of dim.h, and what exporters write besides.
//
//   sum     := product { ('+'|'-') product }
//   product := signed { ('*'|'/'|'//'|'%') signed }
//   signed  := { '+'|'-' } power          power := primary [ '**' int ]
//   primary := number | name | '(' sum ')' | function '(' sum { ',' sum } ')' | "'" escaped name "'"
//   function: floor, ceil, ceiling, min, max, mod; FloorDiv, CeilDiv, CleanDiv, Mod, PythonMod, Min, Max
//
// A dim_param of a file is a name, and many names can be read as expressions ("-1", "N-N", "+N"). Only what
// exporters write over names that stand alone elsewhere is taken for an expression (expression()): a sign
// stands only at the start of a sum, a number has no needless zeros and is not itself the name of a dim, and
// there are no quotes.
//
// Symbolic math packages write floor(h/8 - 1/8), so an intermediate value is a fraction of two expressions.
// It becomes an integer under floor or ceil, or must divide exactly. Depth of recursion and length of the
// text are limited, because dims come from files.
#include <algorithm>
#include <charconv>

#include "ir/dim_state.h"
#include "support/checked.h"

namespace graphopt {
namespace {

constexpr std::size_t kMaxTextLength = 4096;
constexpr int kMaxNesting = 48;
constexpr std::int64_t kMaxPower = 32;

struct Fraction {
  DimId top, bottom;  // none: the text was not understood
};

constexpr bool name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
constexpr bool digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool name_char(char c) { return name_start(c) || digit(c) || c == '.' || c == ':'; }
constexpr bool blank(char c) { return c == ' ' || c == '\t'; }

enum class DimFunction { Floor, Ceil, Min, Max, Mod, FloorDiv, CeilDiv };
struct FunctionName {
  std::string_view name;
  DimFunction function;
};
constexpr FunctionName kFunctions[] = {
    {"floor", DimFunction::Floor},       {"ceil", DimFunction::Ceil},
    {"ceiling", DimFunction::Ceil},      {"min", DimFunction::Min},
    {"Min", DimFunction::Min},           {"max", DimFunction::Max},
    {"Max", DimFunction::Max},           {"mod", DimFunction::Mod},
    {"Mod", DimFunction::Mod},           {"PythonMod", DimFunction::Mod},
    {"FloorDiv", DimFunction::FloorDiv}, {"CleanDiv", DimFunction::FloorDiv},
    {"CeilDiv", DimFunction::CeilDiv},
};

using Names = std::unordered_set<std::string_view>;

class Parser {
 public:
  // With `names` the text is a dim_param, and only these names may be in it.
  Parser(DimPool& pool, std::string_view text, const Names* names)
      : pool_(pool), text_(text), names_(names) {}

  DimId run() {
    const Fraction f = sum();
    skip_blanks();
    return at_ == text_.size() ? whole(f) : DimId{};
  }

 private:
  Fraction number(DimId v) { return {v, pool_.constant(1)}; }

  // Returns the integer that a fraction equals; none if it does not divide exactly.
  DimId whole(Fraction f) {
    if (pool_.is_constant(f.bottom, 1)) return f.top;
    return pool_.exact_div(f.top, f.bottom);
  }

  Fraction add(Fraction a, Fraction b, bool minus) {
    if (a.bottom == b.bottom) return {minus ? pool_.sub(a.top, b.top) : pool_.add(a.top, b.top), a.bottom};
    const DimId left = pool_.mul(a.top, b.bottom), right = pool_.mul(b.top, a.bottom);
    return {minus ? pool_.sub(left, right) : pool_.add(left, right), pool_.mul(a.bottom, b.bottom)};
  }
  Fraction mul(Fraction a, Fraction b) { return {pool_.mul(a.top, b.top), pool_.mul(a.bottom, b.bottom)}; }
  Fraction floor_div(Fraction a, Fraction b) {
    return number(pool_.floor_div(pool_.mul(a.top, b.bottom), pool_.mul(a.bottom, b.top)));
  }

  void skip_blanks() {
    while (at_ < text_.size() && blank(text_[at_])) ++at_;
  }
  bool eat(std::string_view token) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  bool next_is(std::string_view token) {
    skip_blanks();
    return text_.substr(at_).starts_with(token);
  }

  Fraction sum() {
    if (++nesting_ > kMaxNesting) return {};
    sign_allowed_ = true;
    Fraction left = product();
    while (left.top && left.bottom) {
      if (eat("+")) left = add(left, product(), false);
      else if (eat("-")) left = add(left, product(), true);
      else break;
    }
    --nesting_;
    return left;
  }

  Fraction product() {
    Fraction left = signed_power();
    while (left.top && left.bottom) {
      if (eat("//")) {
        left = floor_div(left, signed_power());
      } else if (eat("/")) {
        const Fraction right = signed_power();
        left = {pool_.mul(left.top, right.bottom), pool_.mul(left.bottom, right.top)};
        if (pool_.is_constant(left.bottom, 0)) return {};
      } else if (eat("*")) {
        left = mul(left, signed_power());
      } else if (eat("%")) {
        left = number(pool_.mod(whole(left), whole(signed_power())));
      } else {
        break;
      }
    }
    return left;
  }

  Fraction signed_power() {
    bool minus = false;
    if (!names_) {
      while (next_is("+") || next_is("-")) minus ^= text_[at_++] == '-';
    } else if (sign_allowed_) {
      minus = eat("-");
    }
    sign_allowed_ = false;
    return power(minus);
  }

  Fraction power(bool minus) {
    skip_blanks();
    const bool literal = at_ < text_.size() && digit(text_[at_]);
    Fraction base = literal ? number_literal(minus) : primary();
    const bool negated = literal && minus;  // so that the minimum of int64 can be read
    if (!eat("**")) {
      if (minus && !negated) base.top = pool_.neg(base.top);
      return base;
    }
    if (negated) base.top = pool_.neg(base.top);  // -2**2 is -(2**2)
    const auto exponent = integer(false);
    if (!exponent || *exponent > kMaxPower) return {};
    Fraction result = number(pool_.constant(1));
    for (std::int64_t i = 0; i < *exponent; ++i) result = mul(result, base);
    if (minus) result.top = pool_.neg(result.top);
    return result;
  }

  std::optional<std::int64_t> integer(bool minus) {
    skip_blanks();
    const std::size_t start = at_;
    while (at_ < text_.size() && digit(text_[at_])) ++at_;
    if (names_ && at_ - start > 1 && text_[start] == '0') return std::nullopt;
    std::string digits = minus ? "-" : "";
    digits += text_.substr(start, at_ - start);
    std::int64_t v = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), v);
    if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    return v;
  }

  Fraction number_literal(bool minus) {
    const std::size_t start = at_;
    const auto v = integer(minus);
    if (!v) return {};
    Fraction f = number(pool_.constant(*v));
    if (at_ >= text_.size() || text_[at_] != '.')
      return names_ && names_->contains(text_.substr(start, at_ - start)) ? Fraction{} : f;
    ++at_;  // 0.5 is 5/10: the integer part does not carry the sign of -0.5, so digits are signed one by one
    if (names_ && (at_ >= text_.size() || !digit(text_[at_]))) return {};
    while (at_ < text_.size() && digit(text_[at_])) {
      const DimId d = pool_.constant(minus ? -(text_[at_] - '0') : text_[at_] - '0');
      f = {pool_.add(pool_.mul(f.top, pool_.constant(10)), d), pool_.mul(f.bottom, pool_.constant(10))};
      ++at_;
    }
    return f;
  }

  Fraction primary() {
    skip_blanks();
    if (at_ >= text_.size()) return {};
    if (eat("(")) {
      const Fraction inside = sum();
      return eat(")") ? inside : Fraction{};
    }
    if (!names_ && eat("'")) return quoted_name();
    if (!name_start(text_[at_])) return {};
    const std::size_t start = at_;
    while (at_ < text_.size() && name_char(text_[at_])) ++at_;
    const std::string_view name = text_.substr(start, at_ - start);
    if (eat("(")) {
      if (names_ && names_->contains(name)) return {};  // is it a call, or a dim times something?
      for (const FunctionName& f : kFunctions)
        if (f.name == name) return call(f.function);
      return {};
    }
    const DimId symbol = names_ && !names_->contains(name) ? DimId{} : pool_.find_symbol(name);
    return symbol ? number(symbol) : Fraction{};
  }

  Fraction quoted_name() {
    std::string name;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\'') {
        ++at_;
        const DimId symbol = pool_.find_symbol(name);
        return symbol ? number(symbol) : Fraction{};
      }
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      name += text_[at_];
    }
    return {};
  }

  Fraction call(DimFunction function) {
    std::vector<Fraction> args;
    do {
      args.push_back(sum());
      if (!args.back().top || !args.back().bottom || args.size() > kMaxDimOperands) return {};
    } while (eat(","));
    if (!eat(")")) return {};
    const std::size_t n = args.size();
    switch (function) {
      case DimFunction::Floor:
        return n == 1 ? number(pool_.floor_div(args[0].top, args[0].bottom)) : Fraction{};
      case DimFunction::Ceil:
        return n == 1 ? number(pool_.ceil_div(args[0].top, args[0].bottom)) : Fraction{};
      case DimFunction::Mod: return n == 2 ? number(pool_.mod(whole(args[0]), whole(args[1]))) : Fraction{};
      case DimFunction::FloorDiv: return n == 2 ? floor_div(args[0], args[1]) : Fraction{};
      case DimFunction::CeilDiv:
        return n == 2 ? number(pool_.ceil_div(whole(args[0]), whole(args[1]))) : Fraction{};
      case DimFunction::Min:
      case DimFunction::Max: break;
    }
    DimId result = whole(args[0]);
    for (std::size_t i = 1; i < n; ++i) {
      const DimId next = whole(args[i]);
      result = function == DimFunction::Min ? pool_.min(result, next) : pool_.max(result, next);
    }
    return number(result);
  }

  DimPool& pool_;
  std::string_view text_;
  const Names* names_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  bool sign_allowed_ = false;  // at the start of a sum
};

}  // namespace

bool is_plain_dim_name(std::string_view text) {
  return !text.empty() && name_start(text.front()) && std::ranges::all_of(text, name_char);
}

DimId DimPool::parse(std::string_view text) {
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  if (text.empty() || text.size() > kMaxTextLength) return {};
  return Parser(*this, text, nullptr).run();
}

DimId DimPool::expression(std::string_view text, const std::unordered_set<std::string_view>& names) {
  if (text.empty() || text.size() > kMaxTextLength || is_plain_dim_name(text)) return {};
  if (blank(text.front()) || blank(text.back())) return {};
  const DimId d = Parser(*this, text, &names).run();
  return d && !value(d) && !is_symbol(d) ? d : DimId{};
}

}  // namespace graphopt
