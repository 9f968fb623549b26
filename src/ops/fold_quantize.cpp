// QuantizeLinear and DequantizeLinear between float and integers of 8 and 16 bits, per tensor and per axis.
//
// Exact: (x - zero) * scale is one subtraction of small integers, one conversion and one product; x / scale
// is one quotient, rounded to the nearest integer (halves to even) and kept within the range of the type.
// Each is correctly rounded, here and in kernels. A NaN and a scale that is 0 or not finite are refused: what
// kernels make of them is their own choice. So are scales per block and other types of scales.
#include <cmath>
#include <limits>

#include "ops/fold_kernel.h"

namespace graphopt::folding {
namespace {

// Where an element of the data finds its scale and zero point.
struct Steps {
  std::int64_t inner = 1;  // elements of the data that follow each other with the same ones
  std::int64_t count = 1;  // scales
  std::int64_t at(std::int64_t i) const { return i / inner % count; }
};

std::optional<Steps> steps_of(const FoldRun& r) {
  const Operand &data = r.in(0), &scale = r.in(1), &zero = r.in(2);
  if (scale.dtype != DType::Float || r.int_of(names::block_size).value_or(0) != 0) return std::nullopt;
  if (zero && !std::ranges::equal(zero.dims, scale.dims)) return std::nullopt;
  for (std::int64_t i = 0; i < scale.elements; ++i)
    if (const float s = load<float>(scale.data, i); !std::isnormal(s)) return std::nullopt;
  Steps out;
  if (scale.elements == 1 && scale.rank() <= 1) return out;
  const auto axis = normalize_axis(r.int_of(names::axis).value_or(1), data.rank());
  if (r.opset < 13 || scale.rank() != 1 || !axis) return std::nullopt;
  const auto k = static_cast<std::size_t>(*axis);
  if (data.dims[k] != scale.elements) return std::nullopt;
  out.count = scale.elements;
  for (std::size_t d = k + 1; d < data.rank(); ++d) out.inner *= data.dims[d];
  return out;
}

template <class F> FoldRefusal with_quantized(DType t, F f) {
  switch (t) {
    case DType::Int8: return f(Elem<DType::Int8>{});
    case DType::UInt8: return f(Elem<DType::UInt8>{});
    case DType::Int16: return f(Elem<DType::Int16>{});
    case DType::UInt16: return f(Elem<DType::UInt16>{});
    default: return kNotFoldable;
  }
}

}  // namespace

FoldRefusal fold_dequantize(FoldRun& r) {
  const Operand &data = r.in(0), &scale = r.in(1), &zero = r.in(2);
  if (zero && zero.dtype != data.dtype) return kBad;
  if (r.int_of(names::output_dtype).value_or(0) != 0) return kNotFoldable;
  const auto steps = steps_of(r);
  if (!steps) return kNotFoldable;
  Buffer out;
  if (const FoldRefusal no = r.make(DType::Float, copy_of(data.dims), out); no != kDone) return no;
  const FoldRefusal done = with_quantized(data.dtype, [&](auto elem) {
    using E = decltype(elem);
    for (std::int64_t i = 0; i < out.elements; ++i) {
      const std::int64_t k = steps->at(i);
      const std::int32_t from = zero ? E::get(zero.data, k) : 0;
      const auto count = static_cast<float>(std::int32_t{E::get(data.data, i)} - from);
      store(out.data(), i, count * load<float>(scale.data, k));
    }
    return kDone;
  });
  if (done == kDone) r.emit(0, std::move(out));
  return done;
}

FoldRefusal fold_quantize(FoldRun& r) {
  const Operand &data = r.in(0), &scale = r.in(1), &zero = r.in(2);
  const bool states_type = r.int_of(names::output_dtype).value_or(0) != 0;
  if (data.dtype != DType::Float || (states_type && !zero) || r.int_of(names::precision).value_or(0) != 0)
    return kNotFoldable;
  const auto steps = steps_of(r);
  if (!steps) return kNotFoldable;
  const DType type = zero ? zero.dtype : DType::UInt8;
  return with_quantized(type, [&](auto elem) {
    using E = decltype(elem);
    using Limits = std::numeric_limits<typename E::Value>;
    Buffer out;
    if (const FoldRefusal no = r.make(type, copy_of(data.dims), out); no != kDone) return no;
    for (std::int64_t i = 0; i < out.elements; ++i) {
      const std::int64_t k = steps->at(i);
      const float x = load<float>(data.data, i);
      if (std::isnan(x)) return kNaN;
      const std::int32_t to = zero ? E::get(zero.data, k) : 0;
      const auto low = static_cast<float>(Limits::min() - to), high = static_cast<float>(Limits::max() - to);
      // std::nearbyint rounds halves to even: nothing changes the rounding mode of the process.
      const float rounded = std::nearbyint(std::fmin(std::fmax(x / load<float>(scale.data, k), low), high));
      E::put(out.data(), i, static_cast<typename E::Value>(static_cast<std::int32_t>(rounded) + to));
    }
    r.emit(0, std::move(out));
    return kDone;
  });
}

}  // namespace graphopt::folding
