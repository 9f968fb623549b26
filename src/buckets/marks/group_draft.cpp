#include "buckets/marks/group_draft.h"

#include <fmt/format.h>

#include <algorithm>

namespace graphopt {
namespace {

constexpr std::string_view kMethodExamples = "pow2, step=64, geo=1.25, hist=FILE:8 or max";

std::optional<MarkProblem> complete_list(GroupDraft& d) {
  BucketGroup& g = d.group;
  if (d.range || d.has_method)
    return MarkProblem{fmt::format("a list of sizes has no {}", d.range ? "range" : "method"),
                       "leave out one of both; 'min' says where the range of a list begins"};
  std::vector<std::int64_t> values = *d.values;
  if (values.empty()) return MarkProblem{"the list of sizes is empty", "write one size or more: 1,2,4,8"};
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.front() < 0)
    return MarkProblem{fmt::format("the size {} is negative", values.front()), "write sizes of 0 or more"};
  g.method = BucketMethod::List;
  g.range.low = d.min.value_or(g.fixed ? values.front() : std::min<std::int64_t>(values.front(), 1));
  g.range.high = values.back();
  g.values = std::move(values);
  return std::nullopt;
}

}  // namespace

std::optional<MarkProblem> complete(GroupDraft& d) {
  BucketGroup& g = d.group;
  if (d.values) {
    if (auto p = complete_list(d)) return p;
  } else if (!d.range) {
    return MarkProblem{"there are no sizes",
                       fmt::format("give a list (1,2,4,8), or a range and a method: {}", kMethodExamples)};
  } else if (!d.has_method && d.range->low > d.range->high) {
    return MarkProblem{
        fmt::format("the range {}..{} is reversed, and it has no method", d.range->low, d.range->high),
        fmt::format("write {}..{}:pow2", d.range->high, d.range->low)};
  } else if (!d.has_method) {
    return MarkProblem{
        fmt::format("the range {}..{} has no method", d.range->low, d.range->high),
        fmt::format("add one of {}: {}..{}:pow2", kMethodExamples, d.range->low, d.range->high)};
  } else if (d.min) {
    return MarkProblem{fmt::format("'min' is given with the range {}..{}", d.range->low, d.range->high),
                       fmt::format("write {}..{}: 'min' is for lists", *d.min, d.range->high)};
  } else {
    g.range = *d.range;
  }
  return check_group(g);
}

}  // namespace graphopt
