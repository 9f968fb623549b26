// See formula.h. A product of a sum does not occur: the printed form is expanded.
#include "specialize/single/formula.h"

#include <charconv>
#include <string>

namespace graphopt {
namespace {

class Reader {
 public:
  Reader(DimPool& pool, std::string_view text) : pool_(pool), text_(text) {}

  std::optional<Formula> whole() {
    std::optional<Formula> f = sum();
    if (at_ != text_.size()) return std::nullopt;
    return f;
  }

 private:
  using Kind = Formula::Kind;

  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  static Formula number(std::int64_t n) { return {Kind::Number, n, {}, {}}; }

  std::optional<Formula> sum() {
    Formula out{Kind::Sum, 0, {}, {}};
    bool negative = take("-");
    do {
      std::optional<Formula> term = product(negative);
      if (!term) return std::nullopt;
      out.parts.push_back(*std::move(term));
      negative = text_.substr(at_, 3) == " - ";
    } while (take(" + ") || take(" - "));
    return out.parts.size() == 1 ? std::move(out.parts[0]) : std::move(out);
  }

  std::optional<Formula> product(bool negative) {
    Formula out{Kind::Product, 0, {}, {}};
    do {
      std::optional<Formula> f = factor();
      if (!f) return std::nullopt;
      out.parts.push_back(*std::move(f));
    } while (take("*"));
    if (negative && out.parts[0].kind == Kind::Number) out.parts[0].number = -out.parts[0].number;
    else if (negative) out.parts.insert(out.parts.begin(), number(-1));
    return out.parts.size() == 1 ? std::move(out.parts[0]) : std::move(out);
  }

  std::optional<Formula> factor() {
    if (take("floor((")) return call(Kind::FloorDiv, ")/(", "))");
    if (take("min(")) return call(Kind::Min, ", ", ")");
    if (take("max(")) return call(Kind::Max, ", ", ")");
    const std::size_t begin = at_;
    if (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      Formula out;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), out.number);
      if (error != std::errc{}) return std::nullopt;
      at_ = static_cast<std::size_t>(end - text_.data());
      return out;
    }
    if (at_ < text_.size() && text_[at_] == '\'') {
      for (++at_; at_ < text_.size() && text_[at_] != '\''; ++at_)
        if (text_[at_] == '\\') ++at_;
      ++at_;
    } else {
      at_ = std::min(text_.find_first_of(" *(),/", at_), text_.size());
    }
    if (at_ > text_.size()) return std::nullopt;
    const DimId symbol = pool_.parse(text_.substr(begin, at_ - begin));
    if (!symbol) return std::nullopt;
    return Formula{Kind::Symbol, 0, symbol, {}};
  }

  // Two operands with what stands between and behind them.
  std::optional<Formula> call(Kind kind, std::string_view between, std::string_view behind) {
    Formula out{kind, 0, {}, {}};
    for (const std::string_view end : {between, behind}) {
      const std::size_t begin = at_;
      std::optional<Formula> operand = sum();
      if (!operand) return std::nullopt;
      operand->dim = pool_.parse(text_.substr(begin, at_ - begin));
      if (!operand->dim || !take(end)) return std::nullopt;
      out.parts.push_back(*std::move(operand));
    }
    return out;
  }

  DimPool& pool_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<Formula> formula_of(DimPool& pool, DimId d) {
  if (!d) return std::nullopt;
  const std::string text = pool.print(d);
  std::optional<Formula> out = Reader(pool, text).whole();
  if (out) out->dim = pool.canonical(d);
  return out;
}

}  // namespace graphopt
