// Kernels whose integers choose elements: gathers, scatters, Compress, NonZero, OneHot.
//
// Every index is checked before it is used. Scatters with two updates of one element are refused: the winner
// depends on the runtime.
#include <algorithm>

#include "ops/fold_kernel.h"

namespace graphopt::folding {
namespace {

std::int64_t product(DimView dims, std::size_t from, std::size_t to) {  // of a tensor that is not empty
  std::int64_t p = 1;
  for (std::size_t d = from; d < to; ++d) p *= dims[d];
  return p;
}

bool is_index(const Operand& o) { return o.dtype == DType::Int64 || o.dtype == DType::Int32; }

// Reads an int32 or int64 tensor element by element.
struct Indices {
  const char* data;
  bool wide;
  std::int64_t operator[](std::int64_t i) const {
    return wide ? load<std::int64_t>(data, i) : load<std::int32_t>(data, i);
  }
};
Indices indices_of(const Operand& o) { return {o.data, o.dtype == DType::Int64}; }

// Returns 0 ... extent - 1, counting from the end when the index is negative; -1 when it is out of range.
std::int64_t resolve(std::int64_t i, std::int64_t extent) {
  if (i < -extent || i >= extent) return -1;
  return i < 0 ? i + extent : i;
}

// Negative indices are allowed from opset 11 on.
bool may_be_negative(const FoldRun& r) { return r.opset >= 11; }

// Operand 1 as indices into the axis of operand 0 that the node's attribute names.
struct AxisIndices {
  Indices indices = {};
  std::size_t axis = 0;
};
FoldRefusal read_axis_indices(const FoldRun& r, AxisIndices& out) {
  const std::optional<std::int64_t> given = r.int_of(names::axis);
  if (!given) return kNotFoldable;
  const auto axis = normalize_axis(*given, r.in(0).rank());
  if (!axis || !is_index(r.in(1))) return kBad;
  out.indices = indices_of(r.in(1));
  out.axis = static_cast<std::size_t>(*axis);
  return kDone;
}

// Makes a result that starts as a copy of `data`, for updates to be written into.
FoldRefusal copy_whole(FoldRun& r, const Operand& data, Buffer& out) {
  if (const FoldRefusal no = r.make(data.dtype, copy_of(data.dims), out); no != kDone) return no;
  Mover(data, out).copy(0, 0, data.elements);
  return kDone;
}

bool plain_scatter(const FoldRun& r) {
  return !r.has(names::reduction) || string_attr(r.attributes, names::reduction) == "none";
}

}  // namespace

FoldRefusal fold_gather(FoldRun& r) {
  const Operand& data = r.in(0);
  AxisIndices at;
  if (const FoldRefusal no = read_axis_indices(r, at); no != kDone) return no;
  const Indices& indices = at.indices;
  const std::size_t a = at.axis;
  const auto at_axis = data.dims.begin() + static_cast<std::ptrdiff_t>(a);
  Dims dims(data.dims.begin(), at_axis);
  dims.insert(dims.end(), r.in(1).dims.begin(), r.in(1).dims.end());
  dims.insert(dims.end(), at_axis + 1, data.dims.end());
  const std::int64_t extent = data.dims[a], count = r.in(1).elements;
  for (std::int64_t i = 0; i < count; ++i)
    if (resolve(indices[i], extent) < 0 || (indices[i] < 0 && !may_be_negative(r))) return kBad;
  Buffer out;
  if (const FoldRefusal no = r.make(data.dtype, std::move(dims), out); no != kDone) return no;
  if (out.elements > 0) {
    const std::int64_t outer = product(data.dims, 0, a), inner = product(data.dims, a + 1, data.rank());
    // ONNX Runtime (1.32) copies only the first string of each row.
    if (data.dtype == DType::String && inner > 1) return kNotFoldable;
    const Mover mover(data, out);
    std::int64_t to = 0;
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t i = 0; i < count; ++i, to += inner)
        mover.copy(to, (o * extent + resolve(indices[i], extent)) * inner, inner);
  }
  r.emit(0, std::move(out));
  return kDone;
}

namespace {

// For GatherElements and ScatterElements: calls f(position in the index tensor, element of data) for each
// element of the index tensor; f returns false to stop.
template <class F>
bool for_each_element(const Operand& data, const Operand& index, const Indices& indices, std::size_t axis,
                      F f) {
  if (index.elements == 0) return true;
  const Dims strides = row_major_strides(data.dims);
  Dims walked = strides;
  walked[axis] = 0;  // the axis coordinate comes from the index tensor
  return for_each_row<1>({copy_of(index.dims), {walked}},
                         [&](std::int64_t at, const auto& offset, const auto& step, std::int64_t count) {
                           for (std::int64_t i = 0; i < count; ++i) {
                             const std::int64_t k = resolve(indices[at + i], data.dims[axis]);
                             if (k < 0 || !f(at + i, offset[0] + i * step[0] + k * strides[axis]))
                               return false;
                           }
                           return true;
                         });
}

// Returns true if the index tensor's dims, except that of the axis, are at most the data's. (Then data is
// empty only when the index tensor is.)
bool fits_elementwise(const Operand& data, const Operand& index, std::size_t axis) {
  if (index.rank() != data.rank()) return false;
  for (std::size_t d = 0; d < data.rank(); ++d)
    if (d != axis && index.dims[d] > data.dims[d]) return false;
  return data.elements > 0 || index.elements == 0;
}

}  // namespace

FoldRefusal fold_gather_elements(FoldRun& r) {
  const Operand& data = r.in(0);
  AxisIndices at;
  if (const FoldRefusal no = read_axis_indices(r, at); no != kDone) return no;
  const Indices& indices = at.indices;
  const std::size_t a = at.axis;
  if (!fits_elementwise(data, r.in(1), a)) return kBad;
  Buffer out;
  if (const FoldRefusal no = r.make(data.dtype, copy_of(r.in(1).dims), out); no != kDone) return no;
  const Mover mover(data, out);
  const bool fine = for_each_element(data, r.in(1), indices, a, [&](std::int64_t to, std::int64_t from) {
    mover.copy(to, from, 1);
    return true;
  });
  if (!fine) return kBad;
  r.emit(0, std::move(out));
  return kDone;
}

FoldRefusal fold_scatter_elements(FoldRun& r) {
  const Operand& data = r.in(0);
  const Operand& updates = r.in(2);
  if (!plain_scatter(r)) return kNotFoldable;
  AxisIndices at;
  if (const FoldRefusal no = read_axis_indices(r, at); no != kDone) return no;
  const Indices& indices = at.indices;
  const std::size_t a = at.axis;
  if (updates.dtype != data.dtype) return kBad;
  if (!fits_elementwise(data, r.in(1), a) || !std::ranges::equal(updates.dims, r.in(1).dims)) return kBad;
  if (r.in(1).dims[a] > data.dims[a]) return kBad;
  Buffer out;
  if (const FoldRefusal no = copy_whole(r, data, out); no != kDone) return no;
  const Mover mover(updates, out);
  std::vector<bool> written(static_cast<std::size_t>(data.elements));
  const bool fine = for_each_element(data, r.in(1), indices, a, [&](std::int64_t from, std::int64_t to) {
    if (written[static_cast<std::size_t>(to)]) return false;
    written[static_cast<std::size_t>(to)] = true;
    mover.copy(to, from, 1);
    return true;
  });
  if (!fine) return kBad;
  r.emit(0, std::move(out));
  return kDone;
}

namespace {

// Each row of an index tensor gives a position in the dims of `data` from `first` on. Returns the number of
// the block at row `i`, or -1.
std::int64_t block_of(const Indices& indices, std::int64_t i, std::int64_t length, DimView data,
                      std::size_t first) {
  std::int64_t block = 0;
  for (std::int64_t k = 0; k < length; ++k) {
    const std::int64_t extent = data[first + static_cast<std::size_t>(k)];
    const std::int64_t v = resolve(indices[i * length + k], extent);
    if (v < 0) return -1;
    block = block * extent + v;
  }
  return block;
}

}  // namespace

FoldRefusal fold_gather_nd(FoldRun& r) {
  const Operand& data = r.in(0);
  const Operand& index = r.in(1);
  if (index.dtype != DType::Int64) return kBad;
  const Indices indices = indices_of(index);
  std::int64_t batch = 0;
  if (r.opset >= 12) {
    const auto v = r.int_of(names::batch_dims);
    if (!v) return kNotFoldable;
    batch = *v;
  }
  const std::int64_t most = static_cast<std::int64_t>(std::min(data.rank(), index.rank()));
  if (batch < 0 || batch >= most) return kBad;
  const std::size_t b = static_cast<std::size_t>(batch);
  const std::int64_t length = index.dims.back();
  if (length < 1 || length > static_cast<std::int64_t>(data.rank()) - batch) return kBad;
  for (std::size_t d = 0; d < b; ++d)
    if (data.dims[d] != index.dims[d]) return kBad;
  if (data.elements == 0) return kNotFoldable;
  const std::size_t tail = b + static_cast<std::size_t>(length);
  Dims dims(index.dims.begin(), index.dims.end() - 1);
  dims.insert(dims.end(), data.dims.begin() + static_cast<std::ptrdiff_t>(tail), data.dims.end());
  Buffer out;
  if (const FoldRefusal no = r.make(data.dtype, std::move(dims), out); no != kDone) return no;
  const std::int64_t rows = index.elements / length;
  if (const FoldRefusal no = r.charge(index.elements); no != kDone) return no;
  if (rows > 0) {
    const std::int64_t batches = product(data.dims, 0, b), blocks = product(data.dims, b, tail);
    const std::int64_t size = product(data.dims, tail, data.rank());
    const Mover mover(data, out);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t block = block_of(indices, i, length, data.dims, b);
      if (block < 0) return kBad;
      mover.copy(i * size, (i / (rows / batches) * blocks + block) * size, size);
    }
  }
  r.emit(0, std::move(out));
  return kDone;
}

FoldRefusal fold_scatter_nd(FoldRun& r) {
  const Operand& data = r.in(0);
  const Operand& index = r.in(1);
  const Operand& updates = r.in(2);
  if (!plain_scatter(r)) return kNotFoldable;
  if (index.dtype != DType::Int64 || data.rank() == 0 || index.rank() == 0) return kBad;
  const Indices indices = indices_of(index);
  const std::int64_t length = index.dims.back();
  if (length < 1 || length > static_cast<std::int64_t>(data.rank()) || updates.dtype != data.dtype)
    return kBad;
  const std::size_t tail = static_cast<std::size_t>(length);
  Dims expected(index.dims.begin(), index.dims.end() - 1);
  expected.insert(expected.end(), data.dims.begin() + length, data.dims.end());
  if (!std::ranges::equal(expected, updates.dims)) return kBad;
  Buffer out;
  if (const FoldRefusal no = copy_whole(r, data, out); no != kDone) return no;
  if (const FoldRefusal no = r.charge(index.elements); no != kDone) return no;
  const std::int64_t rows = index.elements / length;
  if (rows > 0) {
    if (data.elements == 0) return kNotFoldable;
    const std::int64_t size = product(data.dims, tail, data.rank());
    std::vector<bool> written(static_cast<std::size_t>(data.elements / size));
    const Mover mover(updates, out);
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t block = block_of(indices, i, length, data.dims, 0);
      if (block < 0 || written[static_cast<std::size_t>(block)]) return kBad;
      written[static_cast<std::size_t>(block)] = true;
      mover.copy(block * size, i * size, size);
    }
  }
  r.emit(0, std::move(out));
  return kDone;
}

FoldRefusal fold_compress(FoldRun& r) {
  const Operand& data = r.in(0);
  const Operand& condition = r.in(1);
  if (condition.dtype != DType::Bool || condition.rank() != 1 || data.rank() == 0) return kBad;
  std::optional<std::size_t> axis;
  if (r.has(names::axis)) {
    const auto given = r.int_of(names::axis);
    if (!given) return kNotFoldable;
    const auto a = normalize_axis(*given, data.rank());
    if (!a || (*given < 0 && r.opset < 11)) return kBad;
    axis = static_cast<std::size_t>(*a);
  }
  const std::int64_t extent = axis ? data.dims[*axis] : data.elements;
  if (condition.elements > extent) return kBad;
  Dims kept;
  for (std::int64_t i = 0; i < condition.elements; ++i)
    if (condition.data[i] != 0) kept.push_back(i);
  Dims dims = axis ? copy_of(data.dims) : Dims(1);
  dims[axis.value_or(0)] = static_cast<std::int64_t>(kept.size());
  Buffer out;
  if (const FoldRefusal no = r.make(data.dtype, std::move(dims), out); no != kDone) return no;
  if (out.elements > 0) {
    const std::int64_t outer = axis ? product(data.dims, 0, *axis) : 1;
    const std::int64_t inner = axis ? product(data.dims, *axis + 1, data.rank()) : 1;
    const Mover mover(data, out);
    std::int64_t to = 0;
    for (std::int64_t o = 0; o < outer; ++o)
      for (const std::int64_t k : kept) {
        mover.copy(to, (o * extent + k) * inner, inner);
        to += inner;
      }
  }
  r.emit(0, std::move(out));
  return kDone;
}

FoldRefusal fold_non_zero(FoldRun& r) {
  const Operand& data = r.in(0);
  if (data.rank() == 0) return kNotFoldable;  // the shape of the result differs between runtimes
  if (const FoldRefusal no = r.charge(data.elements); no != kDone) return no;
  Dims found;
  const auto search = [&](auto elem) {
    for (std::int64_t i = 0; i < data.elements; ++i)
      if (elem.get(data.data, i) != 0) found.push_back(i);  // NaN is not zero
    return kDone;
  };
  const FoldRefusal no =
      data.dtype == DType::Bool ? search(Elem<DType::Bool>{}) : with_number(data.dtype, search);
  if (no != kDone) return no;
  Buffer out;
  const std::int64_t count = static_cast<std::int64_t>(found.size());
  const std::int64_t rank = static_cast<std::int64_t>(data.rank());
  if (const FoldRefusal too_big = r.make(DType::Int64, {rank, count}, out); too_big != kDone) return too_big;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = found[static_cast<std::size_t>(i)];
    for (std::size_t d = data.rank(); d-- > 0;) {
      store(out.data(), static_cast<std::int64_t>(d) * count + i, rest % data.dims[d]);
      rest /= data.dims[d];
    }
  }
  r.emit(0, std::move(out));
  return kDone;
}

FoldRefusal fold_one_hot(FoldRun& r) {
  const Operand& index = r.in(0);
  const Operand& values = r.in(2);
  const std::optional<std::int64_t> depth = int_scalar(r.in(1)), given = r.int_of(names::axis);
  // kernels support indices and depth of other types, too
  if (!is_index(index) || !depth || !given) return kNotFoldable;
  if (*depth <= 0 || values.rank() != 1 || values.elements != 2 || index.rank() == 0) return kBad;
  const auto axis = normalize_axis(*given, index.rank() + 1);
  if (!axis || (*given < -1 && r.opset < 11)) return kBad;
  Dims dims = copy_of(index.dims);
  dims.insert(dims.begin() + *axis, *depth);
  Buffer out;
  if (const FoldRefusal no = r.make(values.dtype, std::move(dims), out); no != kDone) return no;
  if (out.elements > 0) {
    const std::int64_t inner = product(index.dims, static_cast<std::size_t>(*axis), index.rank());
    const Indices indices = indices_of(index);
    const Mover mover(values, out);
    for (std::int64_t i = 0; i < out.elements; ++i) mover.copy(i, 0, 1);
    for (std::int64_t i = 0; i < index.elements; ++i) {
      if (indices[i] < 0 && !may_be_negative(r)) return kNotFoldable;
      const std::int64_t k = resolve(indices[i], *depth);  // an index out of range gives only off values
      if (k >= 0) mover.copy((i / inner * *depth + k) * inner + i % inner, 1, 1);
    }
  }
  r.emit(0, std::move(out));
  return kDone;
}

}  // namespace graphopt::folding
