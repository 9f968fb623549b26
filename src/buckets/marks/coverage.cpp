// See buckets.h.
#include "buckets/marks/coverage.h"

#include <algorithm>

namespace graphopt {
namespace {

using Box = std::vector<IntRange>;

// Searches a shape of a box for which the filter holds.
class HoleSearch {
 public:
  HoleSearch(ShapeFilter& filter, std::size_t boxes) : filter_(filter), left_(boxes) {}

  enum class Answer : std::uint8_t { Found, None, GaveUp };
  Answer run(const Box& cell, std::vector<std::int64_t>& shape) {
    std::vector<Box> boxes = {cell};
    while (!boxes.empty()) {
      const Box box = std::move(boxes.back());
      boxes.pop_back();
      for (const bool low : {true, false}) {
        shape.clear();
        for (const IntRange& r : box) shape.push_back(low ? r.low : r.high);
        if (filter_.holds(shape).value_or(false)) return Answer::Found;
      }
      const auto widest = std::ranges::max_element(box, {}, [](const IntRange& r) { return r.high - r.low; });
      if (widest->low == widest->high) continue;  // one shape, for which it does not hold
      if (left_ == 0) return Answer::GaveUp;
      --left_;
      if (filter_.holds_in(box) == Tri::No) continue;
      const std::int64_t middle = widest->low + (widest->high - widest->low) / 2;
      const auto axis = static_cast<std::size_t>(widest - box.begin());
      Box upper = box;
      upper[axis].low = middle + 1;
      boxes.push_back(std::move(upper));
      Box lower = box;
      lower[axis].high = middle;
      boxes.push_back(std::move(lower));
    }
    return Answer::None;
  }

 private:
  ShapeFilter& filter_;
  std::size_t left_;
};

}  // namespace

void BucketGrid::sizes(std::vector<std::int64_t>& out) const {
  out.clear();
  for (std::size_t i = 0; i < index_.size(); ++i) out.push_back(symbols_[i].values[index_[i]]);
}

bool BucketGrid::next() {
  for (std::size_t i = index_.size(); i-- > 0;) {
    if (++index_[i] < symbols_[i].values.size()) return true;
    index_[i] = 0;
  }
  return false;
}

std::optional<Hole> find_hole(std::span<const BucketSymbol> symbols, const std::vector<bool>& kept,
                              ShapeFilter* filter, std::size_t max_boxes) {
  // Whether a combination has a bucket that is no less in each symbol, and equal in fixed ones.
  std::vector<bool> covered = kept;
  std::size_t stride = 1;
  for (std::size_t i = symbols.size(); i-- > 0;) {
    const std::size_t length = symbols[i].values.size();
    if (!symbols[i].fixed)
      for (std::size_t at = kept.size(); at-- > 0;)
        if (at / stride % length + 1 < length && covered[at + stride]) covered[at] = true;
    stride *= length;
  }
  std::optional<HoleSearch> search;
  if (filter != nullptr) search.emplace(*filter, max_boxes);
  BucketGrid grid(symbols);
  Hole hole;
  Box cell(symbols.size());
  for (std::size_t at = 0; at < covered.size(); ++at, grid.next()) {
    if (covered[at]) continue;
    grid.sizes(hole.bucket);
    hole.shape = hole.bucket;
    if (!search) return hole;
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const BucketSymbol& s = symbols[i];
      const std::size_t k = grid.index()[i];
      const std::int64_t least = k == 0 ? s.range.low : s.values[k - 1] + 1;
      cell[i] = {s.fixed ? s.values[k] : least, s.values[k]};
    }
    const HoleSearch::Answer answer = search->run(cell, hole.shape);
    if (answer == HoleSearch::Answer::None) continue;
    hole.decided = answer == HoleSearch::Answer::Found;
    return hole;
  }
  return std::nullopt;
}

}  // namespace graphopt
