// See layout_tree.h.
#include "deploy/layout_tree.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace graphopt::deploy {
namespace {

constexpr const char* kMod = ") mod ";  // of a constraint
constexpr const char* kIsZero = " == 0";
constexpr std::array<std::string_view, 5> kRelations = {"<=", ">=", "==", "<", ">"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
// Of a name without quotes (ir/dim.h), which begins with none of the last two, nor with a digit.
bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '.' ||
         c == ':' || static_cast<unsigned char>(c) >= 0x80;
}

// Reads one extent at the front of a text.
class ExtentScanner {
 public:
  ExtentScanner(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  // Returns true if an extent begins here; it ends before the first token that cannot continue it.
  bool run() {
    while (true) {
      if (!operand()) return false;
      while (closes()) {
      }
      if (failed_) return false;
      if (!continues()) return open_.empty();
    }
  }
  std::size_t end() const { return at_; }
  std::vector<std::string>& symbols() { return symbols_; }

 private:
  // A parenthesis that is open: of a group, or of a function that takes so many operands.
  struct Open {
    std::size_t least = 1, most = 1, operands = 1;
  };

  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  bool next_is(char c) {
    skip_blanks();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }

  // Reads signs and open parentheses up to a number or a symbol.
  bool operand() {
    while (open_.size() <= kMaxLayoutDepth) {
      take('-');
      if (take('(')) {
        open_.push_back({});
        continue;
      }
      skip_blanks();
      if (at_ == text_.size()) return false;
      if (is_digit(text_[at_])) {
        while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
        return true;
      }
      if (take('\'')) return quoted();
      const std::size_t start = at_;
      if (!is_name_char(text_[at_]) || text_[at_] == '.' || text_[at_] == ':') return false;
      while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
      const std::string_view name = text_.substr(start, at_ - start);
      if (at_ == text_.size() || text_[at_] != '(') {
        symbols_.emplace_back(name);
        return true;
      }
      constexpr std::size_t kMany = 1U << 20;
      if (name == "floor") open_.push_back({});
      else if (name == "mod") open_.push_back({.least = 2, .most = 2, .operands = 1});
      else if (name == "min" || name == "max") open_.push_back({.least = 2, .most = kMany, .operands = 1});
      else return false;
      ++at_;
    }
    return false;
  }

  bool quoted() {
    std::string name;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\'') {
        ++at_;
        symbols_.push_back(std::move(name));
        return true;
      }
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      name += text_[at_];
    }
    return false;
  }

  // After an operand: takes a parenthesis that closes one of this extent.
  bool closes() {
    if (open_.empty() || !take(')')) return false;
    failed_ = failed_ || open_.back().operands < open_.back().least;
    open_.pop_back();
    return !failed_;
  }

  // Takes what another operand follows.
  bool continues() {
    skip_blanks();
    if (at_ == text_.size()) return false;
    const char c = text_[at_];
    if (c == '+' && at_ + 1 < text_.size() && text_[at_ + 1] == '+') return false;
    if (c == ',' && !open_.empty() && open_.back().operands < open_.back().most) ++open_.back().operands;
    else if (c != '+' && c != '-' && c != '*' && c != '/') return false;
    ++at_;
    return true;
  }

  std::string_view text_;
  std::size_t at_;
  std::vector<Open> open_;
  std::vector<std::string> symbols_;
  bool failed_ = false;
};

class LayoutParser {
 public:
  explicit LayoutParser(std::string_view text) : text_(text) {}

  std::optional<LayoutTree> run() {
    groups_.emplace_back();
    while (true) {
      // A parenthesis opens a group where no extent begins with it: "(a + b)*2".
      while (!leaf()) {
        if (groups_.size() > kMaxLayoutDepth || !take("(")) return std::nullopt;
        groups_.emplace_back();
      }
      while (groups_.size() > 1 && take(")"))
        if (!close()) return std::nullopt;
      if (at_end()) break;
      if (!joint()) return std::nullopt;
    }
    if (groups_.size() != 1) return std::nullopt;
    LayoutTree& whole = groups_[0];
    return std::move(whole.parts.size() == 1 ? whole.parts[0] : whole);
  }

 private:
  bool at_end() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    return at_ == text_.size();
  }
  bool take(std::string_view token) {
    if (at_end() || !text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  bool leaf() {
    LayoutTree out;
    if (take(kUnknownExtent)) {
      out.extent = kUnknownExtent;
    } else {
      at_end();
      ExtentScanner scanner(text_, at_);
      if (!scanner.run()) return false;  // nothing is taken
      std::string_view extent = text_.substr(at_, scanner.end() - at_);
      while (is_blank(extent.back())) extent.remove_suffix(1);
      out.extent = extent;
      at_ = scanner.end();
    }
    groups_.back().parts.push_back(std::move(out));
    return true;
  }

  bool close() {
    LayoutTree group = std::move(groups_.back());
    groups_.pop_back();
    if (group.parts.size() < 2) return false;
    groups_.back().parts.push_back(std::move(group));
    return true;
  }

  bool joint() {
    const LayoutTree::Kind kind = take("++")  ? LayoutTree::Kind::Segments
                                  : take("x") ? LayoutTree::Kind::Product
                                              : LayoutTree::Kind::Extent;
    LayoutTree& group = groups_.back();
    if (kind == LayoutTree::Kind::Extent || (group.parts.size() > 1 && group.kind != kind)) return false;
    group.kind = kind;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<LayoutTree> groups_;  // those that are open, the whole first
};

}  // namespace

std::optional<std::vector<std::string>> symbols_of_extent(std::string_view text) {
  if (text == kUnknownExtent) return std::vector<std::string>{};
  ExtentScanner scanner(text, 0);
  if (!scanner.run() || scanner.end() != text.size()) return std::nullopt;
  return std::move(scanner.symbols());
}

std::optional<std::vector<std::string>> symbols_of_comparison(std::string_view text) {
  ExtentScanner left(text, 0);
  if (!left.run()) return std::nullopt;
  const std::string_view rest = text.substr(left.end());
  const auto relation = std::ranges::find_if(kRelations, [rest](auto r) { return rest.starts_with(r); });
  if (relation == kRelations.end()) return std::nullopt;
  ExtentScanner right(text, left.end() + relation->size());
  if (!right.run() || right.end() != text.size()) return std::nullopt;
  std::vector<std::string> out = std::move(left.symbols());
  out.insert(out.end(), right.symbols().begin(), right.symbols().end());
  return out;
}

std::string Constraint::text() const { return '(' + extent + kMod + std::to_string(divisor) + kIsZero; }

std::optional<Constraint> parse_constraint(std::string_view text) {
  const std::size_t mod = text.rfind(kMod);
  if (!text.starts_with('(') || !text.ends_with(kIsZero) || mod == std::string_view::npos)
    return std::nullopt;
  const std::string_view extent = text.substr(1, mod - 1);
  std::string_view digits = text.substr(mod + std::string_view(kMod).size());
  if (digits.size() < std::string_view(kIsZero).size()) return std::nullopt;
  digits.remove_suffix(std::string_view(kIsZero).size());
  Constraint out{.extent = std::string(extent), .divisor = 0};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.divisor);
  if (error != std::errc{} || end != digits.data() + digits.size() || out.divisor < 1) return std::nullopt;
  return symbols_of_extent(extent) ? std::optional(std::move(out)) : std::nullopt;
}

std::string LayoutTree::text() const {
  if (kind == Kind::Extent) return extent;
  std::string out;
  for (const LayoutTree& part : parts) {
    if (!out.empty()) out += kind == Kind::Product ? " x " : " ++ ";
    out += part.kind == Kind::Extent ? part.extent : '(' + part.text() + ')';
  }
  return out;
}

void LayoutTree::add_symbols(std::vector<std::string>& to) const {
  if (kind == Kind::Extent) {
    if (auto own = symbols_of_extent(extent)) to.insert(to.end(), own->begin(), own->end());
    return;
  }
  for (const LayoutTree& part : parts) part.add_symbols(to);
}

// No layout of a pool is deeper than kMaxLayoutDepth.
LayoutTree layout_tree(const LayoutPool& layouts, const DimPool& dims, LayoutId id) {
  if (!id) return {.kind = LayoutTree::Kind::Extent, .extent = std::string(kUnknownExtent), .parts = {}};
  const Layout& of = layouts[id];
  if (of.parts.empty())
    return {.kind = LayoutTree::Kind::Extent, .extent = dims.print(of.extent), .parts = {}};
  LayoutTree out;
  out.kind = of.kind == LayoutKind::Product ? LayoutTree::Kind::Product : LayoutTree::Kind::Segments;
  for (const LayoutId part : of.parts) out.parts.push_back(layout_tree(layouts, dims, part));
  return out;
}

std::optional<LayoutTree> parse_layout(std::string_view text) { return LayoutParser(text).run(); }

}  // namespace graphopt::deploy
