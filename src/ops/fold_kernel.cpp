// The shared functions of fold kernels: see fold_kernel.h.
#include "ops/fold_kernel.h"

#include <algorithm>

#include "ops/constants.h"

namespace graphopt::folding {

const Operand& FoldRun::in(std::size_t i) const {
  static const Operand absent;
  return i < operands.size() ? operands[i] : absent;
}

FoldRefusal FoldRun::charge(std::int64_t elements) {
  if (elements < 0 || static_cast<std::uint64_t>(elements) > work_left) return kTooBig;
  work_left -= static_cast<std::uint64_t>(elements);
  return kDone;
}

FoldRefusal FoldRun::make(DType dtype, Dims dims, Buffer& out) {
  if (dims.size() > kMaxRank) return kBad;
  for (const std::int64_t d : dims)
    if (d < 0) return kBad;
  const std::optional<std::int64_t> count = element_count(dims);
  if (!count) return kTooBig;
  const std::uint64_t n = static_cast<std::uint64_t>(*count);
  std::uint64_t size = 0;
  if (dtype == DType::String) {
    if (__builtin_mul_overflow(n, sizeof(std::string) + longest_string, &size)) return kTooBig;
  } else {
    if (bits_of(dtype) == 0) return kNotFoldable;
    const std::optional<std::uint64_t> bytes = raw_size(dtype, n);
    if (!bytes) return kTooBig;
    size = *bytes;
  }
  if (size > bytes_left) return kTooBig;
  if (const FoldRefusal no = charge(*count); no != kDone) return no;
  bytes_left -= size;
  out.dtype = dtype;
  out.dims = std::move(dims);
  out.elements = *count;
  if (dtype == DType::String) out.strings.assign(static_cast<std::size_t>(n), {});
  else out.raw.assign(static_cast<std::size_t>(size), '\0');
  return kDone;
}

void FoldRun::emit(std::size_t slot, Buffer&& buffer) {
  if (slot >= results.size()) return;
  auto payload = std::make_shared<Unpacked>();
  payload->raw = std::move(buffer.raw);
  payload->strings = std::move(buffer.strings);
  Tensor& t = results[slot];
  t.dtype = buffer.dtype;
  t.dims = std::move(buffer.dims);
  t.elements = buffer.elements;
  t.raw = payload->raw;
  t.owned = std::move(payload);
  t.ready = true;
}

FoldRefusal FoldRun::emit_view(std::size_t slot, const Operand& from, DType dtype, Dims dims) {
  if (dims.size() > kMaxRank) return kBad;
  const std::optional<std::int64_t> count = element_count(dims);
  if (!count || *count != from.elements) return kBad;
  const std::uint64_t size =
      from.strings != nullptr
          ? static_cast<std::uint64_t>(*count) * sizeof(std::string)
          : raw_size(from.dtype, static_cast<std::uint64_t>(*count)).value_or(bytes_left + 1);
  if (size > bytes_left) return kTooBig;
  bytes_left -= size;
  if (slot >= results.size()) return kDone;
  Tensor& t = results[slot];
  t.dtype = dtype;
  t.dims = std::move(dims);
  t.elements = *count;
  t.raw = from.strings != nullptr ? Bytes{} : Bytes(from.data, static_cast<std::size_t>(size));
  t.owned = from.tensor->owned;
  t.ready = true;
  return kDone;
}

std::optional<std::int64_t> element_count(DimView dims) {
  bool empty = false;
  for (const std::int64_t d : dims) {
    if (d < 0) return std::nullopt;
    empty = empty || d == 0;
  }
  if (empty) return 0;
  std::optional<std::int64_t> n = 1;
  for (const std::int64_t d : dims) n = checked_mul(n, d);
  return n;
}

Dims row_major_strides(DimView dims) {
  Dims strides(dims.size());
  std::int64_t step = 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    strides[d] = step;
    step *= dims[d];
  }
  return strides;
}

std::optional<Dims> broadcast_dims(DimView a, DimView b) {
  Dims out(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {  // from the right
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

Dims broadcast_strides(DimView dims, DimView out) {
  Dims strides(out.size(), 0);
  const Dims own = row_major_strides(dims);
  const std::size_t lead = out.size() - dims.size();
  for (std::size_t d = 0; d < dims.size(); ++d) strides[lead + d] = dims[d] == 1 ? 0 : own[d];
  return strides;
}

std::optional<Dims> int_list(const Operand& o) {
  if (!o || o.elements > kMostElements) return std::nullopt;
  Dims out(static_cast<std::size_t>(o.elements));
  if (o.dtype == DType::Int64) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = load<std::int64_t>(o.data, static_cast<std::int64_t>(i));
  } else if (o.dtype == DType::Int32) {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = load<std::int32_t>(o.data, static_cast<std::int64_t>(i));
  } else {
    return std::nullopt;
  }
  return out;
}

std::optional<std::int64_t> int_scalar(const Operand& o) {
  if (o.elements != 1) return std::nullopt;
  const std::optional<Dims> list = int_list(o);
  return list ? std::optional<std::int64_t>(list->front()) : std::nullopt;
}

Mover::Mover(const Operand& from, Buffer& to)
    : from_(from.data),
      to_(to.data()),
      from_strings_(from.strings),
      to_strings_(&to.strings),
      width_(static_cast<std::size_t>(bits_of(from.dtype)) / 8) {}

void Mover::copy(std::int64_t to, std::int64_t from, std::int64_t count) const {
  if (count <= 0) return;
  const std::size_t t = static_cast<std::size_t>(to), f = static_cast<std::size_t>(from);
  const std::size_t n = static_cast<std::size_t>(count);
  if (from_strings_ == nullptr) {
    std::memcpy(to_ + t * width_, from_ + f * width_, n * width_);
    return;
  }
  for (std::size_t i = 0; i < n; ++i) (*to_strings_)[t + i] = (*from_strings_)[f + i];
}

namespace {

struct Wide {
  std::uint64_t low, high;
};

template <class T> void copy_elements(char* to, const char* from, std::int64_t step, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) store(to, i, load<T>(from, i * step));
}

}  // namespace

void Mover::copy_strided(std::int64_t to, std::int64_t from, std::int64_t step, std::int64_t count) const {
  if (step == 1) return copy(to, from, count);
  if (from_strings_ != nullptr) {
    for (std::int64_t i = 0; i < count; ++i) copy(to + i, from + i * step, 1);
    return;
  }
  const std::int64_t width = static_cast<std::int64_t>(width_);
  char* t = to_ + to * width;
  const char* f = from_ + from * width;
  switch (width_) {
    case 1: return copy_elements<std::uint8_t>(t, f, step, count);
    case 2: return copy_elements<std::uint16_t>(t, f, step, count);
    case 4: return copy_elements<std::uint32_t>(t, f, step, count);
    case 8: return copy_elements<std::uint64_t>(t, f, step, count);
    case 16: return copy_elements<Wide>(t, f, step, count);
    default: return;  // not movable()
  }
}

FoldRefusal emit_strided(FoldRun& r, std::size_t slot, const Operand& from, Dims dims, Dims strides,
                         std::int64_t start) {
  Buffer out;
  if (const FoldRefusal no = r.make(from.dtype, dims, out); no != kDone) return no;
  if (out.elements > 0) {
    const Mover mover(from, out);
    for_each_row<1>({std::move(dims), {std::move(strides)}, {start}},
                    [&](std::int64_t to, const auto& offset, const auto& step, std::int64_t count) {
                      mover.copy_strided(to, offset[0], step[0], count);
                      return true;
                    });
  }
  r.emit(slot, std::move(out));
  return kDone;
}

bool movable(DType t) {
  const int bits = bits_of(t);
  return t == DType::String || (bits > 0 && bits % 8 == 0);
}

}  // namespace graphopt::folding
