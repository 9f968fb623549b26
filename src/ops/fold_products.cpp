// MatMul and BatchNormalization of constants. ONNX Runtime sums in an order of its own; here sums are taken
// in double and rounded once, so the results are labelled Rounds.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "ops/fold_kernel.h"

namespace graphopt::folding {
namespace {

// The dims in front of an operand's matrices.
DimView batch_of(DimView dims) { return dims.first(dims.size() - std::min<std::size_t>(dims.size(), 2)); }

// The operands of a MatMul as stacks of matrices, a vector being a matrix of one row or one column.
struct Product {
  std::int64_t rows = 1, inner = 0, columns = 1;
  Dims batch;  // of the result, in front of its matrices
  Dims dims;   // of the result
};

std::optional<Product> product_of(DimView a, DimView b) {
  if (a.empty() || b.empty()) return std::nullopt;
  Product p;
  p.inner = a.back();
  if (a.size() > 1) p.rows = a[a.size() - 2];
  if (b.size() > 1) p.columns = b.back();
  if ((b.size() > 1 ? b[b.size() - 2] : b[0]) != p.inner) return std::nullopt;
  const auto batch = broadcast_dims(batch_of(a), batch_of(b));
  if (!batch) return std::nullopt;
  p.batch = *batch;
  p.dims = *batch;
  if (a.size() > 1) p.dims.push_back(p.rows);
  if (b.size() > 1) p.dims.push_back(p.columns);
  return p;
}

// The index of the operand's matrix for each matrix of the result, in order.
Dims matrices_of(const Operand& operand, const Dims& of_result) {
  Dims at;
  for_each_row<1>({of_result, {broadcast_strides(batch_of(operand.dims), of_result)}},
                  [&](std::int64_t, const auto& from, const auto& step, std::int64_t count) {
                    for (std::int64_t i = 0; i < count; ++i) at.push_back(from[0] + i * step[0]);
                    return true;
                  });
  return at;
}

template <class E> void multiply(const Operand& a, const Operand& b, const Product& p, Buffer& out) {
  using T = typename E::Value;
  const Dims from_a = matrices_of(a, p.batch), from_b = matrices_of(b, p.batch);
  std::vector<double> row(static_cast<std::size_t>(p.columns));
  std::int64_t to = 0;
  for (std::size_t k = 0; k < from_a.size(); ++k) {
    for (std::int64_t i = 0; i < p.rows; ++i) {
      std::ranges::fill(row, 0.0);
      for (std::int64_t j = 0; j < p.inner; ++j) {
        const auto x = static_cast<double>(E::get(a.data, (from_a[k] * p.rows + i) * p.inner + j));
        const std::int64_t other = (from_b[k] * p.inner + j) * p.columns;
        for (std::int64_t l = 0; l < p.columns; ++l)
          row[static_cast<std::size_t>(l)] += x * static_cast<double>(E::get(b.data, other + l));
      }
      for (const double v : row) E::put(out.data(), to++, static_cast<T>(v));
    }
  }
}

}  // namespace

FoldRefusal fold_mat_mul(FoldRun& r) {
  const Operand &a = r.in(0), &b = r.in(1);
  const std::optional<Product> p = product_of(a.dims, b.dims);
  if (!p || a.dtype != b.dtype) return kBad;
  // Runtimes differ on sums of nothing, and ONNX Runtime refuses to broadcast some operands without elements.
  if (a.elements == 0 || b.elements == 0) return kNotFoldable;
  Buffer out;
  if (const FoldRefusal no = r.make(a.dtype, p->dims, out); no != kDone) return no;
  const auto work = checked_mul(out.elements, p->inner);
  if (!work) return kTooBig;
  if (const FoldRefusal no = r.charge(*work); no != kDone) return no;
  const FoldRefusal no = with_float(a.dtype, [&](auto elem) {
    multiply<decltype(elem)>(a, b, *p, out);
    return kDone;
  });
  if (no == kDone) r.emit(0, std::move(out));
  return no;
}

namespace {

// y = x * factor + (bias - mean * factor) with factor = scale / sqrt(variance + epsilon), by channel, which
// is axis 1: as ONNX Runtime computes it, so that the same infinities become NaN.
template <class E>
void normalize(const FoldRun& r, std::int64_t channels, std::int64_t inner, bool of_batch, double epsilon,
               Buffer& out) {
  using T = typename E::Value;
  const Operand& x = r.in(0);
  const std::int64_t outer = x.elements / (channels * inner);
  const auto each = [&](std::int64_t channel, auto f) {
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < inner; ++i) f((o * channels + channel) * inner + i);
  };
  for (std::int64_t k = 0; k < channels; ++k) {
    double mean = 0, variance = 0;
    if (of_batch) {
      const auto count = static_cast<double>(outer * inner);
      each(k, [&](std::int64_t at) { mean += static_cast<double>(E::get(x.data, at)); });
      mean /= count;
      each(k, [&](std::int64_t at) {
        const double d = static_cast<double>(E::get(x.data, at)) - mean;
        variance += d * d;
      });
      variance /= count;
    } else {
      mean = static_cast<double>(E::get(r.in(3).data, k));
      variance = static_cast<double>(E::get(r.in(4).data, k));
    }
    const double factor = static_cast<double>(E::get(r.in(1).data, k)) / std::sqrt(variance + epsilon);
    const double offset = static_cast<double>(E::get(r.in(2).data, k)) - mean * factor;
    each(k, [&](std::int64_t at) {
      const double v = static_cast<double>(E::get(x.data, at)) * factor + offset;
      E::put(out.data(), at, static_cast<T>(v));
    });
  }
}

}  // namespace

FoldRefusal fold_batch_normalization(FoldRun& r) {
  const Operand& x = r.in(0);
  const bool of_batch = r.int_of(names::training_mode).value_or(0) == 1;
  // ONNX Runtime refuses any other number; before opset 14 more than one mean training.
  if (r.results.size() != (of_batch ? 3 : 1)) return kNotFoldable;
  for (std::size_t i = 1; i < r.results.size(); ++i)
    if (r.wants(i)) return kNotFoldable;  // running means and variances
  const auto epsilon = float_attr(r.attributes, names::epsilon);
  if (!epsilon || x.rank() < 2) return kNotFoldable;
  const std::int64_t channels = x.dims[1];
  for (std::size_t i = 1; i < 5; ++i) {
    if (of_batch && i > 2) continue;
    if (r.in(i).rank() != 1 || r.in(i).dims[0] != channels || r.in(i).dtype != x.dtype) return kNotFoldable;
  }
  if (x.elements == 0) return kNotFoldable;  // runtimes differ on the mean of nothing
  if (const FoldRefusal no = r.charge(x.elements); no != kDone) return no;
  Buffer out;
  if (const FoldRefusal no = r.make(x.dtype, copy_of(x.dims), out); no != kDone) return no;
  std::int64_t inner = 1;
  for (std::size_t d = 2; d < x.rank(); ++d) inner *= x.dims[d];
  const FoldRefusal no = with_float(x.dtype, [&](auto elem) {
    normalize<decltype(elem)>(r, channels, inner, of_batch, static_cast<double>(*epsilon), out);
    return kDone;
  });
  if (no == kDone) r.emit(0, std::move(out));
  return no;
}

}  // namespace graphopt::folding
