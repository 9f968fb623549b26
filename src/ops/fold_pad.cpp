// Pad: each output index along an axis corresponds to an input index or to the pad value. These maps are made
// per axis (as long as the output's extent) and combined row by row, so all modes and negative pads share one
// loop.
#include <algorithm>

#include "ops/fold_kernel.h"

namespace graphopt::folding {
namespace {

enum class Mode : std::uint8_t { Constant, Reflect, Edge, Wrap };

std::optional<Mode> mode_of(const FoldRun& r) {
  const auto text = string_attr(r.attributes, names::mode);
  if (!text) return std::nullopt;
  if (*text == "constant") return Mode::Constant;
  if (*text == "reflect") return Mode::Reflect;
  if (*text == "edge") return Mode::Edge;
  if (*text == "wrap" && r.opset >= 19) return Mode::Wrap;
  return std::nullopt;
}

constexpr std::int64_t kPadValue = -1;

// Returns the input index of position i (0 is the first input element) on an axis of that extent.
std::int64_t source(Mode mode, std::int64_t i, std::int64_t extent) {
  if (i >= 0 && i < extent) return i;
  switch (mode) {
    case Mode::Constant: return kPadValue;
    case Mode::Edge: return i < 0 ? 0 : extent - 1;
    case Mode::Reflect: return i < 0 ? -i : 2 * (extent - 1) - i;  // pads are smaller than the extent
    case Mode::Wrap: return i < 0 ? i + extent : i - extent;       // pads are smaller than the extent
  }
  return kPadValue;
}

// Returns the pads as begins and ends for all axes; nothing when they cannot be used.
std::optional<Dims> pads_of(const FoldRun& r) {
  const std::size_t rank = r.in(0).rank();
  std::optional<Dims> pads;
  if (r.opset < 11) {
    const auto list = ints_attr(r.attributes, names::pads);
    if (list) pads = Dims(list->begin(), list->end());
  } else if (r.in(1).rank() == 1) {
    pads = int_list(r.in(1));
  }
  if (!pads) return std::nullopt;
  std::optional<Dims> axes;
  if (r.in(3)) {
    const std::optional<Dims> given = int_list(r.in(3));
    if (!given || r.in(3).rank() != 1) return std::nullopt;
    axes = normalize_axes(*given, rank);
    if (!axes) return std::nullopt;
  }
  const std::size_t count = axes ? axes->size() : rank;
  if (pads->size() != 2 * count) return std::nullopt;
  Dims all(2 * rank, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t d = axes ? static_cast<std::size_t>((*axes)[i]) : i;
    all[d] = (*pads)[i];
    all[rank + d] = (*pads)[count + i];
  }
  return all;
}

// Returns one element of the data's type; zeros when the node has no such operand.
std::optional<std::string> pad_value(const FoldRun& r) {
  const Operand& data = r.in(0);
  std::string value(static_cast<std::size_t>(bits_of(data.dtype)) / 8, '\0');
  if (r.opset < 11) {
    if (!r.has(names::value)) return value;
    const std::optional<float> v = float_attr(r.attributes, names::value);
    if (!v) return std::nullopt;
    if (data.dtype == DType::Float) store(value.data(), 0, *v);
    else if (*v != 0.0f) return std::nullopt;
    return value;
  }
  const Operand& given = r.in(2);
  if (!given) return value;
  if (given.dtype != data.dtype || given.elements != 1) return std::nullopt;
  std::memcpy(value.data(), given.data, value.size());
  return value;
}

}  // namespace

FoldRefusal fold_pad(FoldRun& r) {
  const Operand& data = r.in(0);
  const std::optional<Mode> mode = mode_of(r);
  if (!mode) return kNotFoldable;
  const std::optional<Dims> pads = pads_of(r);
  const std::optional<std::string> value = pad_value(r);
  if (!pads || !value) return kBad;

  const std::size_t rank = data.rank();
  if (rank == 0) return kNotFoldable;  // ONNX Runtime refuses scalars
  Dims dims(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t extent = data.dims[d], before = (*pads)[d], after = (*pads)[rank + d];
    if (before < -extent || after < -extent) return kBad;
    if (extent + std::min<std::int64_t>(before, 0) + std::min<std::int64_t>(after, 0) < 0) return kBad;
    if (*mode != Mode::Constant) {
      // Runtimes disagree about negative pads and empty axes here, and about reflecting more than once.
      if (before < 0 || after < 0) return kNotFoldable;
      if ((before > 0 || after > 0) && extent == 0) return kBad;
      if (*mode != Mode::Edge && (before >= extent || after >= extent) && before + after > 0)
        return kNotFoldable;
    }
    const std::optional<std::int64_t> sum = checked_add(checked_add(extent, before), after);
    if (!sum) return kTooBig;
    dims[d] = *sum;
  }

  Buffer out;
  if (const FoldRefusal no = r.make(data.dtype, dims, out); no != kDone) return no;
  const std::int64_t width = static_cast<std::int64_t>(value->size());
  if (out.elements > 0) {
    std::vector<Dims> sources(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      sources[d].resize(static_cast<std::size_t>(dims[d]));
      for (std::int64_t i = 0; i < dims[d]; ++i)
        sources[d][static_cast<std::size_t>(i)] = source(*mode, i - (*pads)[d], data.dims[d]);
    }
    const Dims strides = data.elements == 0 ? Dims(rank, 0) : row_major_strides(data.dims);
    const std::int64_t row = dims.back();
    Dims index(rank, 0);
    char* to = out.data();
    for (std::int64_t done = 0; done < out.elements; done += row) {
      std::int64_t base = 0;
      bool inside = true;
      for (std::size_t d = 0; d + 1 < rank; ++d) {
        const std::int64_t from = sources[d][static_cast<std::size_t>(index[d])];
        inside = inside && from != kPadValue;
        base += from == kPadValue ? 0 : from * strides[d];
      }
      for (const std::int64_t from : sources[rank - 1]) {
        const bool taken = inside && from != kPadValue;
        std::memcpy(to, taken ? data.data + (base + from) * width : value->data(), value->size());
        to += width;
      }
      for (std::size_t d = rank - 1; d-- > 0;) {
        if (++index[d] < dims[d]) break;
        index[d] = 0;
      }
    }
  }
  r.emit(0, std::move(out));
  return kDone;
}

}  // namespace graphopt::folding
