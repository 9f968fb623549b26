// Conv of constants, such as a kernel that is blurred by another one.
//
// A sum of products over the input channels of a group and the elements under the window. Sums are taken in
// double and rounded once, as in MatMul (fold_products.cpp): Rounds. Padding adds nothing here, where kernels
// may multiply it with the weight, so operands with an infinity or a NaN are left alone.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/fold_window.h"

namespace graphopt::folding {
namespace {

struct Convolution {
  Windows windows;
  Dims dims;                          // of the result
  std::int64_t channels = 1;          // of the input, in one group
  std::int64_t outputs_of_group = 1;  // channels of the result, in one group
};

// Nothing where the operands do not fit, and where one has no elements.
std::optional<Convolution> convolution_of(const FoldRun& r) {
  const Operand &x = r.in(0), &w = r.in(1), &bias = r.in(2);
  const std::int64_t groups = r.int_of(names::group).value_or(0);
  if (x.rank() < 3 || w.rank() != x.rank() || w.dtype != x.dtype || groups < 1) return std::nullopt;
  if (x.elements == 0 || w.elements == 0) return std::nullopt;
  const auto channels = checked_mul(w.dims[1], groups);
  if (!channels || *channels != x.dims[1] || w.dims[0] % groups != 0) return std::nullopt;
  if (bias && (bias.rank() != 1 || bias.dims[0] != w.dims[0] || bias.dtype != x.dtype)) return std::nullopt;
  const DimView kernel = w.dims.subspan(2);
  if (r.has(names::kernel_shape)) {
    const auto given = ints_attr(r.attributes, names::kernel_shape);
    if (!given || !std::ranges::equal(*given, kernel)) return std::nullopt;
  }
  const auto windows = windows_of(r, x.dims.subspan(2), kernel, false);
  if (!windows) return std::nullopt;
  Convolution c{.windows = *windows,
                .dims = {x.dims[0], w.dims[0]},
                .channels = w.dims[1],
                .outputs_of_group = w.dims[0] / groups};
  for (std::size_t i = 0; i < kernel.size(); ++i)
    c.dims.push_back(windows->axes[kMostWindowAxes - kernel.size() + i].positions);
  return c;
}

// The elements as doubles; nothing where one is infinite or NaN.
template <class E> std::optional<std::vector<double>> finite(const Operand& o) {
  std::vector<double> all(static_cast<std::size_t>(o.elements));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<double>(E::get(o.data, static_cast<std::int64_t>(i)));
    if (!std::isfinite(all[i])) return std::nullopt;
  }
  return all;
}

template <class E> FoldRefusal convolve(const FoldRun& r, const Convolution& c, Buffer& out) {
  const auto x = finite<E>(r.in(0)), w = finite<E>(r.in(1)), bias = finite<E>(r.in(2));
  if (!x || !w || !bias) return kBad;
  const std::int64_t plane = c.windows.elements(), kernel = r.in(1).elements / (c.dims[1] * c.channels);
  const std::int64_t windows = out.elements / (c.dims[0] * c.dims[1]);
  const std::int64_t groups = c.dims[1] / c.outputs_of_group;
  std::int64_t to = 0;
  for (std::int64_t n = 0; n < c.dims[0]; ++n) {
    for (std::int64_t m = 0; m < c.dims[1]; ++m, to += windows) {
      const std::int64_t first = (n * groups + m / c.outputs_of_group) * c.channels;
      const double start = bias->empty() ? 0.0 : (*bias)[static_cast<std::size_t>(m)];
      c.windows.for_each([&](std::int64_t at, const auto& parts) {
        double sum = start;
        for (std::int64_t k = 0; k < c.channels; ++k) {
          const double* const from = x->data() + (first + k) * plane;
          const double* const weights = w->data() + (m * c.channels + k) * kernel;
          for_each_element(c.windows, parts, [&](std::int64_t element, std::int64_t weight) {
            sum += from[element] * weights[weight];
            return true;
          });
        }
        E::put(out.data(), to + at, static_cast<typename E::Value>(sum));
        return true;
      });
    }
  }
  return kDone;
}

}  // namespace

FoldRefusal fold_conv(FoldRun& r) {
  const std::optional<Convolution> c = convolution_of(r);
  if (!c) return kNotFoldable;
  const auto planes = checked_mul(checked_mul(c->dims[0], c->dims[1]), c->channels);
  const auto work = checked_mul(c->windows.visits(), planes);
  const auto all = checked_add(checked_add(work, r.in(0).elements), r.in(1).elements);
  if (!all) return kTooBig;
  if (const FoldRefusal no = r.charge(*all); no != kDone) return no;
  Buffer out;
  if (const FoldRefusal no = r.make(r.in(0).dtype, c->dims, out); no != kDone) return no;
  const FoldRefusal no =
      with_float(r.in(0).dtype, [&](auto elem) { return convolve<decltype(elem)>(r, *c, out); });
  if (no == kDone) r.emit(0, std::move(out));
  return no;
}

}  // namespace graphopt::folding
