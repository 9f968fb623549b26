// MaxPool, AveragePool and their global forms.
//
// MaxPool chooses elements, so it is Exact. Left alone, because kernels differ: a NaN; a window with zeros of
// both signs whose maximum they are; one of nothing but -infinity, which some kernels start from and others
// from the lowest number; and one on padding alone. Of equal elements the first one has its place in Indices.
// AveragePool takes sums in double and rounds once: Rounds. Where ceil_mode lets a window stick out of the
// padding, the standard and versions of runtimes differ about the elements that count.
#include <cmath>
#include <limits>

#include "ops/fold_window.h"

namespace graphopt::folding {
namespace {

// Returns an attribute that is 0 or 1, and 0 where the opset has none; nothing for other numbers.
std::optional<bool> flag_of(const FoldRun& r, NameId name) {
  const std::int64_t v = r.int_of(name).value_or(0);
  return v == 0 || v == 1 ? std::optional(v == 1) : std::nullopt;
}

// The windows of the node, and the dims of its result.
struct Pool {
  Windows windows;
  Dims dims;
  std::int64_t planes = 1;
};

bool is_global(OpKind kind) { return kind == OpKind::GlobalMaxPool || kind == OpKind::GlobalAveragePool; }

// Nothing where the operand has no elements: runtimes accept only some of these.
std::optional<Pool> pool_of(const FoldRun& r) {
  const Operand& x = r.in(0);
  const std::optional<bool> ceil_mode = flag_of(r, names::ceil_mode);
  if (x.rank() < 3 || x.rank() > 2 + kMostWindowAxes || x.elements == 0 || !ceil_mode) return std::nullopt;
  const DimView extents = x.dims.subspan(2);
  Pool p;
  p.dims.assign(x.dims.begin(), x.dims.begin() + 2);
  p.planes = x.dims[0] * x.dims[1];
  if (is_global(r.kind)) {
    for (std::size_t i = 0; i < extents.size(); ++i) {
      WindowAxis& a = p.windows.axes[kMostWindowAxes - extents.size() + i];
      a.extent = a.kernel = extents[i];
      p.dims.push_back(1);
    }
    return p;
  }
  const auto kernel = ints_attr(r.attributes, names::kernel_shape);
  const auto windows = kernel ? windows_of(r, extents, *kernel, *ceil_mode) : std::nullopt;
  if (!windows) return std::nullopt;
  p.windows = *windows;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const WindowAxis& a = windows->axes[kMostWindowAxes - extents.size() + i];
    if (a.begin >= a.kernel || a.end >= a.kernel) return std::nullopt;  // ONNX Runtime refuses such pads
    p.dims.push_back(a.positions);
  }
  return p;
}

FoldRefusal charge_windows(FoldRun& r, const Pool& p) {
  const auto work = checked_mul(p.windows.visits(), p.planes);
  return work ? r.charge(*work) : kTooBig;
}

// Where an element of a plane stands if the first spatial axis changes fastest (storage_order = 1).
std::int64_t column_major(const Windows& w, std::int64_t at) {
  const auto& [a, b, c] = w.axes;
  const std::int64_t k = at % c.extent, j = at / c.extent % b.extent, i = at / c.extent / b.extent;
  return (k * b.extent + j) * a.extent + i;
}

// Sets the place of the maximum under a window; false where kernels differ.
template <class E>
bool find_largest(const Windows& w, const std::array<WindowPart, kMostWindowAxes>& parts, const char* data,
                  std::int64_t plane, std::int64_t& place) {
  using T = typename E::Value;
  std::optional<T> largest;
  bool zero = false, negative_zero = false;
  const bool fine = for_each_element(w, parts, [&](std::int64_t at, std::int64_t) {
    const T x = E::get(data, plane + at);
    if (is_nan(x)) return false;
    if constexpr (std::is_floating_point_v<T>)
      if (x == 0) (std::signbit(x) ? negative_zero : zero) = true;
    if (!largest || x > *largest) {
      largest = x;
      place = at;
    }
    return true;
  });
  if (!fine || !largest) return false;
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isinf(*largest) && *largest < 0) return false;
    if (*largest == 0 && zero && negative_zero) return false;
  }
  return true;
}

// Sets the mean under a window; false where there is nothing to count, or doubt what counts.
template <class E>
bool find_mean(const Windows& w, const std::array<WindowPart, kMostWindowAxes>& parts, const char* data,
               std::int64_t plane, bool padding_counts, double& mean) {
  std::int64_t count = 0;
  double sum = 0;
  for_each_element(w, parts, [&](std::int64_t at, std::int64_t) {
    sum += static_cast<double>(E::get(data, plane + at));
    ++count;
    return true;
  });
  if (count == 0) return false;
  if (padding_counts) {
    count = 1;
    for (const WindowAxis& a : w.axes) {
      count *= a.kernel;
      const std::int64_t last = (a.positions - 1) * a.stride - a.begin + (a.kernel - 1) * a.dilation;
      if (last >= a.extent + a.end) return false;
    }
  }
  mean = sum / static_cast<double>(count);
  return true;
}

}  // namespace

FoldRefusal fold_max_pool(FoldRun& r) {
  const Operand& x = r.in(0);
  const std::optional<Pool> p = pool_of(r);
  const std::optional<bool> by_columns = flag_of(r, names::storage_order);
  if (!p || !by_columns) return kNotFoldable;
  if (const FoldRefusal no = charge_windows(r, *p); no != kDone) return no;
  const bool indexed = r.results.size() > 1 && r.wants(1);
  Buffer out, indices;
  if (const FoldRefusal no = r.make(x.dtype, p->dims, out); no != kDone) return no;
  if (indexed)
    if (const FoldRefusal no = r.make(DType::Int64, p->dims, indices); no != kDone) return no;
  const auto pool = [&](auto elem) {
    using E = decltype(elem);
    const std::int64_t size = p->windows.elements(), windows = out.elements / p->planes;
    for (std::int64_t n = 0; n < p->planes; ++n) {
      const bool fine = p->windows.for_each([&](std::int64_t at, const auto& parts) {
        std::int64_t place = 0;
        if (!find_largest<E>(p->windows, parts, x.data, n * size, place)) return false;
        E::put(out.data(), n * windows + at, E::get(x.data, n * size + place));
        if (indexed)
          store(indices.data(), n * windows + at,
                n * size + (*by_columns ? column_major(p->windows, place) : place));
        return true;
      });
      if (!fine) return kBad;
    }
    return kDone;
  };
  const FoldRefusal no = with_number(x.dtype, pool);
  if (no != kDone) return no;
  r.emit(0, std::move(out));
  if (indexed) r.emit(1, std::move(indices));
  return kDone;
}

FoldRefusal fold_average_pool(FoldRun& r) {
  const Operand& x = r.in(0);
  const std::optional<Pool> p = pool_of(r);
  const std::optional<bool> padding_counts = flag_of(r, names::count_include_pad);
  if (!p || !padding_counts) return kNotFoldable;
  if (const FoldRefusal no = charge_windows(r, *p); no != kDone) return no;
  Buffer out;
  if (const FoldRefusal no = r.make(x.dtype, p->dims, out); no != kDone) return no;
  const FoldRefusal no = with_float(x.dtype, [&](auto elem) {
    using E = decltype(elem);
    const std::int64_t size = p->windows.elements(), windows = out.elements / p->planes;
    for (std::int64_t n = 0; n < p->planes; ++n) {
      const bool fine = p->windows.for_each([&](std::int64_t at, const auto& parts) {
        double mean = 0;
        if (!find_mean<E>(p->windows, parts, x.data, n * size, *padding_counts, mean)) return false;
        E::put(out.data(), n * windows + at, static_cast<typename E::Value>(mean));
        return true;
      });
      if (!fine) return kBad;
    }
    return kDone;
  });
  if (no == kDone) r.emit(0, std::move(out));
  return no;
}

}  // namespace graphopt::folding
