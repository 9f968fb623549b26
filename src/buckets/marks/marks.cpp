#include "buckets/marks/marks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "support/nearest.h"

namespace graphopt {
namespace {

Error usage(const BucketMarks& marks, std::string what, std::string remedy) {
  return {ErrorKind::Usage, {marks.file, {}, {}, {}, {}}, std::move(what), std::move(remedy)};
}

std::string range_text(IntRange r) { return fmt::format("{}..{}", r.low, r.high); }

// Of an integer and a double exactly: long double holds both where it has 64 bits or more of precision.
bool less(const MarkNumber& a, const MarkNumber& b) {
  const auto wide = [](const MarkNumber& n) {
    return std::visit([](auto v) { return static_cast<long double>(v); }, n);
  };
  if (a.index() == 0 && b.index() == 0) return std::get<0>(a) < std::get<0>(b);
  return wide(a) < wide(b);
}

std::string values_text(const InputMark& i) {
  return fmt::format("[{}, {}]", number_text(i.values->first), number_text(i.values->second));
}

std::optional<Error> outside(const BucketMarks& marks, const InputMark& input, const MarkNumber& pad,
                             const std::string& by) {
  if (!input.values || (!less(pad, input.values->first) && !less(input.values->second, pad)))
    return std::nullopt;
  return usage(marks,
               fmt::format("the pad value {} of input '{}'{} lies outside its range of values {}",
                           number_text(pad), input.input, by, values_text(input)),
               fmt::format("take a pad value from {}, or widen \"values\" if the model also accepts {}",
                           values_text(input), number_text(pad)));
}

std::optional<MarkProblem> check_symbols(const BucketGroup& g) {
  if (g.symbols.empty())
    return MarkProblem{"no symbol is named", "write SYMBOL=..., for example seq=16..512:pow2"};
  for (std::size_t i = 0; i < g.symbols.size(); ++i) {
    if (g.symbols[i].empty())
      return MarkProblem{"a name is empty", "write names between commas: src,tgt=16..512:pow2"};
    if (std::find(g.symbols.begin(), g.symbols.begin() + static_cast<std::ptrdiff_t>(i), g.symbols[i]) !=
        g.symbols.begin() + static_cast<std::ptrdiff_t>(i))
      return MarkProblem{fmt::format("symbol '{}' is twice in its group", g.symbols[i]), "name it once"};
  }
  return std::nullopt;
}

std::optional<MarkProblem> check_range(const BucketGroup& g) {
  const IntRange r = g.range;
  if (r.low > r.high)
    return MarkProblem{fmt::format("the range {} is reversed", range_text(r)),
                       fmt::format("write {}..{}", r.high, r.low)};
  if (r.low < 0)
    return MarkProblem{fmt::format("the range {} begins below 0", range_text(r)),
                       fmt::format("a size is 0 or more: write 1..{}", std::max<std::int64_t>(r.high, 1))};
  if (r.high < 1)
    return MarkProblem{fmt::format("the range {} holds no size but 0", range_text(r)),
                       "let it end at 1 or more: it is the greatest size that a run may have"};
  if (r.high > kMaxBucketExtent)
    return MarkProblem{fmt::format("the size {} is too large", r.high),
                       fmt::format("a dim of an input has at most {}", kMaxBucketExtent)};
  return std::nullopt;
}

std::optional<MarkProblem> check_list(const BucketGroup& g) {
  for (const std::int64_t v : g.values) {
    if (v < g.range.low)
      return MarkProblem{fmt::format("the bucket {} lies below the least size {}", v, g.range.low),
                         "leave the bucket out, or let 'min' be no greater than the first one"};
    if (v % g.align != 0)
      return MarkProblem{fmt::format("the bucket {} is no multiple of align={}", v, g.align),
                         fmt::format("write {}, or leave 'align' out: a list is taken as it is",
                                     (v / g.align + 1) * g.align)};
  }
  return std::nullopt;
}

std::optional<MarkProblem> check_method(const BucketGroup& g) {
  switch (g.method) {
    case BucketMethod::List: return check_list(g);
    case BucketMethod::Step:
      if (g.step < 1 || g.step > kMaxBucketExtent)
        return MarkProblem{fmt::format("found step={}", g.step),
                           fmt::format("a step is a whole number from 1 to {}", kMaxBucketExtent)};
      break;
    case BucketMethod::Geo:
      if (g.ratio <= kRatioOne || g.ratio > kMaxBucketExtent * kRatioOne)
        return MarkProblem{
            fmt::format("found geo={}", static_cast<double>(g.ratio) / kRatioOne),
            "a ratio is above 1, by 0.000000001 at least, and below 2^31: with 1.25 sizes grow "
            "by a quarter at most, before 'align' rounds them up"};
      break;
    case BucketMethod::Hist:
      if (g.most && (*g.most < 1 || *g.most > kMaxBucketLimit))
        return MarkProblem{fmt::format("found {} as the number of buckets", *g.most),
                           fmt::format("it is a whole number from 1 to {}, or auto", kMaxBucketLimit)};
      if (!(g.share >= 0 && g.share <= 1))
        return MarkProblem{fmt::format("found auto:{}", g.share),
                           "it is the share of the work that one more bucket must save: 0.01 is one percent; "
                           "allowed: 0 to 1"};
      break;
    case BucketMethod::Pow2:
    case BucketMethod::Max: break;
  }
  return std::nullopt;
}

}  // namespace

std::string number_text(const MarkNumber& n) {
  return std::visit([](auto v) { return fmt::format("{}", v); }, n);
}

std::optional<MarkProblem> check_group(const BucketGroup& g) {
  if (auto p = check_symbols(g)) return p;
  if (auto p = check_range(g)) return p;
  if (g.align < 1 || g.align > kMaxBucketExtent)
    return MarkProblem{fmt::format("found align={}", g.align),
                       fmt::format("it is a whole number from 1 to {}", kMaxBucketExtent)};
  if (auto p = check_method(g)) return p;
  const bool paddable =
      g.method == BucketMethod::Geo || g.method == BucketMethod::Hist || g.method == BucketMethod::Max;
  if (g.fixed && paddable)
    return MarkProblem{
        "'fixed' makes no sense with geo, hist and max, which choose sizes to pad up to: a fixed symbol is "
        "never padded and meets its own sizes only",
        fmt::format("list the sizes that runs have: {}=1,2,4,{},fixed (step and pow2 may be fixed, too), or "
                    "leave 'fixed' out",
                    g.symbols.front(), g.range.high)};
  return std::nullopt;
}

Errors check_marks(const BucketMarks& marks) {
  Errors out;
  const auto add = [&](Error e) {
    if (out.size() < kMaxErrors) out.push_back(std::move(e));
  };
  std::map<std::string_view, const BucketGroup*> group_of;
  for (const BucketGroup& g : marks.groups) {
    for (const std::string& s : g.symbols) {
      const auto [at, fresh] = group_of.try_emplace(s, &g);
      if (fresh) continue;
      const BucketGroup& first = *at->second;
      if (first.fixed && g.fixed)
        add(usage(marks, fmt::format("symbol '{}' is fixed twice: by {} and by {}", s, first.from, g.from),
                  "put all its sizes into one list"));
      else
        add(usage(marks, fmt::format("symbol '{}' is in two groups: {} and {}", s, first.from, g.from),
                  "a symbol has one list of sizes: leave it out of one of them"));
    }
  }
  std::map<std::string_view, const DimRelation*> related;
  for (const DimRelation& d : marks.dims) {
    if (!related.try_emplace(d.symbol, &d).second)
      add(usage(marks, fmt::format("symbol '{}' is defined twice in \"dims\"", d.symbol), "define it once"));
    if (const auto at = group_of.find(d.symbol); at != group_of.end())
      add(usage(marks,
                fmt::format("symbol '{}' follows from others ('{}'), and {} gives it buckets of its own",
                            d.symbol, d.expression, at->second->from),
                "leave it out of the groups, or out of \"dims\""));
  }
  std::map<std::string_view, const InputMark*> named;
  for (const InputMark& i : marks.inputs) {
    if (!named.try_emplace(i.input, &i).second)
      add(usage(marks, fmt::format("input '{}' is marked twice", i.input), "mark it once"));
    if (i.values && less(i.values->second, i.values->first))
      add(usage(marks,
                fmt::format("the range of values {} of input '{}' is reversed", values_text(i), i.input),
                fmt::format("write [{}, {}]", number_text(i.values->second), number_text(i.values->first))));
    else if (i.pad)
      if (auto e = outside(marks, i, *i.pad, "")) add(*std::move(e));
  }
  return out;
}

Errors unknown_names(const BucketMarks& marks, std::span<const std::string> symbols,
                     std::span<const std::string> inputs) {
  Errors out;
  const auto known = [](std::span<const std::string> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto is_place = [&](std::string_view name) {
    const std::size_t open = name.rfind('[');
    if (open == std::string_view::npos || !name.ends_with(']')) return false;
    const std::string_view axis = name.substr(open + 1, name.size() - open - 2);
    return !axis.empty() && axis.find_first_not_of("0123456789") == std::string_view::npos &&
           known(inputs, name.substr(0, open));
  };
  const auto check_symbol = [&](const std::string& s, const std::string& from) {
    if (known(symbols, s) || is_place(s) || out.size() == kMaxErrors) return;
    out.push_back(usage(marks, fmt::format("{}: the model's inputs have no symbol '{}'", from, s),
                        suggest(s, symbols, "symbols of the inputs")));
  };
  for (const BucketGroup& g : marks.groups)
    for (const std::string& s : g.symbols) check_symbol(s, g.from);
  for (const DimRelation& d : marks.dims) check_symbol(d.symbol, "dims");
  for (const InputMark& i : marks.inputs)
    if (!known(inputs, i.input) && out.size() < kMaxErrors)
      out.push_back(usage(marks, fmt::format("inputs: the model has no input '{}'", i.input),
                          suggest(i.input, inputs, "inputs")));
  return out;
}

Result<std::optional<MarkNumber>> pad_of(const BucketMarks& marks, std::string_view input,
                                         std::span<const std::string> symbols) {
  const auto own = std::ranges::find(marks.inputs, input, &InputMark::input);
  if (own != marks.inputs.end() && own->pad) return own->pad;  // check_marks() has compared it
  const BucketGroup* by = nullptr;
  for (const BucketGroup& g : marks.groups) {
    const bool concerned = std::ranges::any_of(
        g.symbols, [&](const std::string& s) { return std::ranges::find(symbols, s) != symbols.end(); });
    if (!concerned || !g.pad) continue;
    if (by != nullptr && by->pad != g.pad)
      return usage(
          marks,
          fmt::format("input '{}' has dims of two groups with different pad values: {} of {}, and {} of {}",
                      input, number_text(*by->pad), by->from, number_text(*g.pad), g.from),
          fmt::format("give the input its own: \"inputs\": {{\"{}\": {{\"pad\": {}}}}}", input,
                      number_text(*by->pad)));
    if (by == nullptr) by = &g;
  }
  if (by == nullptr) return std::optional<MarkNumber>();
  if (own != marks.inputs.end())
    if (auto e = outside(marks, *own, *by->pad, ", given by " + by->from + ",")) return *std::move(e);
  return by->pad;
}

}  // namespace graphopt
