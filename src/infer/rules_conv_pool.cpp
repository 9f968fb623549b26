// Convolutions, pooling, Resize, regions of interest.
#include <algorithm>
#include <cmath>

#include "infer/rules.h"
#include "infer/values.h"
#include "ops/integer_arithmetic.h"
#include "support/checked.h"

namespace graphopt::rules {
namespace {

// Reads the attributes of a window over `spatial` axes, defaults included; returns false when they do not
// fit.
struct Window {
  Ints kernel, stride, dilation, begin, end;
  std::string_view auto_pad;
};

bool read_window(NodeContext& c, std::size_t spatial, Window& w) {
  const auto list = [&](NameId name, std::size_t n, std::int64_t fallback) -> Ints {
    auto given = c.attr_ints(name);
    return given && !given->empty() ? *given : Ints(n, fallback);
  };
  w.stride = list(names::strides, spatial, 1);
  w.dilation = list(names::dilations, spatial, 1);
  Ints pads = list(names::pads, 2 * spatial, 0);
  w.auto_pad = c.attr_string(names::auto_pad, "NOTSET");
  if (w.auto_pad == "VALID") pads.assign(2 * spatial, 0);
  if (w.stride.size() != spatial || w.dilation.size() != spatial || pads.size() != 2 * spatial) return false;
  const auto sane = [](const Ints& v, std::int64_t low) {
    return std::ranges::all_of(v, [&](std::int64_t x) { return x >= low && x < std::int64_t{1} << 31; });
  };
  if (!sane(w.stride, 1) || !sane(w.dilation, 1) || !sane(pads, -(std::int64_t{1} << 31))) return false;
  w.begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(spatial));
  w.end.assign(pads.begin() + static_cast<std::ptrdiff_t>(spatial), pads.end());
  return true;
}

bool same_padding(const Window& w) { return w.auto_pad == "SAME_UPPER" || w.auto_pad == "SAME_LOWER"; }

// Returns in + begin + end - (dilation * (kernel - 1) + 1), the distance by which the window can move. None
// where it leaves int64.
DimId window_room(NodeContext& c, DimId in, const Window& w, std::size_t i) {
  const auto reach = checked_mul(w.kernel[i] - 1, w.dilation[i]);
  const auto rest = reach ? checked_sub(w.begin[i] + w.end[i] - 1, *reach) : std::nullopt;
  return rest ? c.dims.add(in, c.constant(*rest)) : DimId{};
}

// States that a run accepts no extent below `low`; ignored inside bodies.
void narrow(NodeContext& c, DimId in, std::int64_t low) {
  if (!c.asserts() || !in || !c.dims.is_symbol(in)) return;
  const Range r = c.dims.range(in);
  if (r.low < low && low <= r.high) c.dims.assert_range(in, {low, r.high});
}

// ONNX Runtime refuses a convolution whose window does not fit into the padded axis. An empty axis it
// accepts where the pads make room for the window; "same" pads make none there.
DimId conv_extent(NodeContext& c, DimId in, const Window& w, std::size_t i) {
  const DimId stride = c.constant(w.stride[i]);
  if (same_padding(w)) {
    narrow(c, in, 1);
    return c.dims.ceil_div(in, stride);
  }
  narrow(c, in, w.dilation[i] * (w.kernel[i] - 1) + 1 - w.begin[i] - w.end[i]);
  return c.dims.add(c.dims.floor_div(window_room(c, in, w, i), stride), c.constant(1));
}

// A pooling window may be larger than the axis: ONNX Runtime truncates the quotient towards zero there, the
// standard rounds down. Empty axes are refused by the caller.
DimId pool_extent(NodeContext& c, DimId in, const Window& w, std::size_t i, bool ceil_mode) {
  const DimId stride = c.constant(w.stride[i]), one = c.constant(1);
  const DimId room = window_room(c, in, w, i);
  if (!room) return {};
  // With ceil_mode ONNX Runtime divides in float32: a dividend below 2^24 is exact there, and its quotient
  // is rounded to an integer only if it is one.
  const auto exact = [&](DimId d) {
    return c.dims.range(d).low > -kExactInFloat && c.dims.range(d).high < kExactInFloat;
  };
  if (ceil_mode && (!exact(room) || !exact(in))) return {};
  if (same_padding(w)) {
    // ONNX Runtime pads for a window without dilation, the standard for the one that there is.
    if (w.dilation[i] != 1 && w.kernel[i] != 1) return {};
    return c.dims.ceil_div(in, stride);
  }
  if (ceil_mode) {
    // A last window that would start beyond the axis is left out.
    const DimId all = c.dims.add(c.dims.ceil_div(room, stride), one);
    return c.dims.min(all, c.dims.ceil_div(c.dims.add(in, c.constant(w.begin[i])), stride));
  }
  if (c.dims.range(room).low < 0 && w.stride[i] != 1) return {};
  return c.dims.add(c.dims.floor_div(room, stride), one);
}

// ONNX Runtime pools an operand without elements only if its batch is empty.
void refuse_empty(NodeContext& c, std::span<const DimId> x) {
  if (c.dims.range(x[0]).low < 1) return;
  for (const DimId d : x.subspan(1)) narrow(c, d, 1);
}

Dims unknown_like(const NodeContext& c, DimId first, DimId second) {
  Dims d(c.shape(0).size());
  if (!d.empty()) d[0] = first;
  if (d.size() > 1) d[1] = second;
  return d;
}

// Returns the kernel extents: the attribute, else the weight's dims.
bool kernel_of(NodeContext& c, std::size_t weight, std::size_t spatial, Ints& out) {
  if (const auto given = c.attr_ints(names::kernel_shape); given && given->size() == spatial) {
    out = *given;
    return std::ranges::all_of(out, [](std::int64_t k) { return k >= 1 && k < std::int64_t{1} << 31; });
  }
  if (c.shape(weight).size() != spatial + 2) return false;
  out.clear();
  for (std::size_t i = 0; i < spatial; ++i) {
    const auto k = c.value(c.shape(weight)[i + 2]);
    if (!k || *k < 1) return false;
    out.push_back(*k);
  }
  return true;
}

}  // namespace

// QLinearConv: x, scale, zero point, w, scale, zero point, scale and zero point of the result, whose type it
// has.
void conv(NodeContext& c) {
  const bool quantized = c.kind == OpKind::QLinearConv;
  const DType elem = quantized ? c.elem(7) : c.kind == OpKind::ConvInteger ? DType::Int32 : c.elem(0);
  const std::size_t weight = quantized ? 3 : 1;
  if (c.rank(0) < 2) {
    if (c.ranked(weight) && elem != DType::Undefined) {
      Dims d(c.shape(weight).size());
      if (d.size() >= 2) d[1] = c.shape(weight)[0];
      return c.tensor(0, elem, d);
    }
    return elem_only(c, elem);
  }
  const auto x = c.shape(0);
  const std::size_t spatial = x.size() - 2;
  const DimId channels = c.shape(weight).size() == x.size() ? c.shape(weight)[0] : DimId{};
  if (channels) c.same(x[1], c.dims.mul(c.shape(weight)[1], c.constant(c.attr_int(names::group, 1))));
  Window w;
  if (!read_window(c, spatial, w)) return c.tensor(0, elem, unknown_like(c, x[0], channels));
  const bool kernel = kernel_of(c, weight, spatial, w.kernel);
  if (!kernel && !same_padding(w)) return c.tensor(0, elem, unknown_like(c, x[0], channels));
  if (!kernel) {  // padded to fit, whatever it is, unless it is empty
    for (std::size_t i = 0; i < spatial; ++i)
      if (c.shape(weight).size() != x.size() || c.dims.range(c.shape(weight)[i + 2]).low < 1)
        return c.tensor(0, elem, unknown_like(c, x[0], channels));
    w.kernel = Ints(spatial, 1);
  }
  Dims d{x[0], channels};
  for (std::size_t i = 0; i < spatial; ++i) d.push_back(conv_extent(c, x[i + 2], w, i));
  c.tensor(0, elem, d);
}

void conv_transpose(NodeContext& c) {
  const DType elem = c.elem(0);
  if (c.rank(0) < 2) return elem_only(c, elem);
  const auto x = c.shape(0);
  const std::size_t spatial = x.size() - 2;
  const bool weighted = c.shape(1).size() == x.size();
  const DimId channels =
      weighted ? c.dims.mul(c.shape(1)[1], c.constant(c.attr_int(names::group, 1))) : DimId{};
  if (weighted) c.same(x[1], c.shape(1)[0]);
  Window w;
  auto extra = c.attr_ints(names::output_padding);
  if (!extra || extra->empty()) extra = Ints(spatial, 0);
  Dims d{x[0], channels};
  if (const auto given = c.attr_ints(names::output_shape); given && !given->empty()) {
    const std::size_t skip = given->size() == x.size() ? 2 : 0;
    for (std::size_t i = skip; i < given->size(); ++i)
      d.push_back((*given)[i] >= 0 ? c.constant((*given)[i]) : DimId{});
    if (d.size() != x.size()) return c.tensor(0, elem, unknown_like(c, x[0], channels));
    return c.tensor(0, elem, d);
  }
  if (!read_window(c, spatial, w) || !kernel_of(c, 1, spatial, w.kernel) || extra->size() != spatial)
    return c.tensor(0, elem, unknown_like(c, x[0], channels));
  for (std::size_t i = 0; i < spatial; ++i) {
    const DimId stride = c.constant(w.stride[i]);
    const auto reach = checked_mul(w.kernel[i] - 1, w.dilation[i]);
    if (same_padding(w) && (!reach || *reach + 1 >= w.stride[i])) {  // otherwise nothing is cut off
      d.push_back(c.dims.mul(x[i + 2], stride));
      continue;
    }
    const auto rest =
        reach ? checked_add(*reach, (*extra)[i] + 1 - (same_padding(w) ? 0 : w.begin[i] + w.end[i]))
              : std::nullopt;
    d.push_back(rest ? c.dims.add(c.dims.mul(stride, c.dims.sub(x[i + 2], c.constant(1))), c.constant(*rest))
                     : DimId{});
  }
  if (std::ranges::any_of(*extra, [](std::int64_t e) { return e != 0; }) && same_padding(w))
    return c.tensor(0, elem, unknown_like(c, x[0], channels));
  c.tensor(0, elem, d);
}

void pool(NodeContext& c) {
  const DType elem = c.elem(0);
  if (c.rank(0) < 2) {
    elem_only(c, elem);
    return c.tensor(1, DType::Int64);
  }
  const auto x = c.shape(0);
  const std::size_t spatial = x.size() - 2;
  Window w;
  Dims d{x[0], x[1]};
  const auto kernel = c.attr_ints(names::kernel_shape);
  const std::int64_t ceil_mode = c.attr_int(names::ceil_mode, 0);  // runtimes differ about other numbers
  if (kernel && kernel->size() == spatial && (ceil_mode == 0 || ceil_mode == 1) &&
      read_window(c, spatial, w)) {
    w.kernel = *kernel;
    if (std::ranges::any_of(w.kernel, [](std::int64_t k) { return k < 1 || k >= std::int64_t{1} << 31; }))
      d.resize(x.size());
    else {
      refuse_empty(c, x);
      for (std::size_t i = 0; i < spatial; ++i) d.push_back(pool_extent(c, x[i + 2], w, i, ceil_mode == 1));
    }
  } else {
    d.resize(x.size());
  }
  c.tensor(0, elem, d);
  if (c.has_output(1)) {
    const Type& first = c.m.types[c.s.type(c.m.output(c.n, 0))];  // its unknown dims already have names
    c.tensor(1, DType::Int64, first.dims);
  }
}

void global_pool(NodeContext& c) {
  if (c.rank(0) < 2) return elem_only(c, c.elem(0));
  Dims d(c.shape(0).begin(), c.shape(0).end());
  for (std::size_t i = 2; i < d.size(); ++i) d[i] = c.constant(1);
  c.tensor(0, c.elem(0), d);
}

namespace {

// Returns floor(in * scale), as it is in float32 and in double: which of them the runtime takes depends on
// its version. None where they may differ: above 2^24 float32 does not have every integer.
DimId scaled(NodeContext& c, DimId in, float scale) {
  const std::int64_t high = in ? c.dims.range(in).high : Range::kMax;
  if (!(scale > 0) || high > kExactInFloat) return {};
  const double whole = std::floor(static_cast<double>(scale));
  if (static_cast<double>(scale) == whole) {
    const bool exact = whole * static_cast<double>(high) <= static_cast<double>(kExactInFloat);
    return exact ? c.dims.mul(in, c.constant(static_cast<std::int64_t>(whole))) : DimId{};
  }
  const auto extent = c.value(in);
  if (!extent) return {};
  const double wide = std::floor(static_cast<double>(scale) * static_cast<double>(*extent));
  const float narrow = std::floor(scale * static_cast<float>(*extent));
  if (static_cast<double>(narrow) != wide || wide > static_cast<double>(kExactInFloat)) return {};
  return c.constant(static_cast<std::int64_t>(wide));
}

using Floats = std::vector<float>;

// Returns the scales, from the attribute (Upsample up to opset 8) or a constant operand; empty where they are
// not known.
Floats scales_of(NodeContext& c, std::size_t operand) {
  if (const Attr* a = c.opset() < 9 ? c.attr("scales") : nullptr) return {a->floats.begin(), a->floats.end()};
  const TensorId t = c.has(operand) ? c.m.constant_of(c.in(operand)) : TensorId{};
  const auto raw = t ? c.m.raw(t) : std::nullopt;
  if (!raw || c.m.tensor(t).dtype != DType::Float) return {};
  Floats scales(raw->size() / sizeof(float));
  std::copy_n(raw->data(), scales.size() * sizeof(float), reinterpret_cast<char*>(scales.data()));
  return scales;
}

}  // namespace

// Upsample, too, which Resize replaced.
void resize(NodeContext& c) {
  if (c.opset() < 7) return;
  if (!c.ranked(0)) return elem_only(c, c.elem(0));
  const auto x = c.shape(0);
  const bool old = c.opset() < 11;  // X, scales; before opset 9 scales are an attribute
  const std::size_t scales_at = old ? 1 : 2;
  std::vector<std::size_t> axes;
  if (const auto given = c.opset() >= 18 ? c.attr_ints(names::axes) : std::nullopt) {
    for (const std::int64_t a : *given) {
      const auto k = NodeContext::axis(a, c.rank(0));
      if (!k) return c.tensor(0, c.elem(0), Dims(x.size()));
      axes.push_back(*k);
    }
  } else {
    for (std::size_t i = 0; i < x.size(); ++i) axes.push_back(i);
  }
  Dims d(x.begin(), x.end());
  for (const std::size_t k : axes) d[k] = {};
  const std::string_view policy = c.attr_string(names::keep_aspect_ratio_policy, "stretch");
  if (!old && c.has(3)) {
    const SymbolicTensor* sizes = c.sym(3);
    if (sizes && sizes->elements.size() == axes.size() && policy == "stretch")
      for (std::size_t i = 0; i < axes.size(); ++i) d[axes[i]] = sizes->elements[i];
    return c.tensor(0, c.elem(0), d);
  }
  const Floats scales = scales_of(c, scales_at);
  const std::string_view crop = c.attr_string(names::coordinate_transformation_mode, "half_pixel");
  if (scales.size() == axes.size() && crop != "tf_crop_and_resize")
    for (std::size_t i = 0; i < axes.size(); ++i) d[axes[i]] = scaled(c, x[axes[i]], scales[i]);
  c.tensor(0, c.elem(0), d);
}

void roi_align(NodeContext& c) {
  DimId d[] = {DimId{}, DimId{}, c.constant(c.attr_int(names::output_height, 1)),
               c.constant(c.attr_int(names::output_width, 1))};
  if (c.rank(1) > 0) d[0] = c.shape(1)[0];
  if (c.rank(0) == 4) d[1] = c.shape(0)[1];
  if (c.rank(1) == 2 && c.rank(2) == 1) c.same(c.shape(1)[0], c.shape(2)[0]);
  if (c.elem(0) != DType::Undefined) c.tensor(0, c.elem(0), d);
}

void non_max_suppression(NodeContext& c) {
  const DimId d[] = {DimId{}, c.constant(3)};
  c.tensor(0, DType::Int64, d);
}

void grid_sample(NodeContext& c) {
  if (c.rank(0) != c.rank(1) || c.rank(0) < 3) return elem_only(c, c.elem(0));
  const auto x = c.shape(0), grid = c.shape(1);
  c.same(x[0], grid[0]);
  Dims d{x[0], x[1]};
  d.insert(d.end(), grid.begin() + 1, grid.end() - 1);
  c.tensor(0, c.elem(0), d);
}

// Columns of blocks, (batch, channels * elements of a block, blocks), become images.
void col2im(NodeContext& c) {
  const auto image = c.shape_operand(1);
  const auto block = c.ints(2);
  if (c.rank(0) != 3 || !image) return elem_only(c, c.elem(0));
  const auto x = c.shape(0);
  DimId elements = c.constant(1);
  if (block)
    for (const std::int64_t k : *block)
      elements = elements && k >= 1 ? c.dims.mul(elements, c.constant(k)) : DimId{};
  Dims d{x[0], block && elements && x[1] ? c.dims.exact_div(x[1], elements) : DimId{}};
  for (const DimId e : *image) d.push_back(e && c.dims.range(e).low >= 0 ? e : DimId{});
  c.tensor(0, c.elem(0), d);
}

}  // namespace graphopt::rules
