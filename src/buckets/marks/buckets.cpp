// See buckets.h.
#include "buckets/marks/buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "buckets/marks/coverage.h"
#include "buckets/marks/shape_filter.h"
#include "support/checked.h"

namespace graphopt {
namespace {

using Sizes = std::vector<std::int64_t>;

// The constraints with their symbols looked up; says whether a bucket meets them.
class Constraints {
 public:
  Constraints(const DimPool& dims, std::span<const BucketSymbol> symbols, std::span<const Divisibility> all)
      : dims_(dims) {
    for (const BucketSymbol& s : symbols) symbols_.push_back(dims.find_symbol(s.name));
    for (const Divisibility& d : all) {
      const auto concerned = [&](DimId s) { return std::ranges::find(symbols_, s) != symbols_.end(); };
      if (d.extent && std::ranges::any_of(dims.symbols_of(d.extent), concerned)) all_.push_back(d);
    }
  }

  // Returns the first one that the sizes do not meet; null when they meet all. One that cannot be computed,
  // for a symbol without buckets or a number beyond 64 bits, is not met.
  const Divisibility* broken(const Sizes& sizes) const {
    std::vector<DimPool::Binding> binding;
    for (std::size_t i = 0; i < symbols_.size(); ++i)
      if (symbols_[i]) binding.push_back({symbols_[i], sizes[i]});
    for (const Divisibility& d : all_) {
      const auto v = dims_.evaluate(d.extent, binding);
      if (!v || *v % d.divisor != 0) return &d;
    }
    return nullptr;
  }
  std::string text(const Divisibility& d) const {
    return fmt::format("({}) mod {} == 0", dims_.print(d.extent), d.divisor);
  }

 private:
  const DimPool& dims_;
  std::vector<DimId> symbols_;
  std::vector<Divisibility> all_;
};

std::string lengths_text(std::span<const BucketSymbol> symbols) {
  std::string out;
  for (const BucketSymbol& s : symbols)
    out += fmt::format("{}{} has {}", out.empty() ? "" : ", ", s.name, s.values.size());
  return out;
}

// Drops sizes that no bucket has.
void keep_used(BucketSet& set) {
  const std::size_t n = set.symbols.size();
  for (std::size_t i = 0; i < n; ++i) {
    Sizes used;
    for (std::size_t at = i; at < set.sizes.size(); at += n) used.push_back(set.sizes[at]);
    std::ranges::sort(used);
    used.erase(std::unique(used.begin(), used.end()), used.end());
    set.symbols[i].values = std::move(used);
  }
}

class Maker {
 public:
  Maker(const BucketMarks& marks, std::vector<BucketSymbol> symbols, const DimPool& dims,
        std::span<const Divisibility> constraints)
      : marks_(marks), constraints_(dims, symbols, constraints) {
    set_.symbols = std::move(symbols);
  }

  Result<BucketSet> run();

 private:
  Error usage(std::string what, std::string remedy) const {
    return {ErrorKind::Usage, {marks_.file, {}, {}, {}, {}}, std::move(what), std::move(remedy)};
  }
  Error too_many(const std::string& found) const {
    return usage(fmt::format("{} buckets are more than the limit of {}: {}", found, marks_.limit,
                             lengths_text(set_.symbols)),
                 too_many_remedy(set_.symbols, static_cast<std::size_t>(marks_.limit)));
  }
  Error hole_error(const Hole& hole) const;
  Error none_left(const Sizes& example) const;

  const BucketMarks& marks_;
  Constraints constraints_;
  std::optional<ShapeFilter> filter_;
  BucketSet set_;
};

Error Maker::hole_error(const Hole& hole) const {
  const std::string shape = shape_text(set_.symbols, hole.shape);
  const std::string bucket = shape_text(set_.symbols, hole.bucket);
  if (!hole.decided)
    return usage(
        fmt::format("where: it was not decided whether each shape up to {} for which '{}' holds has a "
                    "bucket",
                    bucket, filter_->text()),
        "write a simpler comparison, of sums and products, or shorter lists");
  const bool filtered = filter_ && !filter_->holds(hole.bucket).value_or(false);
  const Divisibility* broken = constraints_.broken(hole.bucket);
  if (!filtered && broken != nullptr)
    return usage(
        fmt::format("the shape {} has no bucket: {} is none, since the model needs {}", shape, bucket,
                    constraints_.text(*broken)),
        fmt::format("write sizes that meet it, the greatest one too: a range that ends in a multiple of "
                    "{0}, with align={0}, if the model is valid there",
                    broken->divisor));
  return usage(
      fmt::format("where: the shape {} has no bucket: '{}' holds for it, but not for the bucket {}, the "
                  "least that could hold it",
                  shape, filter_->text(), bucket),
      fmt::format("add sizes for which it holds (here {}), mark a symbol with a list 'fixed' if runs "
                  "have just these sizes, or narrow 'where' or the ranges so that the shape is outside",
                  shape));
}

Error Maker::none_left(const Sizes& example) const {
  const std::string shape = shape_text(set_.symbols, example);
  if (const Divisibility* broken = constraints_.broken(example))
    return usage(fmt::format("no bucket is left: the model needs {}, which {} does not meet",
                             constraints_.text(*broken), shape),
                 fmt::format("write sizes that meet it: align={}", broken->divisor));
  return usage(fmt::format("where: no bucket is left: '{}' does not hold for any, not even for {}",
                           filter_->text(), shape),
               "widen 'where', or write smaller sizes");
}

Result<BucketSet> Maker::run() {
  if (set_.symbols.empty()) {
    if (!marks_.where.empty())
      return usage("where: no symbol has buckets", "name symbols: --bucket 'seq=16..512:pow2'");
    return set_;
  }
  if (!marks_.where.empty()) {
    auto filter = ShapeFilter::parse(marks_.where, set_.symbols, marks_.dims);
    if (!filter) {
      Errors errors = filter.errors();
      for (Error& e : errors) e.place.file = marks_.file;
      return errors;
    }
    filter_.emplace(*std::move(filter));
  }
  std::size_t product = 1;
  for (const BucketSymbol& s : set_.symbols) {
    if (s.values.size() > kMaxProduct / product) return too_many(fmt::format("more than {}", kMaxProduct));
    product *= s.values.size();
  }
  const auto limit = static_cast<std::size_t>(marks_.limit);
  std::vector<bool> kept(product);
  std::size_t count = 0;
  Sizes sizes;
  BucketGrid grid(set_.symbols);
  for (std::size_t at = 0; at < product; ++at, grid.next()) {
    grid.sizes(sizes);
    if (filter_) {
      const auto holds = filter_->holds(sizes);
      if (!holds)
        return usage(
            fmt::format("where: '{}' cannot be computed for {}: a number leaves 64 bits, or something is "
                        "divided by 0",
                        filter_->text(), shape_text(set_.symbols, sizes)),
            "write smaller sizes, or another comparison");
      if (!*holds) continue;
    }
    if (constraints_.broken(sizes) != nullptr) continue;
    kept[at] = true;
    if (++count <= limit) set_.sizes.insert(set_.sizes.end(), sizes.begin(), sizes.end());
  }
  if (count > limit)
    return too_many(count == product ? fmt::format("{}", count) : fmt::format("{} of {}", count, product));
  if (const auto hole = find_hole(set_.symbols, kept, filter_ ? &*filter_ : nullptr, kMaxBoxes))
    return hole_error(*hole);
  if (count == 0) {
    Sizes least;
    for (const BucketSymbol& s : set_.symbols) least.push_back(s.values.front());
    return none_left(least);
  }
  keep_used(set_);
  return std::move(set_);
}

}  // namespace

std::string shape_text(std::span<const BucketSymbol> symbols, std::span<const std::int64_t> sizes) {
  std::string out;
  for (std::size_t i = 0; i < symbols.size(); ++i)
    out += fmt::format("{}{}={}", i == 0 ? "" : ", ", symbols[i].name, sizes[i]);
  return out;
}

Result<BucketSet> make_buckets(const BucketMarks& marks, std::vector<BucketSymbol> symbols,
                               const DimPool& dims, std::span<const Divisibility> constraints) {
  return Maker(marks, std::move(symbols), dims, constraints).run();
}

std::optional<std::size_t> choose_bucket(const BucketSet& buckets, std::span<const std::int64_t> shape,
                                         const BucketWork& work) {
  const auto work_of = [&](std::span<const std::int64_t> sizes) {
    if (work) return work(sizes);
    std::optional<std::int64_t> product = 1;
    for (const std::int64_t s : sizes) product = checked_mul(product, s);
    return product.value_or(std::numeric_limits<std::int64_t>::max());
  };
  std::optional<std::size_t> best;
  std::int64_t least = 0;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const auto sizes = buckets.at(b);
    bool holds = true;
    for (std::size_t i = 0; i < sizes.size() && holds; ++i)
      holds = buckets.symbols[i].fixed ? sizes[i] == shape[i] : sizes[i] >= shape[i];
    if (!holds) continue;
    const std::int64_t w = work_of(sizes);
    if (best && w >= least) continue;
    best = b;
    least = w;
  }
  return best;
}

}  // namespace graphopt
