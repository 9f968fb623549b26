// Lists of bucket sizes, from the method of a group.
//
// Problem: each length L of a range shall find a size B(L) >= L in a short list, and B(L) shall not be much
// larger than L.
// Method: step, pow2, geo and max all give a size raw(x) for the least length x that is not covered yet; it
// is rounded up to a multiple of `align` and cut at the end of the range, and the next x is the one above. So
// each list is ascending and ends in range.high, which covers the range. With a = align, for L >= 1:
//
//   step=k   B(L) <= L + (k-1) + (a-1)
//   pow2     B(L) <= 2L - 1 + (a-1)
//   geo=q    B(L) <= floor(q*L) + (a-1); no list has fewer sizes with B(L) <= floor(q*L), where a = 1
//   max      B(L) = range.high
//   hist     the least expected work for the lengths observed (best_list.h)
//   list     as given
//
// Size 0 is covered by the first bucket; only a list can have the bucket 0. A multiple of `align` above the
// range is no bucket, since nothing says that the model is valid there: the last bucket may be none.
// Termination: each round covers a length more; the number of sizes is bounded by the caller.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "buckets/marks/best_list.h"
#include "buckets/marks/marks.h"

namespace graphopt {

// A symbol with its list.
struct BucketSymbol {
  std::string name;
  IntRange range;
  std::vector<std::int64_t> values;  // ascending; the last is range.high
  bool fixed = false;                // matches its values only
  bool adjustable = false;           // from a range by a method that pads: another ratio makes it shorter
  std::size_t group = 0;             // in BucketMarks::groups
  std::int64_t align = 1;
};

// The work of a run whose symbol has this length; linear where nothing is given. See best_list().
using WorkOf = std::function<LengthWork(std::string_view symbol)>;

// Returns the list of one group; none when it would have more than `most` sizes. Errors (ErrorKind::Usage)
// come from hist alone.
Result<std::optional<std::vector<std::int64_t>>> bucket_list(const BucketGroup& group, std::size_t most,
                                                             const LengthWork& work = {});

// Returns the list of geo=ratio; none when it would have more than `most` sizes. O(most).
std::optional<std::vector<std::int64_t>> geo_list(IntRange range, std::int64_t ratio, std::int64_t align,
                                                  std::size_t most);

// Returns the lists of all symbols, in the order of the groups and of their symbols. An error where a list
// alone exceeds the limit of the marks so far that no filter could help.
Result<std::vector<BucketSymbol>> bucket_symbols(const BucketMarks& marks, const WorkOf& work = {});

// Returns the least ratio, in thousandths, with which geo for all adjustable symbols gives at most `limit`
// buckets, and their number; none when no ratio does. Filters are not counted: they only remove buckets.
struct RatioThatFits {
  std::int64_t thousandths = 0;
  std::size_t buckets = 0;
};
std::optional<RatioThatFits> least_ratio(const std::vector<BucketSymbol>& symbols, std::size_t limit);
// The remedy for too many buckets: that ratio, shorter lists, a greater limit.
std::string too_many_remedy(const std::vector<BucketSymbol>& symbols, std::size_t limit);

}  // namespace graphopt
