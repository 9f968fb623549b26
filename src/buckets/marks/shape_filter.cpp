// See shape_filter.h.
#include "buckets/marks/shape_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "buckets/marks/number_text.h"
#include "support/nearest.h"

namespace graphopt {
namespace {

constexpr std::string_view kFilterForm =
    "write one comparison of sums and products of symbols: batch*seq <= 4096; the operators are <=, <, >=, > "
    "and "
    "==, quotes stand around a name that is no plain one: 'x[1]'";

constexpr std::string_view kKind = "symbols with buckets";

Error usage(std::string what, std::string remedy) {
  return {ErrorKind::Usage, {}, std::move(what), std::move(remedy)};
}

bool name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool name_char(char c) { return name_start(c) || (c >= '0' && c <= '9') || c == '.' || c == ':'; }

// Calls `see` with each name of an expression, and with each character outside names. Names before '(' are
// those of functions.
template <class Name, class Other> void scan(std::string_view text, const Name& name, const Other& other) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t start = at;
    std::string found;
    if (text[at] == '\'') {
      for (++at; at < text.size() && text[at] != '\''; ++at) {
        if (text[at] == '\\' && at + 1 < text.size()) ++at;
        found += text[at];
      }
      at = std::min(at + 1, text.size());
      name(found);
    } else if (name_char(text[at])) {  // a number begins no name, and is skipped as a whole
      while (at < text.size() && name_char(text[at])) ++at;
      const std::size_t next = text.find_first_not_of(" \t", at);
      const bool call = next != std::string_view::npos && text[next] == '(';
      if (name_start(text[start]) && !call) name(std::string(text.substr(start, at - start)));
    } else {
      other(at++);
    }
  }
}

}  // namespace

Result<DimId> parse_extent(DimPool& pool, std::string_view text, std::span<const std::string> names,
                           std::string_view kind, std::string_view from) {
  std::optional<Error> error;
  scan(
      text,
      [&](const std::string& name) {
        if (error || std::ranges::find(names, name) != names.end()) return;
        error = usage(fmt::format("{}: '{}' in '{}' is none of the {}", from, name, text, kind),
                      suggest(name, names, kind));
      },
      [](std::size_t) {});
  if (error) return *std::move(error);
  const DimId d = pool.parse(text);
  if (!d)
    return usage(fmt::format("{}: '{}' is no expression over symbols", from, text), std::string(kFilterForm));
  return d;
}

Result<ShapeFilter> ShapeFilter::parse(std::string_view text, std::span<const BucketSymbol> symbols,
                                       std::span<const DimRelation> dims) {
  constexpr std::array<std::pair<std::string_view, Relation>, 5> kRelations = {
      {{"<=", Relation::LessEqual},
       {">=", Relation::GreaterEqual},
       {"==", Relation::Equal},
       {"<", Relation::Less},
       {">", Relation::Greater}}};
  std::vector<std::size_t> signs;  // where '<', '>', '=' and '!' stand, outside quotes
  scan(
      text, [](const std::string&) {},
      [&](std::size_t at) {
        if (std::string_view("<>=!").find(text[at]) != std::string_view::npos) signs.push_back(at);
      });
  const auto wrong = [&](std::string_view what) {
    return usage(fmt::format("where: '{}' {}", text, what), std::string(kFilterForm));
  };
  if (signs.empty()) return wrong("is no comparison");
  const std::size_t length = signs.size() > 1 && signs[1] == signs[0] + 1 ? 2 : 1;
  if (signs.size() > length) return wrong("has more than one comparison");
  const std::string_view sign = text.substr(signs[0], length);
  const auto* const known =
      std::ranges::find(kRelations, sign, &std::pair<std::string_view, Relation>::first);
  if (known == kRelations.end()) return wrong(fmt::format("has '{}', which is no comparison", sign));

  ShapeFilter out;
  out.text_ = text;
  out.relation_ = known->second;
  std::vector<std::string> names;
  for (const BucketSymbol& s : symbols) {
    names.push_back(s.name);
    out.symbols_.push_back(out.pool_.symbol(s.name, {0, kMaxBucketExtent}));
  }
  // Relations that the filter does not name may be over any symbols.
  std::vector<std::pair<DimId, DimId>> relations;
  for (const DimRelation& d : dims) {
    if (text.find(d.symbol) == std::string_view::npos) continue;
    auto value = parse_extent(out.pool_, d.expression, names, kKind, "dims, " + d.symbol);
    if (!value) return value.errors();
    relations.emplace_back(out.pool_.symbol(d.symbol), *value);
  }
  for (const DimRelation& d : dims) names.push_back(d.symbol);
  const auto side = [&](std::string_view part) -> Result<DimId> {
    auto d = parse_extent(out.pool_, part, names, kKind, "where");
    if (!d) return d;
    for (const auto& [symbol, value] : relations)
      if (*d) *d = out.pool_.substitute(*d, symbol, value);
    if (!*d) return usage(fmt::format("where: '{}' is too large", part), std::string(kFilterForm));
    return d;
  };
  const auto left = side(trimmed(text.substr(0, signs[0]))),
             right = side(trimmed(text.substr(signs[0] + length)));
  if (!left) return left.errors();
  if (!right) return right.errors();
  out.left_ = *left;
  out.right_ = *right;
  return out;
}

std::string ShapeFilter::canonical() const {
  const auto sign = [this] {
    switch (relation_) {
      case Relation::Less: return " < ";
      case Relation::LessEqual: return " <= ";
      case Relation::Greater: return " > ";
      case Relation::GreaterEqual: return " >= ";
      case Relation::Equal: break;
    }
    return " == ";
  };
  return pool_.print(left_) + sign() + pool_.print(right_);
}

std::optional<bool> ShapeFilter::holds(std::span<const std::int64_t> sizes) const {
  std::vector<DimPool::Binding> binding;
  for (std::size_t i = 0; i < symbols_.size(); ++i) binding.push_back({symbols_[i], sizes[i]});
  const auto a = pool_.evaluate(left_, binding), b = pool_.evaluate(right_, binding);
  if (!a || !b) return std::nullopt;
  switch (relation_) {
    case Relation::Less: return *a < *b;
    case Relation::LessEqual: return *a <= *b;
    case Relation::Greater: return *a > *b;
    case Relation::GreaterEqual: return *a >= *b;
    case Relation::Equal: break;
  }
  return *a == *b;
}

Tri ShapeFilter::holds_in(std::span<const IntRange> box) {
  pool_.forget();
  for (std::size_t i = 0; i < symbols_.size(); ++i)
    (void)pool_.assert_range(symbols_[i], {box[i].low, box[i].high});
  switch (relation_) {
    case Relation::Less: return pool_.less(left_, right_);
    case Relation::LessEqual: return pool_.less_equal(left_, right_);
    case Relation::Greater: return pool_.less(right_, left_);
    case Relation::GreaterEqual: return pool_.less_equal(right_, left_);
    case Relation::Equal: break;
  }
  return pool_.equal(left_, right_);
}

}  // namespace graphopt
