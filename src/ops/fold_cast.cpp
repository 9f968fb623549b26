// Cast and CastLike between numeric types, as ONNX Runtime converts:
//   integers    truncated to the low bits
//   to floats   to nearest, ties to even; to float16 and bfloat16 through float, so doubles are rounded twice
//   to bool     true for everything but zero, NaN included
//   from floats to integers: towards zero. NaN and values out of range differ between machines, and even
//               between positions in one tensor: then the node is not folded.
#include <cmath>
#include <limits>

#include "ops/fold_kernel.h"

namespace graphopt::folding {
namespace {

template <class To, class From> bool convert(From v, To& out) {
  if constexpr (std::is_same_v<To, bool>) {
    out = v != From{0};
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    // The limits as doubles: the lower one is exact; the upper one is one too large, a power of two.
    constexpr double kLow = static_cast<double>(std::numeric_limits<To>::min());
    constexpr double kAbove = 2.0 * static_cast<double>(To{1} << (std::numeric_limits<To>::digits - 1));
    const double whole = std::trunc(static_cast<double>(v));
    if (!(whole >= kLow && whole < kAbove)) return false;
    out = static_cast<To>(whole);
  } else {
    out = static_cast<To>(v);
  }
  return true;
}

FoldRefusal cast_to(FoldRun& r, DType to) {
  const Operand& data = r.in(0);
  if (to == data.dtype) return fold_identity(r);
  const auto with_any = [](DType t, auto f) {
    return t == DType::Bool ? f(Elem<DType::Bool>{}) : with_number(t, f);
  };
  Buffer out;
  const auto begin = [&] { return r.make(to, Dims(data.dims.begin(), data.dims.end()), out); };
  const FoldRefusal result = with_any(data.dtype, [&](auto from) {
    return with_any(to, [&](auto target) {
      if (const FoldRefusal no = begin(); no != kDone) return no;
      for (std::int64_t i = 0; i < data.elements; ++i) {
        typename decltype(target)::Value v;
        if (!convert(from.get(data.data, i), v)) return kBad;
        target.put(out.data(), i, v);
      }
      return kDone;
    });
  });
  if (result == kDone) r.emit(0, std::move(out));
  return result;
}

}  // namespace

FoldRefusal fold_cast(FoldRun& r) {
  const std::optional<std::int64_t> to = r.int_of(names::to);
  if (!to || *to <= 0 || *to > 28) return kNotFoldable;
  return cast_to(r, static_cast<DType>(*to));
}

FoldRefusal fold_cast_like(FoldRun& r) { return cast_to(r, r.in(1).dtype); }

}  // namespace graphopt::folding
