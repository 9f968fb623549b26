// Kernels that move elements by a rule. Most are one strided read of an operand (Transpose, Slice, Expand,
// Tile, Split, DepthToSpace): the rule gives dims, strides and a start, and emit_strided copies.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/fold_kernel.h"

namespace graphopt::folding {
namespace {

// The product of the dims before an axis, its extent, and the product of the dims after it. Precondition: the
// tensor is not empty.
struct Split3 {
  std::int64_t outer = 1, extent = 1, inner = 1;
};
Split3 split_at(DimView dims, std::size_t axis) {
  Split3 s;
  for (std::size_t d = 0; d < axis; ++d) s.outer *= dims[d];
  s.extent = dims[axis];
  for (std::size_t d = axis + 1; d < dims.size(); ++d) s.inner *= dims[d];
  return s;
}

// Strides that may be computed for an empty tensor, too: then they are never used.
Dims safe_strides(const Operand& o) {
  return o.elements == 0 ? Dims(o.rank(), 0) : row_major_strides(o.dims);
}

}  // namespace

FoldRefusal fold_transpose(FoldRun& r) {
  const Operand& data = r.in(0);
  Dims perm(data.rank());
  if (r.has(names::perm)) {
    const auto given = ints_attr(r.attributes, names::perm);
    if (!given) return kNotFoldable;
    const auto axes = normalize_axes(*given, data.rank());
    if (!axes || axes->size() != data.rank() || *axes != copy_of(*given)) return kBad;
    perm = *axes;
  } else {
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  const Dims own = safe_strides(data);
  Dims dims(perm.size()), strides(perm.size());
  for (std::size_t d = 0; d < perm.size(); ++d) {
    dims[d] = data.dims[static_cast<std::size_t>(perm[d])];
    strides[d] = own[static_cast<std::size_t>(perm[d])];
  }
  return emit_strided(r, 0, data, std::move(dims), std::move(strides), 0);
}

FoldRefusal fold_slice(FoldRun& r) {
  const Operand& data = r.in(0);
  std::optional<Dims> starts, ends, axes, steps;
  bool has_axes = false;
  if (r.opset < 10) {
    const auto list = [&](NameId name) {
      const auto v = ints_attr(r.attributes, name);
      return v ? std::optional<Dims>(copy_of(*v)) : std::nullopt;
    };
    starts = list(names::starts);
    ends = list(names::ends);
    has_axes = r.has(names::axes);
    if (has_axes) axes = list(names::axes);
  } else {
    for (std::size_t i = 1; i < 5; ++i)
      if (r.in(i) && (r.in(i).rank() != 1 || r.in(i).dtype != r.in(1).dtype)) return kBad;
    starts = int_list(r.in(1));
    ends = int_list(r.in(2));
    has_axes = static_cast<bool>(r.in(3));
    if (has_axes) axes = int_list(r.in(3));
    if (r.in(4)) {
      steps = int_list(r.in(4));
      if (!steps) return kBad;
    }
  }
  if (!starts || !ends) return kBad;
  const std::size_t count = starts->size();
  if (!has_axes) {
    axes = Dims(count);
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (!steps) steps = Dims(count, 1);
  if (!axes || ends->size() != count || axes->size() != count || steps->size() != count) return kBad;
  if (r.opset < 10 && std::ranges::any_of(*axes, [](std::int64_t a) { return a < 0; })) return kBad;
  axes = normalize_axes(*axes, data.rank());
  if (!axes) return kBad;

  Dims dims = copy_of(data.dims), strides = safe_strides(data);
  std::int64_t from = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t d = static_cast<std::size_t>((*axes)[i]);
    const std::int64_t extent = dims[d], step = (*steps)[i];
    if (step == 0 || step == std::numeric_limits<std::int64_t>::min()) return kBad;
    const bool back = step < 0;
    // Towards the beginning, "to the end" is INT_MIN; ONNX Runtime accepts INT_MAX for it, too, NumPy does
    // not.
    const std::int64_t raw_end = (*ends)[i];
    if (back && (raw_end == std::numeric_limits<std::int64_t>::max() ||
                 raw_end == std::numeric_limits<std::int32_t>::max()))
      return kNotFoldable;
    const auto place = [&](std::int64_t v) {  // extent >= 0, so the sum does not overflow
      return std::clamp<std::int64_t>(v < 0 ? v + extent : v, back ? -1 : 0, extent);
    };
    // A start before the first element with a negative step: the specification takes the first element, NumPy
    // none.
    if (back && extent > 0 && (*starts)[i] < -extent) return kNotFoldable;
    std::int64_t start = place((*starts)[i]);
    if (back) start = std::min(start, extent - 1);
    const std::int64_t length = back ? start - place(raw_end) : place(raw_end) - start;
    const std::int64_t stride = back ? -step : step;
    const std::int64_t kept = length <= 0 ? 0 : 1 + (length - 1) / stride;
    if (kept > 0) from += start * strides[d];
    dims[d] = kept;
    strides[d] = kept > 1 ? strides[d] * step : 0;  // kept > 1: step is smaller than the extent
  }
  return emit_strided(r, 0, data, std::move(dims), std::move(strides), from);
}

FoldRefusal fold_concat(FoldRun& r) {
  const Operand& first = r.in(0);
  const std::optional<std::int64_t> given = r.int_of(names::axis);
  if (!given) return kNotFoldable;
  const auto axis = normalize_axis(*given, first.rank());
  if (!axis || (*given < 0 && r.opset < 11)) return kBad;
  const std::size_t a = static_cast<std::size_t>(*axis);
  Dims dims = copy_of(first.dims);
  std::optional<std::int64_t> extent = 0;
  for (std::size_t i = 0; i < r.inputs(); ++i) {
    const Operand& o = r.in(i);
    if (!o || o.dtype != first.dtype || o.rank() != first.rank()) return kBad;
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (d != a && o.dims[d] != dims[d]) return kBad;
    extent = checked_add(extent, o.dims[a]);
  }
  if (!extent) return kBad;
  dims[a] = *extent;
  Buffer out;
  if (const FoldRefusal no = r.make(first.dtype, std::move(dims), out); no != kDone) return no;
  if (out.elements > 0) {
    const Split3 whole = split_at(out.dims, a);
    std::int64_t at = 0;
    for (std::size_t i = 0; i < r.inputs(); ++i) {
      const std::int64_t row = r.in(i).dims[a] * whole.inner;
      const Mover mover(r.in(i), out);
      for (std::int64_t o = 0; o < whole.outer; ++o) mover.copy(o * *extent * whole.inner + at, o * row, row);
      at += row;
    }
  }
  r.emit(0, std::move(out));
  return kDone;
}

FoldRefusal fold_split(FoldRun& r) {
  const Operand& data = r.in(0);
  const std::optional<std::int64_t> given = r.int_of(names::axis);
  if (!given) return kNotFoldable;
  const auto axis = normalize_axis(*given, data.rank());
  if (!axis || (*given < 0 && r.opset < 11)) return kBad;
  const std::size_t a = static_cast<std::size_t>(*axis);
  const std::int64_t extent = data.dims[a];
  const std::size_t parts = r.results.size();
  const std::int64_t n = static_cast<std::int64_t>(parts);
  if (parts == 0) return kBad;

  std::optional<Dims> lengths;
  if (r.opset < 13 && r.has(names::split)) {
    const auto list = ints_attr(r.attributes, names::split);
    if (!list) return kNotFoldable;
    lengths = copy_of(*list);
  } else if (r.opset >= 13 && r.in(1)) {
    if (r.in(1).rank() != 1 || r.has(names::num_outputs)) return kBad;
    lengths = int_list(r.in(1));
    if (!lengths) return kBad;
  } else if (r.opset >= 18) {
    // All parts have ceil(extent / n) entries, the last one the remaining ones, of which there must be some.
    if (r.int_of(names::num_outputs) != n) return kBad;
    const std::int64_t length = extent / n + (extent % n != 0 ? 1 : 0);
    if (length == 0 || (n - 1) > (extent - 1) / length) return kBad;
    lengths = Dims(parts, length);
    lengths->back() = extent - length * (n - 1);
  } else {
    if (extent % n != 0) return kBad;
    lengths = Dims(parts, extent / n);
  }
  if (lengths->size() != parts) return kBad;
  std::optional<std::int64_t> sum = 0;
  for (const std::int64_t l : *lengths) {
    if (l < 0) return kBad;
    sum = checked_add(sum, l);
  }
  if (sum != extent) return kBad;

  const Dims strides = safe_strides(data);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < parts; ++i) {
    Dims dims = copy_of(data.dims);
    dims[a] = (*lengths)[i];
    if (r.wants(i))
      if (const FoldRefusal no = emit_strided(r, i, data, std::move(dims), strides, start); no != kDone)
        return no;
    start += (*lengths)[i] * strides[a];
  }
  return kDone;
}

FoldRefusal fold_expand(FoldRun& r) {
  const Operand& data = r.in(0);
  if (r.in(1).dtype != DType::Int64 || r.in(1).rank() != 1) return kBad;
  const std::optional<Dims> shape = int_list(r.in(1));
  if (!shape || shape->size() > kMaxRank || std::ranges::any_of(*shape, [](std::int64_t d) { return d < 0; }))
    return kBad;
  std::optional<Dims> dims = broadcast_dims(data.dims, *shape);
  if (!dims) return kBad;
  Dims strides = data.elements == 0 ? Dims(dims->size(), 0) : broadcast_strides(data.dims, *dims);
  return emit_strided(r, 0, data, std::move(*dims), std::move(strides), 0);
}

FoldRefusal fold_tile(FoldRun& r) {
  const Operand& data = r.in(0);
  if (r.in(1).dtype != DType::Int64 || r.in(1).rank() != 1) return kBad;
  const std::optional<Dims> repeats = int_list(r.in(1));
  if (!repeats || repeats->size() != data.rank()) return kBad;
  // Each dim becomes two: the repetition, with stride 0, and the dim itself.
  const Dims own = safe_strides(data);
  Dims dims(data.rank()), walked, strides;
  for (std::size_t d = 0; d < data.rank(); ++d) {
    const std::int64_t times = (*repeats)[d];
    if (times < 0) return kBad;
    const std::optional<std::int64_t> extent = checked_mul(data.dims[d], times);
    if (!extent) return kTooBig;
    dims[d] = *extent;
    walked.insert(walked.end(), {times, data.dims[d]});
    strides.insert(strides.end(), {0, own[d]});
  }
  Buffer out;
  if (const FoldRefusal no = r.make(data.dtype, std::move(dims), out); no != kDone) return no;
  if (out.elements > 0) {
    const Mover mover(data, out);
    for_each_row<1>({std::move(walked), {std::move(strides)}},
                    [&](std::int64_t to, const auto& offset, const auto& step, std::int64_t count) {
                      mover.copy_strided(to, offset[0], step[0], count);
                      return true;
                    });
  }
  r.emit(0, std::move(out));
  return kDone;
}

namespace {

// Returns true if the tensor contains a -0 (only the sign bit is set).
bool has_negative_zero(const Operand& o) {
  const auto search = [&](auto elem) {
    for (std::int64_t i = 0; i < o.elements; ++i) {
      const auto v = elem.get(o.data, i);
      if (v == 0 && std::signbit(v)) return kNotFoldable;
    }
    return kDone;
  };
  return is_float(o.dtype) && with_float(o.dtype, search) != kDone;
}

}  // namespace

// ONNX Runtime merges the two selections by arithmetic, which loses the sign of a zero in some layouts.
FoldRefusal fold_where(FoldRun& r) {
  const Operand& condition = r.in(0);
  const Operand& yes = r.in(1);
  const Operand& no_operand = r.in(2);
  if (condition.dtype != DType::Bool || yes.dtype != no_operand.dtype) return kBad;
  if (has_negative_zero(yes) || has_negative_zero(no_operand)) return kNotFoldable;
  std::optional<Dims> dims = broadcast_dims(condition.dims, yes.dims);
  if (dims) dims = broadcast_dims(*dims, no_operand.dims);
  if (!dims) return kBad;
  Buffer out;
  if (const FoldRefusal no = r.make(yes.dtype, *dims, out); no != kDone) return no;
  if (out.elements > 0) {
    const Mover from_yes(yes, out), from_no(no_operand, out);
    for_each_row<3>({*dims,
                     {broadcast_strides(condition.dims, *dims), broadcast_strides(yes.dims, *dims),
                      broadcast_strides(no_operand.dims, *dims)}},
                    [&](std::int64_t to, const auto& offset, const auto& step, std::int64_t count) {
                      for (std::int64_t i = 0; i < count; ++i) {
                        if (condition.data[offset[0] + i * step[0]] != 0)
                          from_yes.copy(to + i, offset[1] + i * step[1], 1);
                        else from_no.copy(to + i, offset[2] + i * step[2], 1);
                      }
                      return true;
                    });
  }
  r.emit(0, std::move(out));
  return kDone;
}

FoldRefusal fold_trilu(FoldRun& r) {
  const Operand& data = r.in(0);
  const std::optional<std::int64_t> upper = r.int_of(names::upper);
  if (!upper) return kNotFoldable;
  if (data.rank() < 2) return kBad;
  std::int64_t k = 0;
  if (r.in(1)) {
    const std::optional<std::int64_t> v = int_scalar(r.in(1));
    if (!v || r.in(1).dtype != DType::Int64) return kBad;
    k = *v;
  }
  Buffer out;
  if (const FoldRefusal no = r.make(data.dtype, copy_of(data.dims), out); no != kDone) return no;
  if (out.elements > 0) {
    const std::int64_t columns = data.dims.back(), rows = data.dims[data.rank() - 2];
    k = std::clamp(k, -rows, columns);
    const Mover mover(data, out);
    for (std::int64_t row = 0; row < out.elements / columns; ++row) {
      const std::int64_t diagonal =
          std::clamp<std::int64_t>(row % rows + k + (*upper != 0 ? 0 : 1), 0, columns);
      const std::int64_t at = row * columns;
      if (*upper != 0) mover.copy(at + diagonal, at + diagonal, columns - diagonal);
      else mover.copy(at, at, diagonal);
    }
  }
  r.emit(0, std::move(out));
  return kDone;
}

FoldRefusal fold_depth_to_space(FoldRun& r) {
  const Operand& data = r.in(0);
  const std::optional<std::int64_t> block = r.int_of(names::blocksize);
  if (!block) return kNotFoldable;
  bool column_first = false;  // CRD
  if (r.opset >= 11) {
    const auto mode = string_attr(r.attributes, names::mode);
    if (!mode || (*mode != "DCR" && *mode != "CRD")) return kNotFoldable;
    column_first = *mode == "CRD";
  }
  const std::int64_t b = *block;
  if (data.rank() != 4 || b <= 0 || b > 0x7FFF || data.elements == 0 || data.dims[1] % (b * b) != 0)
    return kBad;
  const std::int64_t c = data.dims[1] / (b * b), h = data.dims[2], w = data.dims[3];
  const Dims s = row_major_strides(data.dims);
  const std::int64_t channel = column_first ? s[1] * b * b : s[1];
  const std::int64_t block_row = column_first ? s[1] * b : s[1] * c * b;
  const std::int64_t block_column = column_first ? s[1] : s[1] * c;
  Buffer out;
  if (const FoldRefusal no = r.make(data.dtype, {data.dims[0], c, h * b, w * b}, out); no != kDone) return no;
  const Mover mover(data, out);
  for_each_row<1>({{data.dims[0], c, h, b, w, b}, {{{s[0], channel, s[2], block_row, s[3], block_column}}}},
                  [&](std::int64_t to, const auto& offset, const auto& step, std::int64_t count) {
                    mover.copy_strided(to, offset[0], step[0], count);
                    return true;
                  });
  r.emit(0, std::move(out));
  return kDone;
}

FoldRefusal fold_space_to_depth(FoldRun& r) {
  const Operand& data = r.in(0);
  const std::optional<std::int64_t> block = r.int_of(names::blocksize);
  if (!block) return kNotFoldable;
  // With mode CRD (opset 28 and later) the channels come in another order.
  if (r.has(names::mode) && string_attr(r.attributes, names::mode) != "DCR") return kNotFoldable;
  const std::int64_t b = *block;
  if (data.rank() != 4 || b <= 0 || b > 0x7FFF || data.elements == 0) return kBad;
  if (data.dims[2] % b != 0 || data.dims[3] % b != 0) return kBad;
  const std::int64_t c = data.dims[1], h = data.dims[2] / b, w = data.dims[3] / b;
  const Dims s = row_major_strides(data.dims);
  Buffer out;
  if (const FoldRefusal no = r.make(data.dtype, {data.dims[0], c * b * b, h, w}, out); no != kDone) return no;
  const Mover mover(data, out);
  for_each_row<1>({{data.dims[0], b, b, c, h, w}, {{{s[0], s[2], s[3], s[1], s[2] * b, s[3] * b}}}},
                  [&](std::int64_t to, const auto& offset, const auto& step, std::int64_t count) {
                    mover.copy_strided(to, offset[0], step[0], count);
                    return true;
                  });
  r.emit(0, std::move(out));
  return kDone;
}

FoldRefusal fold_reverse_sequence(FoldRun& r) {
  const Operand& data = r.in(0);
  const auto batch = r.int_of(names::batch_axis), time = r.int_of(names::time_axis);
  if (!batch || !time) return kNotFoldable;
  if (data.rank() < 2 || *batch + *time != 1 || *batch < 0 || *batch > 1) return kBad;
  const std::size_t batch_axis = static_cast<std::size_t>(*batch),
                    time_axis = static_cast<std::size_t>(*time);
  const std::optional<Dims> lengths = int_list(r.in(1));
  if (!lengths || r.in(1).rank() != 1) return kBad;
  if (static_cast<std::int64_t>(lengths->size()) != data.dims[batch_axis]) return kBad;
  for (const std::int64_t l : *lengths)
    if (l < 0 || l > data.dims[time_axis]) return kBad;
  Buffer out;
  if (const FoldRefusal no = r.make(data.dtype, copy_of(data.dims), out); no != kDone) return no;
  if (out.elements > 0) {
    const Split3 whole = split_at(data.dims, 1);  // dims 0 and 1 are the two axes
    const Mover mover(data, out);
    for (std::int64_t i = 0; i < data.dims[0]; ++i) {
      for (std::int64_t j = 0; j < data.dims[1]; ++j) {
        const std::int64_t b = batch_axis == 0 ? i : j, t = batch_axis == 0 ? j : i;
        const std::int64_t length = (*lengths)[static_cast<std::size_t>(b)];
        const std::int64_t from = t < length ? length - 1 - t : t;
        const std::int64_t row = batch_axis == 0 ? b * whole.extent + from : from * whole.extent + b;
        mover.copy((i * whole.extent + j) * whole.inner, row * whole.inner, whole.inner);
      }
    }
  }
  r.emit(0, std::move(out));
  return kDone;
}

}  // namespace graphopt::folding
