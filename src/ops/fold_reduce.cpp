// Reductions, ArgMax and ArgMin, CumSum, TopK.
//
// A reduction walks its operand once in memory order and adds each element to the accumulator of its result,
// whose strides are 0 along the reduced axes. Integers: integer_arithmetic.h. Sums of floats depend on the
// order: they are computed in double here and labelled Rounds.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/fold_kernel.h"
#include "ops/integer_arithmetic.h"

namespace graphopt::folding {
namespace {

struct Axes {
  std::vector<bool> reduced;
  Dims dims;               // of the result
  Dims strides;            // of the result, indexed by the operand's dims: 0 along reduced axes
  std::int64_t count = 1;  // elements per result
  bool noop = false;
};

std::optional<Axes> axes_to_reduce(const FoldRun& r) {
  const Operand& data = r.in(0);
  const int since_operand = r.kind == OpKind::ReduceSum ? 13 : 18;
  Dims given;
  Axes a;
  if (r.opset >= since_operand) {
    if (r.in(1)) {
      const std::optional<Dims> list = int_list(r.in(1));
      if (!list || r.in(1).rank() != 1) return std::nullopt;
      given = *list;
    }
    const std::int64_t noop = r.int_of(names::noop_with_empty_axes).value_or(-1);
    if (noop < 0 || noop > 1) return std::nullopt;  // runtimes differ on others
    a.noop = noop == 1 && given.empty();
  } else if (r.has(names::axes)) {
    const auto list = ints_attr(r.attributes, names::axes);
    if (!list) return std::nullopt;
    given.assign(list->begin(), list->end());
    if (r.opset < 11 && std::ranges::any_of(given, [](std::int64_t v) { return v < 0; })) return std::nullopt;
  }
  const std::int64_t keep = r.int_of(names::keepdims).value_or(-1);
  const auto axes = normalize_axes(given, data.rank());
  if (keep < 0 || keep > 1 || !axes) return std::nullopt;  // runtimes differ on others
  a.reduced.assign(data.rank(), axes->empty());
  for (const std::int64_t axis : *axes) a.reduced[static_cast<std::size_t>(axis)] = true;
  Dims kept(data.rank());
  for (std::size_t d = 0; d < data.rank(); ++d) {
    kept[d] = a.reduced[d] ? 1 : data.dims[d];
    if (!a.reduced[d] || keep != 0) a.dims.push_back(kept[d]);
    if (a.reduced[d] && data.elements > 0) a.count *= data.dims[d];
  }
  if (data.elements > 0) a.strides = broadcast_strides(kept, data.dims);
  return a;
}

template <class E> FoldRefusal reduce_ints(FoldRun& r, const Axes& axes, Buffer& out) {
  using T = typename E::Value;
  const Operand& data = r.in(0);
  std::vector<integers::Total> totals(static_cast<std::size_t>(out.elements), integers::Total(r.kind));
  if (data.elements > 0)
    for_each_row<1>({Dims(data.dims.begin(), data.dims.end()), {axes.strides}},
                    [&](std::int64_t at, const auto& to, const auto& step, std::int64_t count) {
                      for (std::int64_t i = 0; i < count; ++i)
                        totals[static_cast<std::size_t>(to[0] + i * step[0])].add(E::get(data.data, at + i));
                      return true;
                    });
  for (std::int64_t i = 0; i < out.elements; ++i) {
    T v{};
    if (!totals[static_cast<std::size_t>(i)].result(v)) return kBad;
    E::put(out.data(), i, v);
  }
  return kDone;
}

template <class E> FoldRefusal reduce_floats(FoldRun& r, const Axes& axes, Buffer& out) {
  using T = typename E::Value;
  const Operand& data = r.in(0);
  std::vector<double> totals(static_cast<std::size_t>(out.elements),
                             r.kind == OpKind::ReduceProd ? 1.0 : 0.0);
  if (data.elements > 0)
    for_each_row<1>({Dims(data.dims.begin(), data.dims.end()), {axes.strides}},
                    [&](std::int64_t at, const auto& to, const auto& step, std::int64_t count) {
                      for (std::int64_t i = 0; i < count; ++i) {
                        double& total = totals[static_cast<std::size_t>(to[0] + i * step[0])];
                        const double x = static_cast<double>(E::get(data.data, at + i));
                        if (r.kind == OpKind::ReduceProd) total *= x;
                        else if (r.kind == OpKind::ReduceSumSquare) total += x * x;
                        else if (r.kind == OpKind::ReduceL1) total += std::abs(x);
                        else total += x;
                      }
                      return true;
                    });
  for (std::int64_t i = 0; i < out.elements; ++i) {
    double v = totals[static_cast<std::size_t>(i)];
    if (r.kind == OpKind::ReduceMean) v /= static_cast<double>(axes.count);
    E::put(out.data(), i, static_cast<T>(v));
  }
  return kDone;
}

// ReduceMax and ReduceMin; for floats NaN and zeros of both signs are refused, for integers those that may be
// ordered wrongly beside any other one.
template <class E> FoldRefusal reduce_extreme(FoldRun& r, const Axes& axes, Buffer& out) {
  using T = typename E::Value;
  const Operand& data = r.in(0);
  const bool max = r.kind == OpKind::ReduceMax;
  std::vector<bool> started(static_cast<std::size_t>(out.elements));
  bool holds_nan = false;
  const bool fine =
      for_each_row<1>({Dims(data.dims.begin(), data.dims.end()), {axes.strides}},
                      [&](std::int64_t at, const auto& to, const auto& step, std::int64_t count) {
                        for (std::int64_t i = 0; i < count; ++i) {
                          const std::int64_t o = to[0] + i * step[0];
                          const T x = E::get(data.data, at + i);
                          holds_nan = is_nan(x);
                          if (holds_nan) return false;
                          if constexpr (std::is_same_v<T, std::int64_t>)
                            if (axes.count > 1 && !std::in_range<std::int32_t>(x)) return false;
                          if (!started[static_cast<std::size_t>(o)]) {
                            started[static_cast<std::size_t>(o)] = true;
                            E::put(out.data(), o, x);
                            continue;
                          }
                          const T best = E::get(out.data(), o);
                          if constexpr (std::is_floating_point_v<T>)
                            if (x == 0 && best == 0 && std::signbit(x) != std::signbit(best)) return false;
                          if (max ? x > best : x < best) E::put(out.data(), o, x);
                        }
                        return true;
                      });
  return fine ? kDone : holds_nan ? kNaN : kBad;
}

}  // namespace

FoldRefusal fold_reduce(FoldRun& r) {
  const Operand& data = r.in(0);
  const std::optional<Axes> axes = axes_to_reduce(r);
  if (!axes) return kBad;
  if (axes->noop) {  // for the others it still applies the function to each element
    const bool copies = r.kind == OpKind::ReduceSum || r.kind == OpKind::ReduceProd ||
                        r.kind == OpKind::ReduceMax || r.kind == OpKind::ReduceMin ||
                        r.kind == OpKind::ReduceMean;
    return copies ? fold_identity(r) : kNotFoldable;
  }
  if (const FoldRefusal no = r.charge(data.elements); no != kDone) return no;
  Buffer out;
  if (const FoldRefusal no = r.make(data.dtype, axes->dims, out); no != kDone) return no;
  const bool extreme = r.kind == OpKind::ReduceMax || r.kind == OpKind::ReduceMin;
  // The mean and the largest element of an empty set differ between versions.
  if (data.elements == 0 && out.elements > 0 && (extreme || r.kind == OpKind::ReduceMean)) return kBad;
  FoldRefusal no = kDone;
  if (out.elements > 0) {
    no = with_number(data.dtype, [&](auto elem) {
      using E = decltype(elem);
      if (extreme) return reduce_extreme<E>(r, *axes, out);
      if constexpr (std::is_integral_v<typename E::Value>) return reduce_ints<E>(r, *axes, out);
      else return reduce_floats<E>(r, *axes, out);
    });
  }
  if (no == kDone) r.emit(0, std::move(out));
  return no;
}

namespace {

struct AlongAxis {
  std::int64_t outer = 1, extent = 0, inner = 1;
};
std::optional<AlongAxis> along(const Operand& data, std::optional<std::int64_t> given, int opset,
                               std::size_t& axis) {
  if (!given) return std::nullopt;
  const auto a = normalize_axis(*given, data.rank());
  if (!a || (*given < 0 && opset < 11) || data.elements == 0) return std::nullopt;
  axis = static_cast<std::size_t>(*a);
  AlongAxis s;
  for (std::size_t d = 0; d < axis; ++d) s.outer *= data.dims[d];
  s.extent = data.dims[axis];
  for (std::size_t d = axis + 1; d < data.rank(); ++d) s.inner *= data.dims[d];
  return s;
}

template <class E> bool has_nan(const Operand& data) {
  if constexpr (std::is_floating_point_v<typename E::Value>)
    for (std::int64_t i = 0; i < data.elements; ++i)
      if (std::isnan(E::get(data.data, i))) return true;
  return false;
}

}  // namespace

FoldRefusal fold_arg_reduce(FoldRun& r) {
  const Operand& data = r.in(0);
  const std::int64_t keep = r.int_of(names::keepdims).value_or(-1);
  bool last = false;
  if (r.opset >= 12) {
    const auto v = r.int_of(names::select_last_index);
    if (!v) return kNotFoldable;
    last = *v != 0;
  }
  std::size_t axis = 0;
  const auto walk = along(data, r.int_of(names::axis), r.opset, axis);
  if (keep < 0 || keep > 1 || !walk) return kNotFoldable;
  Dims dims(data.dims.begin(), data.dims.end());
  if (keep != 0) dims[axis] = 1;
  else dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  if (const FoldRefusal no = r.charge(data.elements); no != kDone) return no;
  Buffer out;
  if (const FoldRefusal no = r.make(DType::Int64, std::move(dims), out); no != kDone) return no;
  const bool max = r.kind == OpKind::ArgMax;
  return with_number(data.dtype, [&](auto elem) {
    using E = decltype(elem);
    if (has_nan<E>(data)) return kNaN;
    for (std::int64_t o = 0; o < walk->outer; ++o)
      for (std::int64_t i = 0; i < walk->inner; ++i) {
        const auto at = [&](std::int64_t k) {
          return E::get(data.data, (o * walk->extent + k) * walk->inner + i);
        };
        std::int64_t best = 0;
        for (std::int64_t k = 1; k < walk->extent; ++k) {
          const auto x = at(k), b = at(best);
          if ((max ? x > b : x < b) || (last && x == b)) best = k;
        }
        store(out.data(), o * walk->inner + i, best);
      }
    r.emit(0, std::move(out));
    return kDone;
  });
}

FoldRefusal fold_cum_sum(FoldRun& r) {
  const Operand& data = r.in(0);
  const auto exclusive = r.int_of(names::exclusive), reverse = r.int_of(names::reverse);
  std::size_t axis = 0;
  const auto walk = along(data, int_scalar(r.in(1)), r.opset, axis);
  if (!exclusive || !reverse || !walk) return kNotFoldable;
  return with_number(data.dtype, [&](auto elem) {
    using E = decltype(elem);
    using T = typename E::Value;
    Buffer out;
    if (const FoldRefusal no = r.make(data.dtype, Dims(data.dims.begin(), data.dims.end()), out); no != kDone)
      return no;
    for (std::int64_t o = 0; o < walk->outer; ++o)
      for (std::int64_t i = 0; i < walk->inner; ++i) {
        T sum = 0;
        for (std::int64_t step = 0; step < walk->extent; ++step) {
          const std::int64_t k = *reverse != 0 ? walk->extent - 1 - step : step;
          const std::int64_t at = (o * walk->extent + k) * walk->inner + i;
          if (*exclusive != 0) E::put(out.data(), at, sum);
          const T x = E::get(data.data, at);
          if constexpr (std::is_integral_v<T>) integers::add(sum, x, sum);
          else sum = static_cast<T>(sum + x);
          if (*exclusive == 0) E::put(out.data(), at, sum);
        }
      }
    r.emit(0, std::move(out));
    return kDone;
  });
}

// Of equal elements the one with the lower index comes first. Unsorted results may come in any order: not
// folded.
FoldRefusal fold_top_k(FoldRun& r) {
  const Operand& data = r.in(0);
  bool largest = true;
  if (r.opset >= 11) {
    const auto l = r.int_of(names::largest), sorted = r.int_of(names::sorted);
    if (sorted != 1 || !l || *l < 0 || *l > 1) return kNotFoldable;  // runtimes differ on others
    largest = *l == 1;
  }
  std::size_t axis = 0;
  const auto walk = along(data, r.int_of(names::axis), r.opset, axis);
  const auto k = int_scalar(r.in(1));
  if (!walk || !k || r.in(1).dtype != DType::Int64) return kNotFoldable;
  if (*k < 1 || *k > walk->extent) return kBad;
  if (const FoldRefusal no = r.charge(data.elements); no != kDone) return no;
  return with_number(data.dtype, [&](auto elem) {
    using E = decltype(elem);
    if (has_nan<E>(data)) return kNaN;
    Dims dims(data.dims.begin(), data.dims.end());
    dims[axis] = *k;
    Buffer values, indices;
    if (const FoldRefusal no = r.make(data.dtype, dims, values); no != kDone) return no;
    if (const FoldRefusal no = r.make(DType::Int64, dims, indices); no != kDone) return no;
    Dims order(static_cast<std::size_t>(walk->extent));
    for (std::int64_t o = 0; o < walk->outer; ++o)
      for (std::int64_t i = 0; i < walk->inner; ++i) {
        const auto at = [&](std::int64_t p) {
          return E::get(data.data, (o * walk->extent + p) * walk->inner + i);
        };
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + *k, order.end(),
                          [&](std::int64_t a, std::int64_t b) {
                            const auto x = at(a), y = at(b);
                            return x != y ? (largest ? x > y : x < y) : a < b;
                          });
        for (std::int64_t p = 0; p < *k; ++p) {
          const std::int64_t to = (o * *k + p) * walk->inner + i;
          E::put(values.data(), to, at(order[static_cast<std::size_t>(p)]));
          store(indices.data(), to, order[static_cast<std::size_t>(p)]);
        }
      }
    r.emit(0, std::move(values));
    r.emit(1, std::move(indices));
    return kDone;
  });
}

}  // namespace graphopt::folding
