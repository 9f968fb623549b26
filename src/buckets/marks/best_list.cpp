// See best_list.h.
#include "buckets/marks/best_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace graphopt {
namespace {

__extension__ typedef __int128 Wide;

constexpr std::int64_t kMaxWork = std::int64_t{1} << 62;

std::int64_t work_of(const LengthWork& work, std::int64_t length) {
  return std::clamp<std::int64_t>(work ? work(length) : length, 0, kMaxWork);
}

struct ListProblem {
  std::vector<std::int64_t> sizes;   // x, from 0
  std::vector<std::int64_t> work;    // w of size j, never falling
  std::vector<std::int64_t> before;  // C: how many lengths are in sizes 0 .. j-1

  // Of the sizes first .. last in one bucket.
  Wide cost(std::size_t first, std::size_t last) const {
    return static_cast<Wide>(work[last]) * (before[last + 1] - before[first]);
  }
};

ListProblem problem_of(std::span<const LengthCount> lengths, std::int64_t high, std::int64_t align,
                       const LengthWork& work) {
  ListProblem p;
  std::vector<std::int64_t> counts;
  const auto add = [&](std::int64_t length, std::int64_t count) {
    const std::int64_t size =
        std::min(std::max<std::int64_t>(length, 1) + align - 1, high + align - 1) / align * align;
    const std::int64_t cut = std::min(size, high);
    if (p.sizes.empty() || p.sizes.back() != cut) {
      p.sizes.push_back(cut);
      counts.push_back(0);
    }
    counts.back() += count;
  };
  for (const LengthCount& c : lengths) add(c.length, c.count);
  add(high, 0);
  p.before.push_back(0);
  for (std::size_t j = 0; j < p.sizes.size(); ++j) {
    const std::int64_t w = work_of(work, p.sizes[j]);
    p.work.push_back(j == 0 ? w : std::max(w, p.work.back()));
    p.before.push_back(p.before.back() + counts[j]);
  }
  return p;
}

// One step: from the least work of the sizes 0 .. j in k buckets to that in k + 1, for all j >= k.
class Layer {
 public:
  Layer(const ListProblem& p, const std::vector<Wide>& old, std::size_t k) : p_(p), old_(old), k_(k) {
    least.resize(old.size());
    last_of_rest.resize(old.size());
  }

  std::vector<Wide> least;
  std::vector<std::uint32_t> last_of_rest;  // the size in which the buckets before the last one end

  void solve() {
    struct Part {
      std::size_t first, end, low, high;  // sizes first .. end-1, whose rest ends in low .. high
    };
    const std::size_t n = old_.size();
    std::vector<Part> parts = {{k_, n, k_ - 1, n - 1}};
    while (!parts.empty()) {
      const Part part = parts.back();
      parts.pop_back();
      if (part.first >= part.end) continue;
      const std::size_t middle = part.first + (part.end - part.first) / 2;
      const std::size_t best = best_rest(middle, part.low, std::min(part.high, middle - 1));
      parts.push_back({part.first, middle, part.low, best});
      parts.push_back({middle + 1, part.end, best, part.high});
    }
  }

 private:
  std::size_t best_rest(std::size_t j, std::size_t low, std::size_t high) {
    std::size_t best = low;
    Wide value = old_[low] + p_.cost(low + 1, j);
    for (std::size_t i = low + 1; i <= high; ++i) {
      const Wide v = old_[i] + p_.cost(i + 1, j);
      if (v >= value) continue;
      value = v;
      best = i;
    }
    least[j] = value;
    last_of_rest[j] = static_cast<std::uint32_t>(best);
    return best;
  }

  const ListProblem& p_;
  const std::vector<Wide>& old_;
  std::size_t k_;
};

// Returns what one more bucket must save, and more than that.
Wide threshold(const ListProblem& p, std::optional<double> share) {
  if (!share) return 0;
  Wide exact = 0;
  for (std::size_t j = 0; j < p.sizes.size(); ++j) exact += p.cost(j, j);
  return static_cast<Wide>(*share * static_cast<double>(exact));
}

}  // namespace

Result<std::vector<std::int64_t>> best_list(std::span<const LengthCount> lengths, std::int64_t high,
                                            const BestListOptions& options, const LengthWork& work) {
  const ListProblem p = problem_of(lengths, high, std::max<std::int64_t>(options.align, 1), work);
  const std::size_t n = p.sizes.size();
  std::size_t most = std::clamp<std::size_t>(options.most, 1, n);
  if (options.share) most = std::clamp<std::size_t>(kMaxBestListCells / n, 1, most);
  if (n > kMaxBestListCells / most)
    return Error{
        ErrorKind::Usage,
        {},
        fmt::format("{} different lengths are too many for {} buckets", n, most),
        "round them up: 'align' makes lengths equal that share a bucket anyway (align=16), or ask for "
        "fewer buckets"};
  const Wide wanted = threshold(p, options.share);
  std::vector<Wide> least(n);
  for (std::size_t j = 0; j < n; ++j) least[j] = p.cost(0, j);
  std::vector<std::vector<std::uint32_t>> rests;  // of the second bucket, of the third, ...
  for (std::size_t k = 1; k < most; ++k) {
    Layer layer(p, least, k);
    layer.solve();
    if (least[n - 1] - layer.least[n - 1] <= wanted) break;
    least = std::move(layer.least);
    rests.push_back(std::move(layer.last_of_rest));
  }
  std::vector<std::int64_t> out;
  std::size_t j = n - 1;
  for (std::size_t k = rests.size();; --k) {
    out.push_back(p.sizes[j]);
    if (k == 0) break;
    j = rests[k - 1][j];
  }
  std::ranges::reverse(out);
  return out;
}

ExpectedWork expected_work(std::span<const LengthCount> lengths, std::span<const std::int64_t> list,
                           const LengthWork& work) {
  ExpectedWork out;
  for (const LengthCount& c : lengths) {
    const auto bucket = std::ranges::lower_bound(list, c.length);
    if (bucket == list.end()) continue;
    const auto exact = static_cast<double>(work_of(work, c.length));
    out.exact += static_cast<double>(c.count) * exact;
    out.padded += static_cast<double>(c.count) * std::max(exact, static_cast<double>(work_of(work, *bucket)));
  }
  return out;
}

}  // namespace graphopt
