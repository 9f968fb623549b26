#include "buckets/padding/constants.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "buckets/padding/type_limits.h"
#include "ops/constants.h"
#include "ops/fold.h"
#include "support/half.h"

namespace graphopt {
namespace {

constexpr FoldLimits kFoldLimits{std::uint64_t{1} << 22, std::uint64_t{1} << 24};

// Elements may be unaligned, so they are copied, a block at a time.
template <class T, class ToNumber> Content range_of(Bytes raw, ToNumber to_number) {
  using Number = std::invoke_result_t<ToNumber, T>;
  std::array<T, 1024> block;
  Number low{}, high{};
  bool nan = false, any = false;
  const std::size_t count = raw.size() / sizeof(T);
  for (std::size_t begin = 0; begin < count; begin += block.size()) {
    const std::size_t n = std::min(block.size(), count - begin);
    raw.copy(reinterpret_cast<char*>(block.data()), n * sizeof(T), begin * sizeof(T));
    for (std::size_t i = 0; i < n; ++i) {
      const Number v = to_number(block[i]);
      if constexpr (std::is_floating_point_v<Number>) {
        if (std::isnan(v)) {
          nan = true;
          continue;
        }
      }
      low = any ? std::min(low, v) : v;
      high = any ? std::max(high, v) : v;
      any = true;
    }
  }
  Content c;
  if constexpr (std::is_integral_v<Number>)
    c = ContentMath::interval(outward(low, -kInfinity), outward(high, kInfinity));
  else c = ContentMath::interval(static_cast<double>(low), static_cast<double>(high));
  c.nan = nan;
  c.infinite = std::isinf(c.low.number) || std::isinf(c.high.number);
  c.positive_infinite = c.high.number == kInfinity;
  return c;
}

Content read(DType type, Bytes raw) {
  const auto plain = [](auto v) { return v; };
  switch (type) {
    case DType::Float: return range_of<float>(raw, plain);
    case DType::Double: return range_of<double>(raw, plain);
    case DType::Float16: return range_of<std::uint16_t>(raw, half_to_float);
    case DType::BFloat16: return range_of<std::uint16_t>(raw, bfloat16_to_float);
    case DType::Bool:
    case DType::UInt8: return range_of<std::uint8_t>(raw, plain);
    case DType::Int8: return range_of<std::int8_t>(raw, plain);
    case DType::UInt16: return range_of<std::uint16_t>(raw, plain);
    case DType::Int16: return range_of<std::int16_t>(raw, plain);
    case DType::UInt32: return range_of<std::uint32_t>(raw, plain);
    case DType::Int32: return range_of<std::int32_t>(raw, plain);
    case DType::UInt64: return range_of<std::uint64_t>(raw, plain);
    case DType::Int64: return range_of<std::int64_t>(raw, plain);
    default: return ContentMath::anything();
  }
}

}  // namespace

const Content& ConstantFacts::content(const Model& m, TensorId t) {
  const auto [at, fresh] = contents_.try_emplace(t, ContentMath::anything());
  if (!fresh) return at->second;
  if (const auto raw = payload_of(m, t)) at->second = read(m.tensor(t).dtype, *raw);
  return at->second;
}

const std::optional<std::vector<TensorId>>& ConstantFacts::folded(Model& m, NodeId n,
                                                                  std::span<const TensorId> operands) {
  const auto [at, fresh] = folded_.try_emplace(n);
  if (!fresh) return at->second;
  const Folded made = fold(m, n, operands, kFoldLimits);
  if (!made) return at->second;
  at->second.emplace();
  for (std::size_t i = 0; i < m.output_count(n); ++i)
    at->second->push_back(m.output(n, i) && i < made.results.size() ? m.add_tensor(made.results[i])
                                                                    : TensorId{});
  return at->second;
}

}  // namespace graphopt
