// See bucket_lists.h.
#include "buckets/marks/bucket_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "support/checked.h"

namespace graphopt {
namespace {

__extension__ typedef __int128 Wide;

// No list is longer than this, or than the limit: the product over symbols is filtered one by one.
constexpr std::size_t kMaxList = 4096;

std::int64_t round_up(std::int64_t x, std::int64_t to) { return (x + to - 1) / to * to; }

// `raw` gives a size of at least x for a length x in 1 .. kMaxBucketExtent.
template <class Raw>
std::optional<std::vector<std::int64_t>> covering(IntRange range, std::int64_t align, std::size_t most,
                                                  const Raw& raw) {
  std::vector<std::int64_t> out;
  for (std::int64_t x = std::max<std::int64_t>(range.low, 1); x <= range.high; x = out.back() + 1) {
    if (out.size() == most) return std::nullopt;
    out.push_back(std::min(round_up(std::min(raw(x), range.high), align), range.high));
  }
  return out;
}

std::string symbols_text(const std::vector<BucketSymbol>& symbols) {
  std::string out;
  for (const BucketSymbol& s : symbols)
    if (s.adjustable) out += (out.empty() ? "" : ", ") + s.name;
  return out;
}

}  // namespace

std::optional<std::vector<std::int64_t>> geo_list(IntRange range, std::int64_t ratio, std::int64_t align,
                                                  std::size_t most) {
  return covering(range, align, most, [&](std::int64_t x) {
    return static_cast<std::int64_t>(
        std::min<Wide>(static_cast<Wide>(ratio) * x / kRatioOne, kMaxBucketExtent));
  });
}

Result<std::optional<std::vector<std::int64_t>>> bucket_list(const BucketGroup& g, std::size_t most,
                                                             const LengthWork& work) {
  using List = std::optional<std::vector<std::int64_t>>;
  switch (g.method) {
    case BucketMethod::List: return g.values.size() <= most ? List(g.values) : List();
    case BucketMethod::Step:
      return covering(g.range, g.align, most, [&](std::int64_t x) { return round_up(x, g.step); });
    case BucketMethod::Pow2:
      return covering(g.range, g.align, most, [](std::int64_t x) {
        return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(x)));
      });
    case BucketMethod::Geo: return geo_list(g.range, g.ratio, g.align, most);
    case BucketMethod::Max: return List(std::vector<std::int64_t>{g.range.high});
    case BucketMethod::Hist: break;
  }
  BestListOptions options;
  options.align = g.align;
  options.most = g.most ? static_cast<std::size_t>(*g.most) : most;
  if (!g.most) options.share = g.share;
  if (options.most > most) return List();
  Result<std::vector<std::int64_t>> best = best_list(g.lengths, g.range.high, options, work);
  if (best) return List(*std::move(best));
  Errors errors = best.errors();
  for (Error& e : errors) e.what = g.from + ": " + e.what;
  return errors;
}

Result<std::vector<BucketSymbol>> bucket_symbols(const BucketMarks& marks, const WorkOf& work) {
  std::vector<BucketSymbol> out;
  Errors errors;
  const auto limit = static_cast<std::size_t>(marks.limit);
  for (std::size_t i = 0; i < marks.groups.size(); ++i) {
    const BucketGroup& g = marks.groups[i];
    // An automatic number of buckets stays within the limit; all other lists may be cut by a filter.
    const bool automatic = g.method == BucketMethod::Hist && !g.most;
    const std::size_t most = automatic ? limit : std::max(limit, kMaxList);
    for (const std::string& name : g.symbols) {
      auto list = bucket_list(g, most, work ? work(name) : LengthWork());
      if (!list) return list.errors();
      BucketSymbol s{name, g.range, {}, g.fixed, g.method != BucketMethod::List && !g.fixed, i, g.align};
      if (*list) s.values = **std::move(list);
      else if (errors.size() < kMaxErrors)
        errors.push_back(
            {ErrorKind::Usage,
             {marks.file, {}, {}, {}, {}},
             fmt::format("{}: symbol '{}' alone would have more than {} buckets; the limit is {}", g.from,
                         name, most, limit),
             too_many_remedy({s}, limit)});
      out.push_back(std::move(s));
    }
  }
  if (!errors.empty()) return errors;
  return out;
}

std::optional<RatioThatFits> least_ratio(const std::vector<BucketSymbol>& symbols, std::size_t limit) {
  // The number of buckets with this ratio; none above the limit. It never grows with the ratio: a greater one
  // covers, bucket by bucket, at least as far.
  const auto count = [&](std::int64_t thousandths) -> std::optional<std::size_t> {
    std::size_t product = 1;
    for (const BucketSymbol& s : symbols) {
      std::size_t length = s.values.size();
      if (s.adjustable) {
        const auto list = geo_list(s.range, thousandths * (kRatioOne / 1000), s.align, limit / product);
        if (!list) return std::nullopt;
        length = list->size();
      }
      if (length > limit / product) return std::nullopt;
      product *= length;
    }
    return product;
  };
  if (std::ranges::none_of(symbols, &BucketSymbol::adjustable)) return std::nullopt;
  std::int64_t low = 1000, high = kMaxBucketExtent * 1000;  // 1000 does not fit, or is no ratio
  const std::optional<std::size_t> one_each = count(high);
  if (!one_each) return std::nullopt;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (count(middle) ? high : low) = middle;
  }
  return RatioThatFits{high, *count(high)};
}

std::string too_many_remedy(const std::vector<BucketSymbol>& symbols, std::size_t limit) {
  const auto fits = least_ratio(symbols, limit);
  const bool is_aligned =
      std::ranges::any_of(symbols, [](const BucketSymbol& s) { return s.adjustable && s.align > 1; });
  std::string out;
  if (fits)
    out = fmt::format("geo={} for {} gives {} (the least ratio that fits{}); or ",
                      static_cast<double>(fits->thousandths) / 1000, symbols_text(symbols), fits->buckets,
                      is_aligned ? "; align rounds up from there" : "");
  return out + fmt::format(
                   "write shorter lists, or raise the limit ({} at most): {{\"limit\": {{\"count\": ...}}}}",
                   kMaxBucketLimit);
}

}  // namespace graphopt
