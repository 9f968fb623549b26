// The text form of bucket marks (parse_marks.h).
//
// Problem: names of symbols are whatever an exporter wrote ("x[1]", "N-N"), and one mistake must not be read
// as something else that is right. Method: names end at the first '=' outside quotes; then the text is cut at
// ',' and each part read by a table. Each function takes a part of the text away and says what was wrong with
// it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "buckets/marks/group_draft.h"
#include "buckets/marks/lengths.h"
#include "buckets/marks/number_text.h"
#include "buckets/marks/parse_marks.h"
#include "support/nearest.h"

namespace graphopt {
namespace {

using Problem = std::optional<MarkProblem>;

constexpr std::array<std::string_view, 5> kMethodForms = {"pow2", "step=", "geo=", "hist=", "max"};
constexpr std::array<std::string_view, 4> kOptions = {"align=", "min=", "pad=", "fixed"};
constexpr std::string_view kExample =
    "write SYMBOL=LOW..HIGH:METHOD or SYMBOL=SIZE,SIZE: seq=16..512:pow2, batch=1,2,4,8";

class SpecReader {
 public:
  explicit SpecReader(std::string_view text) : text_(text) {}
  Problem read();
  GroupDraft& draft() { return draft_; }

 private:
  Problem names();
  Problem sizes(std::string_view text);
  Problem range(std::string_view text, std::size_t dots);
  Problem list(std::string_view text);
  Problem method(std::string_view text);
  Problem hist(std::string_view text);
  Problem options(std::string_view text);
  Problem option(std::string_view text);
  static Problem whole(std::string_view text, std::string_view what, std::int64_t& to) {
    const auto v = read_whole(text, what);
    if (const auto* wrong = std::get_if<MarkProblem>(&v)) return *wrong;
    to = std::get<std::int64_t>(v);
    return std::nullopt;
  }

  std::string_view text_;
  std::vector<std::string> seen_;  // options
  GroupDraft draft_;
};

// Returns the part of `text` before the first ',' and takes it, and the comma, away.
std::string_view next_part(std::string_view& text) {
  const std::size_t comma = std::min(text.find(','), text.size());
  const std::string_view part = text.substr(0, comma);
  text.remove_prefix(std::min(comma + 1, text.size()));
  return trimmed(part);
}

bool number_follows(std::string_view text) {
  text = trimmed(text);
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return !text.empty() && (is_digit(text.front()) || text.starts_with(".."));
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::string_view take_digits(std::string_view& text) {
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
  text.remove_prefix(digits.size());
  return digits;
}

// Returns the method that people mean by a text that is none: "2x" doubles, "64" is a step, "1.25" a ratio.
// Empty for any other text.
std::string meant_method(std::string_view text) {
  const std::string_view given = text;
  constexpr std::array<std::string_view, 4> kTimes = {"x", "X", "*", "\u00d7"};
  for (const std::string_view sign : kTimes) {
    if (take(text, sign)) break;
    if (!text.ends_with(sign)) continue;
    text.remove_suffix(sign.size());
    break;
  }
  const bool is_factor = text.size() != given.size();
  if (!is_factor) take(text, "+");
  const std::optional<MarkNumber> number = read_number(text);
  const double value = number ? std::visit([](auto v) { return static_cast<double>(v); }, *number) : 0;
  if (!std::isfinite(value) || value <= 1) return {};
  if (is_factor && value == 2) return "pow2";
  return (is_factor || !looks_whole(text) ? "geo=" : "step=") + std::string(text);
}

// A range as other tools write it: "16:512", "16-512:pow2", "16...512", or as a slice "16:512:64".
Problem foreign_range(std::string_view text) {
  std::string_view rest = text;
  const std::string_view low = take_digits(rest);
  rest = trimmed(rest);
  constexpr std::array<std::string_view, 6> kSigns = {":", "-", "...", "\u2013", "~", "to"};
  const bool has_sign = std::ranges::any_of(kSigns, [&rest](std::string_view s) { return take(rest, s); });
  rest = trimmed(rest);
  const std::string_view high = take_digits(rest);
  if (low.empty() || !has_sign || high.empty() ||
      (!rest.empty() && rest.front() != ':' && rest.front() != ','))
    return std::nullopt;
  const auto a = read_whole(low, ""), b = read_whole(high, "");
  const auto* least = std::get_if<std::int64_t>(&a);
  const auto* greatest = std::get_if<std::int64_t>(&b);
  if (least == nullptr || greatest == nullptr) return std::nullopt;
  std::string method = "pow2";
  if (take(rest, ":")) {
    const std::string_view given = trimmed(rest.substr(0, rest.find(',')));
    const std::string meant = meant_method(given);
    method = !meant.empty() ? meant : given.empty() ? method : std::string(given);
  }
  return MarkProblem{
      fmt::format("found '{}', which is neither a range nor a list", text),
      fmt::format("write {}..{}:{} (or step=64, geo=1.25, hist=FILE:8, max), or {},{} for these sizes",
                  std::min(*least, *greatest), std::max(*least, *greatest), method, low, high)};
}

Problem SpecReader::names() {
  std::size_t at = 0;
  for (;;) {
    while (at < text_.size() && (text_[at] == ' ' || text_[at] == '\t')) ++at;
    std::string name;
    if (at < text_.size() && text_[at] == '\'') {
      for (++at; at < text_.size() && text_[at] != '\''; ++at) {
        if (text_[at] == '\\' && at + 1 < text_.size()) ++at;
        name += text_[at];
      }
      if (at == text_.size())
        return MarkProblem{"a quote is not closed", "write '...' around a name, with \\' for a quote inside"};
      ++at;
      while (at < text_.size() && (text_[at] == ' ' || text_[at] == '\t')) ++at;
      if (at < text_.size() && text_[at] != ',' && text_[at] != '=')
        return MarkProblem{fmt::format("found '{}' after the quoted name '{}'", text_.substr(at), name),
                           "',' or '=' follows a name"};
    } else {
      const std::size_t start = at;
      while (at < text_.size() && text_[at] != ',' && text_[at] != '=') ++at;
      name = trimmed(text_.substr(start, at - start));
    }
    draft_.group.symbols.push_back(std::move(name));
    if (at == text_.size()) return MarkProblem{"there is no '=' with sizes after it", std::string(kExample)};
    if (text_[at++] == '=') break;
  }
  text_ = trimmed(text_.substr(at));
  return std::nullopt;
}

Problem SpecReader::read() {
  if (trimmed(text_).empty()) return MarkProblem{"the text is empty", std::string(kExample)};
  if (auto p = names()) return p;
  if (text_.empty()) return MarkProblem{"there are no sizes after '='", std::string(kExample)};
  if (auto p = foreign_range(text_)) return p;
  const std::size_t dots = text_.find("..");
  if (dots != std::string_view::npos && text_.substr(0, dots).find_first_of(",:") == std::string_view::npos)
    return range(text_, dots);
  return list(text_);
}

Problem SpecReader::range(std::string_view text, std::size_t dots) {
  IntRange r;
  if (auto p = whole(text.substr(0, dots), "the least size", r.low)) return p;
  text.remove_prefix(dots + 2);
  const std::size_t end = std::min(text.find_first_of(":,"), text.size());
  if (auto p = whole(text.substr(0, end), "the greatest size", r.high)) return p;
  draft_.range = r;
  if (end == text.size() || text[end] == ',') {
    text.remove_prefix(std::min(end + 1, text.size()));
    return options(text);
  }
  text = trimmed(text.substr(end + 1));
  // A file name may have ',' in it; what follows its last ':' may not.
  const std::size_t colon = text.starts_with("hist=") ? text.rfind(':') : std::string_view::npos;
  const std::size_t comma =
      std::min(text.find(',', colon == std::string_view::npos ? 0 : colon), text.size());
  if (auto p = method(trimmed(text.substr(0, comma)))) return p;
  draft_.has_method = true;
  text.remove_prefix(std::min(comma + 1, text.size()));
  return options(text);
}

Problem SpecReader::list(std::string_view text) {
  if (text.find(':') != std::string_view::npos && text.find_first_of(",=") > text.find(':'))
    return MarkProblem{fmt::format("the method '{}' comes after one number", text.substr(text.find(':') + 1)),
                       "write a range before it: 1..512:pow2"};
  std::vector<std::int64_t> values;
  std::string_view rest = text;
  while (!rest.empty() && number_follows(rest)) {
    std::int64_t v = 0;
    if (auto p = whole(next_part(rest), "a size", v)) return p;
    values.push_back(v);
  }
  if (values.empty())
    return MarkProblem{fmt::format("found '{}' where sizes should stand", text), std::string(kExample)};
  if (auto p = options(rest)) return p;
  draft_.values = std::move(values);
  return std::nullopt;
}

Problem SpecReader::method(std::string_view text) {
  BucketGroup& g = draft_.group;
  if (text == "pow2") {
    g.method = BucketMethod::Pow2;
  } else if (text == "max") {
    g.method = BucketMethod::Max;
  } else if (take(text, "step=")) {
    g.method = BucketMethod::Step;
    return whole(text, "the step", g.step);
  } else if (take(text, "geo=")) {
    g.method = BucketMethod::Geo;
    const auto q = read_number(text);
    if (!q)
      return MarkProblem{fmt::format("found '{}' as the ratio", text), "write a number above 1: geo=1.25"};
    g.ratio = ratio_of(std::visit([](auto v) { return static_cast<double>(v); }, *q));
  } else if (take(text, "hist=")) {
    g.method = BucketMethod::Hist;
    return hist(text);
  } else {
    const std::string_view word = text.substr(0, text.find('='));
    std::string hint;
    if (const std::string meant = meant_method(text); !meant.empty())
      hint = fmt::format("did you mean {}..{}:{}? ", draft_.range->low, draft_.range->high, meant);
    else if (!nearest(word, kMethodForms).empty()) hint = suggest(word, kMethodForms, "methods") + " ";
    return MarkProblem{
        text.empty() ? "there is no method after ':'" : fmt::format("there is no method '{}'", text),
        hint + "methods: pow2, step=64, geo=1.25, hist=FILE:8, hist=FILE:auto, max"};
  }
  return std::nullopt;
}

// FILE:K, FILE:auto or FILE:auto:SHARE.
Problem SpecReader::hist(std::string_view text) {
  BucketGroup& g = draft_.group;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0)
    return MarkProblem{fmt::format("found 'hist={}'", text),
                       "write a file of lengths and the number of buckets: hist=lengths.txt:8, or "
                       "hist=lengths.txt:auto"};
  std::string_view file = text.substr(0, colon);
  const std::string_view last = text.substr(colon + 1);
  constexpr std::string_view kAuto = ":auto";
  if (file.ends_with(kAuto) && file.size() > kAuto.size()) {
    file.remove_suffix(kAuto.size());
    const auto share = read_number(last);
    if (!share)
      return MarkProblem{fmt::format("found 'auto:{}'", last),
                         "write the share of the work that one more bucket must save: auto:0.01"};
    g.share = std::visit([](auto v) { return static_cast<double>(v); }, *share);
  } else if (last != "auto") {
    std::int64_t most = 0;
    if (auto p = whole(last, "the number of buckets", most)) return p;
    g.most = most;
  }
  g.lengths_file = file;
  return std::nullopt;
}

Problem SpecReader::options(std::string_view text) {
  while (!text.empty())
    if (auto p = option(next_part(text))) return p;
  return std::nullopt;
}

Problem SpecReader::option(std::string_view text) {
  BucketGroup& g = draft_.group;
  const auto at = std::ranges::find_if(
      kOptions, [&](std::string_view o) { return o.ends_with('=') ? text.starts_with(o) : text == o; });
  if (at == kOptions.end()) {
    const std::string_view word = text.substr(0, text.find('='));
    const bool near = !word.empty() && !nearest(word, kOptions).empty();
    return MarkProblem{
        fmt::format("found '{}'", text),
        (near ? suggest(word, kOptions, "options") + " " : "") + "options: align=8, min=1, pad=0, fixed"};
  }
  if (std::ranges::find(seen_, *at) != seen_.end())
    return MarkProblem{fmt::format("'{}' is given twice", *at), "give it once"};
  seen_.emplace_back(*at);
  const std::string_view value = text.substr(at->size());
  if (*at == "align=") return whole(value, "align", g.align);
  if (*at == "min=") return whole(value, "min", draft_.min.emplace());
  if (*at == "fixed") {
    g.fixed = true;
    return std::nullopt;
  }
  g.pad = read_number(value);
  if (!g.pad)
    return MarkProblem{fmt::format("found '{}' as a pad value", value), "write a number, inf or -inf: pad=0"};
  return std::nullopt;
}

}  // namespace

Result<BucketGroup> parse_bucket_spec(std::string_view spec, std::string_view option) {
  SpecReader reader(spec);
  const std::string from = fmt::format("{} '{}'", option, spec);
  Problem p = reader.read();
  if (!p) p = complete(reader.draft());
  if (p) return Error{ErrorKind::Usage, {}, from + ": " + p->what, std::move(p->remedy)};
  BucketGroup& g = reader.draft().group;
  g.from = from;
  if (g.method == BucketMethod::Hist) {
    auto lengths = load_lengths(g.lengths_file, g.range, from);
    if (!lengths) return lengths.errors();
    g.lengths = *std::move(lengths);
  }
  return std::move(g);
}

}  // namespace graphopt
