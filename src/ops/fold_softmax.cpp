// Softmax and LogSoftmax. Before opset 13 all dims from the axis on are one vector, later the axis alone is.
//
// exp (x - largest) and its sum are computed in double and rounded once, the runtime's in the element type
// and with an approximate exp, so the results are labelled Rounds. A vector with a NaN or +infinity, or of
// nothing but -infinity, has no such sum: what kernels make of it differs by element, and the node stays. A
// single -infinity is an element of probability 0.
#include <cmath>
#include <limits>

#include "ops/fold_kernel.h"

namespace graphopt::folding {
namespace {

// `outer` groups of `inner` vectors, whose `length` elements are `inner` apart.
struct Vectors {
  std::int64_t outer = 1, length = 1, inner = 1;
};

// Precondition: no dim is 0.
std::optional<Vectors> vectors_of(const FoldRun& r) {
  const DimView dims = r.in(0).dims;
  const std::optional<std::int64_t> given = r.int_of(names::axis);
  // In opsets before 11 no negative axis is defined.
  const auto axis =
      given && (r.opset >= 11 || *given >= 0) ? normalize_axis(*given, dims.size()) : std::nullopt;
  if (!axis) return std::nullopt;
  const auto at = static_cast<std::size_t>(*axis);
  Vectors v;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const bool within = d == at || (r.opset < 13 && d > at);
    (d < at ? v.outer : within ? v.length : v.inner) *= dims[d];
  }
  return v;
}

template <class E> FoldRefusal softmax(const FoldRun& r, const Vectors& vectors, Buffer& out) {
  using T = typename E::Value;
  const char* const data = r.in(0).data;
  const bool log = r.kind == OpKind::LogSoftmax;
  for (std::int64_t o = 0; o < vectors.outer; ++o) {
    for (std::int64_t i = 0; i < vectors.inner; ++i) {
      const std::int64_t first = o * vectors.length * vectors.inner + i;
      const auto element = [&](std::int64_t k) {
        return static_cast<double>(E::get(data, first + k * vectors.inner));
      };
      double largest = -std::numeric_limits<double>::infinity();
      for (std::int64_t k = 0; k < vectors.length; ++k) {
        const double x = element(k);
        if (std::isnan(x)) return kNaN;
        if (x > largest) largest = x;
      }
      if (std::isinf(largest)) return kBad;
      double sum = 0;
      for (std::int64_t k = 0; k < vectors.length; ++k) sum += std::exp(element(k) - largest);
      const double log_of_sum = std::log(sum);
      for (std::int64_t k = 0; k < vectors.length; ++k) {
        const double x = element(k) - largest;
        E::put(out.data(), first + k * vectors.inner,
               static_cast<T>(log ? x - log_of_sum : std::exp(x) / sum));
      }
    }
  }
  return kDone;
}

}  // namespace

FoldRefusal fold_softmax(FoldRun& r) {
  const Operand& x = r.in(0);
  if (x.elements == 0 || x.rank() == 0) return kNotFoldable;  // ONNX Runtime refuses scalars
  const std::optional<Vectors> vectors = vectors_of(r);
  if (!vectors) return kBad;
  if (const FoldRefusal no = r.charge(x.elements); no != kDone) return no;
  Buffer out;
  if (const FoldRefusal no = r.make(x.dtype, copy_of(x.dims), out); no != kDone) return no;
  const FoldRefusal no =
      with_float(x.dtype, [&](auto elem) { return softmax<decltype(elem)>(r, *vectors, out); });
  if (no == kDone) r.emit(0, std::move(out));
  return no;
}

}  // namespace graphopt::folding
