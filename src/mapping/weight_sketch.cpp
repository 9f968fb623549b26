#include "mapping/weight_sketch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <optional>

#include "support/half.h"

namespace graphopt::mapping {
namespace {

template <class T, class F> void for_each_element(Bytes raw, F f) {
  for (std::size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
    T x;
    std::memcpy(&x, raw.data() + at, sizeof x);
    f(x);
  }
}

}  // namespace

void WeightSketch::add(float number) {
  if (number == 0 || std::fabs(number) == 1 || !std::isfinite(number)) return;
  const std::uint64_t hash = mix_hash(0x77, std::bit_cast<std::uint32_t>(number));
  if (least_.size() == kKept && hash >= least_.front()) return;
  // Few get here once the least ones are found, but for numbers that are there again and again.
  if (!is_kept_.insert(hash).second) return;
  if (least_.size() == kKept) {
    std::ranges::pop_heap(least_);
    is_kept_.erase(least_.back());
    least_.pop_back();
  }
  least_.push_back(hash);
  std::ranges::push_heap(least_);
}

void WeightSketch::add(const Side& side) {
  const Model& m = side.model();
  for (const Constant& c : side.constants()) {
    if (!c.tensor) continue;
    const DType type = m.tensor(c.tensor).dtype;
    if (type != DType::Float && type != DType::Double && type != DType::Float16 && type != DType::BFloat16)
      continue;
    const std::optional<Bytes> raw = m.raw(c.tensor);
    if (!raw) continue;
    switch (type) {
      case DType::Float: for_each_element<float>(*raw, [&](float x) { add(x); }); break;
      case DType::Double:
        for_each_element<double>(*raw, [&](double x) { add(static_cast<float>(x)); });
        break;
      case DType::Float16:
        for_each_element<std::uint16_t>(*raw, [&](std::uint16_t x) { add(half_to_float(x)); });
        break;
      default: for_each_element<std::uint16_t>(*raw, [&](std::uint16_t x) { add(bfloat16_to_float(x)); });
    }
  }
}

double WeightSketch::resemblance(const WeightSketch& a, const WeightSketch& b) {
  if (std::min(a.least_.size(), b.least_.size()) < kFewest) return 0;
  std::vector<std::uint64_t> x = a.least_, y = b.least_, both, all;
  std::ranges::sort(x);
  std::ranges::sort(y);
  std::ranges::set_union(x, y, std::back_inserter(all));
  if (all.size() > kKept) all.resize(kKept);  // the least of both together
  std::ranges::set_intersection(x, y, std::back_inserter(both));
  const auto shared =
      std::ranges::count_if(all, [&](std::uint64_t hash) { return std::ranges::binary_search(both, hash); });
  return static_cast<double>(shared) / static_cast<double>(all.size());
}

}  // namespace graphopt::mapping
