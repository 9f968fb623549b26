// Kernels that read shapes, keep the elements in place, or make tensors from few numbers.
//
// Everything that keeps the row-major order of the elements shares the operand's payload. In ConstantOfShape,
// EyeLike and Range a small node can request a huge tensor, so their sizes are checked first.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/fold_kernel.h"
#include "ops/integer_arithmetic.h"

namespace graphopt::folding {
namespace {

// Returns the axes of Squeeze and Unsqueeze: an attribute before opset 13, then an operand; negative ones
// from opset 11 on. An empty list means that they are absent; nothing, that they cannot be used.
std::optional<Dims> squeeze_axes(const FoldRun& r) {
  Dims axes;
  if (r.opset >= 13) {
    if (!r.in(1)) return axes;
    std::optional<Dims> list = int_list(r.in(1));
    // an empty list means all or none, depending on the runtime
    if (list == Dims{}) return std::nullopt;
    return list;
  }
  if (!r.has(names::axes)) return axes;
  const DimView list = ints_attr(r.attributes, names::axes).value_or(DimView{});
  if (list.empty()) return std::nullopt;
  axes.assign(list.begin(), list.end());
  if (r.opset < 11 && std::ranges::any_of(axes, [](std::int64_t a) { return a < 0; })) return std::nullopt;
  return axes;
}

FoldRefusal emit_int64s(FoldRun& r, std::span<const std::int64_t> values, Dims dims) {
  Buffer out;
  if (const FoldRefusal no = r.make(DType::Int64, std::move(dims), out); no != kDone) return no;
  for (std::size_t i = 0; i < values.size(); ++i) store(out.data(), static_cast<std::int64_t>(i), values[i]);
  r.emit(0, std::move(out));
  return kDone;
}

// Fills the buffer with the element of a one-element tensor, doubling what is filled.
void fill(Buffer& out, const char* element) {
  const std::size_t width = static_cast<std::size_t>(bits_of(out.dtype)) / 8;
  const std::size_t size = out.raw.size();
  if (size == 0 || std::all_of(element, element + width, [](char c) { return c == 0; })) return;
  std::memcpy(out.data(), element, width);
  for (std::size_t have = width; have < size; have *= 2)
    std::memcpy(out.data() + have, out.data(), std::min(have, size - have));
}

}  // namespace

FoldRefusal fold_identity(FoldRun& r) {
  return r.emit_view(0, r.in(0), r.in(0).dtype, Dims(r.in(0).dims.begin(), r.in(0).dims.end()));
}

FoldRefusal fold_reshape(FoldRun& r) {
  const Operand& data = r.in(0);
  if (r.in(1).dtype != DType::Int64 || r.in(1).rank() != 1) return kBad;
  std::optional<Dims> dims = int_list(r.in(1));
  if (!dims) return kBad;
  std::int64_t allow_zero = 0;
  if (r.opset >= 14) {
    const auto v = r.int_of(names::allowzero);
    if (!v || (*v != 0 && *v != 1)) return kNotFoldable;  // runtimes differ about other numbers
    allow_zero = *v;
  }
  std::optional<std::size_t> hole;
  bool zero = false;
  for (std::size_t d = 0; d < dims->size(); ++d) {
    std::int64_t& v = (*dims)[d];
    if (v < -1) return kBad;
    if (v == -1) {
      if (hole) return kBad;
      hole = d;
    } else if (v == 0) {
      if (allow_zero != 0) {
        zero = true;
        continue;
      }
      if (d >= data.rank()) return kBad;
      v = data.dims[d];
    }
  }
  if (hole) {
    if (zero) return kBad;
    (*dims)[*hole] = 1;
    const std::optional<std::int64_t> rest = element_count(*dims);
    if (!rest || *rest == 0 || data.elements % *rest != 0) return kBad;
    (*dims)[*hole] = data.elements / *rest;
  }
  return r.emit_view(0, data, data.dtype, std::move(*dims));
}

FoldRefusal fold_flatten(FoldRun& r) {
  const Operand& data = r.in(0);
  const std::optional<std::int64_t> axis = r.int_of(names::axis);
  if (!axis) return kNotFoldable;
  const std::int64_t rank = static_cast<std::int64_t>(data.rank());
  if (*axis > rank || *axis < -rank || (*axis < 0 && r.opset < 11)) return kBad;
  const std::size_t cut = static_cast<std::size_t>(*axis < 0 ? *axis + rank : *axis);
  const std::optional<std::int64_t> rows = element_count(data.dims.first(cut));
  const std::optional<std::int64_t> columns = element_count(data.dims.subspan(cut));
  if (!rows || !columns) return kBad;
  return r.emit_view(0, data, data.dtype, {*rows, *columns});
}

FoldRefusal fold_squeeze(FoldRun& r) {
  const Operand& data = r.in(0);
  const std::optional<Dims> given = squeeze_axes(r);
  if (!given) return kBad;
  std::vector<bool> drop(data.rank(), false);
  if (given->empty()) {
    for (std::size_t d = 0; d < data.rank(); ++d) drop[d] = data.dims[d] == 1;
  } else {
    const auto axes = normalize_axes(*given, data.rank());
    if (!axes) return kBad;
    for (const std::int64_t a : *axes) {
      if (data.dims[static_cast<std::size_t>(a)] != 1) return kBad;
      drop[static_cast<std::size_t>(a)] = true;
    }
  }
  Dims dims;
  for (std::size_t d = 0; d < data.rank(); ++d)
    if (!drop[d]) dims.push_back(data.dims[d]);
  return r.emit_view(0, data, data.dtype, std::move(dims));
}

FoldRefusal fold_unsqueeze(FoldRun& r) {
  const Operand& data = r.in(0);
  const std::optional<Dims> given = squeeze_axes(r);
  if (!given || given->empty()) return kBad;
  const std::size_t rank = data.rank() + given->size();
  const auto axes = normalize_axes(*given, rank);
  if (!axes) return kBad;
  Dims dims(rank, 0);
  for (const std::int64_t a : *axes) dims[static_cast<std::size_t>(a)] = 1;
  std::size_t next = 0;
  for (std::int64_t& d : dims)
    if (d == 0) d = data.dims[next++];
  return r.emit_view(0, data, data.dtype, std::move(dims));
}

FoldRefusal fold_bit_cast(FoldRun& r) {
  const Operand& data = r.in(0);
  const std::optional<std::int64_t> to = r.int_of(names::to);
  if (!to || *to <= 0 || *to > 28) return kNotFoldable;
  const DType type = static_cast<DType>(*to);
  // Bools have only two bit patterns, so bits of other types are not reinterpreted.
  if (!movable(type) || type == DType::String || type == DType::Bool || bits_of(type) != bits_of(data.dtype))
    return kNotFoldable;
  return r.emit_view(0, data, type, Dims(data.dims.begin(), data.dims.end()));
}

FoldRefusal fold_shape(FoldRun& r) {
  const Operand& data = r.in(0);
  const std::int64_t rank = static_cast<std::int64_t>(data.rank());
  std::int64_t start = 0, end = rank;
  if (r.opset >= 15) {
    const auto clamp = [&](std::int64_t v) {
      return std::clamp<std::int64_t>(v < 0 ? v + rank : v, 0, rank);
    };
    const std::optional<std::int64_t> s = r.int_of(names::start);
    if (!s) return kNotFoldable;
    start = clamp(*s);
    if (r.has(names::end)) {
      const std::optional<std::int64_t> e = r.int_of(names::end);
      if (!e) return kNotFoldable;
      end = clamp(*e);
    }
  }
  const std::int64_t count = std::max<std::int64_t>(end - start, 0);
  return emit_int64s(r, data.dims.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(count)),
                     {count});
}

FoldRefusal fold_size(FoldRun& r) {
  const std::int64_t size = r.in(0).elements;
  return emit_int64s(r, {&size, 1}, {});
}

FoldRefusal fold_constant(FoldRun& r) {
  const std::span<const Attr> attrs = r.attributes.written;
  if (attrs.size() != 1 || attrs[0].ref) return kNotFoldable;
  const Attr& a = attrs[0];
  Buffer out;
  FoldRefusal no = kDone;
  if (a.name == names::value && a.kind == AttrKind::Tensor) {
    const Tensor& t = r.attributes.model.tensor(a.tensor);
    const auto size = t.dtype == DType::String ? std::optional<std::uint64_t>(0)
                                               : raw_size(t.dtype, static_cast<std::uint64_t>(t.elements));
    if (!size || *size > r.bytes_left) return kTooBig;
    r.results.assign(1, t);
    return kDone;
  }
  if (a.name == names::value_float && a.kind == AttrKind::Float) {
    no = r.make(DType::Float, {}, out);
    if (no == kDone) store(out.data(), 0, a.f);
  } else if (a.name == names::value_int && a.kind == AttrKind::Int) {
    no = r.make(DType::Int64, {}, out);
    if (no == kDone) store(out.data(), 0, a.i);
  } else if (a.name == names::value_string && a.kind == AttrKind::String) {
    r.longest_string = a.s.size();
    no = r.make(DType::String, {}, out);
    if (no == kDone) out.strings[0] = a.s;
  } else if (a.name == names::value_floats && a.kind == AttrKind::Floats) {
    no = r.make(DType::Float, {static_cast<std::int64_t>(a.floats.size())}, out);
    for (std::size_t i = 0; no == kDone && i < a.floats.size(); ++i)
      store(out.data(), static_cast<std::int64_t>(i), a.floats[i]);
  } else if (a.name == names::value_ints && a.kind == AttrKind::Ints) {
    return emit_int64s(r, a.ints, {static_cast<std::int64_t>(a.ints.size())});
  } else if (a.name == names::value_strings && a.kind == AttrKind::Strings) {
    for (const Bytes s : a.strings) r.longest_string = std::max<std::uint64_t>(r.longest_string, s.size());
    no = r.make(DType::String, {static_cast<std::int64_t>(a.strings.size())}, out);
    if (no == kDone) std::ranges::copy(a.strings, out.strings.begin());
  } else {
    return kNotFoldable;
  }
  if (no != kDone) return no;
  r.emit(0, std::move(out));
  return kDone;
}

FoldRefusal fold_constant_of_shape(FoldRun& r) {
  if (r.in(0).dtype != DType::Int64 || r.in(0).rank() != 1) return kBad;
  std::optional<Dims> dims = int_list(r.in(0));
  if (!dims) return kBad;
  DType type = DType::Float;
  Bytes element("\0\0\0\0", 4);
  if (r.has(names::value)) {
    const TensorId value = tensor_attr(r.attributes, names::value);
    if (!value || r.attributes.model.tensor(value).elements != 1) return kNotFoldable;
    type = r.attributes.model.tensor(value).dtype;
    const std::optional<Bytes> raw = r.attributes.model.raw(value);
    if (!raw || !movable(type) || raw->size() * 8 != static_cast<std::size_t>(bits_of(type)))
      return kNotFoldable;
    element = *raw;
  }
  Buffer out;
  if (const FoldRefusal no = r.make(type, std::move(*dims), out); no != kDone) return no;
  fill(out, element.data());
  r.emit(0, std::move(out));
  return kDone;
}

FoldRefusal fold_eye_like(FoldRun& r) {
  const Operand& like = r.in(0);
  if (like.rank() != 2) return kBad;
  DType type = like.dtype;
  if (r.has(names::dtype)) {
    const std::optional<std::int64_t> v = r.int_of(names::dtype);
    if (!v || *v <= 0 || *v > 28) return kNotFoldable;
    type = static_cast<DType>(*v);
  }
  const std::optional<std::int64_t> k = r.int_of(names::k);
  if (!k) return kNotFoldable;
  const std::int64_t rows = like.dims[0], columns = like.dims[1];
  const auto make = [&](auto elem) {
    Buffer out;
    if (const FoldRefusal no = r.make(type, {rows, columns}, out); no != kDone) return no;
    if (*k > -rows && *k < columns)
      for (std::int64_t row = std::max<std::int64_t>(0, -*k); row < rows && row + *k < columns; ++row)
        elem.put(out.data(), row * columns + row + *k, 1);
    r.emit(0, std::move(out));
    return kDone;
  };
  return type == DType::Bool ? make(Elem<DType::Bool>{}) : with_number(type, make);
}

namespace {

// As ONNX Runtime does it: the count by a subtraction and a division in doubles, also for float; the elements
// of floats by repeated addition.
template <class T> FoldRefusal range(FoldRun& r, DType type) {
  const T start = load<T>(r.in(0).data, 0), limit = load<T>(r.in(1).data, 0),
          delta = load<T>(r.in(2).data, 0);
  if (delta == 0) return kBad;
  std::int64_t n = 0;
  if constexpr (std::is_integral_v<T>) {
    const auto count = integers::range_count(start, limit, delta);
    if (!count) return kNotFoldable;
    n = *count;
  } else {
    const double span = static_cast<double>(limit) - static_cast<double>(start);
    const double count = std::ceil(span / static_cast<double>(delta));
    if (std::isnan(count)) return kBad;
    if (count > 0x1p53) return kTooBig;
    n = count > 0 ? static_cast<std::int64_t>(count) : 0;
  }
  Buffer out;
  if (const FoldRefusal no = r.make(type, {n}, out); no != kDone) return no;
  if constexpr (std::is_integral_v<T>) {  // every element lies between start and limit
    for (std::int64_t i = 0; i < n; ++i) store(out.data(), i, static_cast<T>(start + i * delta));
  } else {
    T v = start;
    for (std::int64_t i = 0; i < n; ++i, v += delta) store(out.data(), i, v);
  }
  r.emit(0, std::move(out));
  return kDone;
}

}  // namespace

FoldRefusal fold_range(FoldRun& r) {
  const DType type = r.in(0).dtype;
  for (std::size_t i = 0; i < 3; ++i)
    if (r.in(i).dtype != type || r.in(i).elements != 1) return kBad;
  switch (type) {
    case DType::Float: return range<float>(r, type);
    case DType::Double: return range<double>(r, type);
    case DType::Int16: return range<std::int16_t>(r, type);
    case DType::Int32: return range<std::int32_t>(r, type);
    case DType::Int64: return range<std::int64_t>(r, type);
    default: return kNotFoldable;
  }
}

}  // namespace graphopt::folding
