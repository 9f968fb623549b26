// Convolutions and poolings.
//
// Window i of the true run lies where window i of the padded run lies, if the padding in front is the same.
// Without padding at the end, every true window ends within the true extent. With it, the last true windows
// reach past the end: they read what the operator pads with in one run and what the input was padded with in
// the other.
#include <algorithm>
#include <limits>

#include "buckets/padding/rules.h"

namespace graphopt::padding {
namespace {

struct Window {
  std::int64_t reach = 1;  // elements from the first to the last one
  std::int64_t stride = 1, end = 0;
  bool rounds_up = false;
};

// Says from which size on an extent is `least` or more.
std::string least_size(const PaddingContext& c, DimId extent, std::int64_t least) {
  constexpr std::int64_t kMost = 4096;
  const std::vector<DimId> symbols = c.dims.symbols_of(extent);
  std::int64_t size = symbols.size() == 1 ? c.dims.range(symbols[0]).low + 1 : kMost;
  const auto is_less = [&](std::int64_t n) {
    return c.dims.evaluate(extent, std::vector<DimPool::Binding>{{symbols[0], n}}).value_or(least) < least;
  };
  while (size < kMost && is_less(size)) ++size;
  std::string out = "say from which size on the model runs: 'min' in the mark of the symbol";
  if (size < kMost)
    out +=
        ", as in '" + std::string(c.dims.symbol_name(symbols[0])) + "=...,min=" + std::to_string(size) + "'";
  return out;
}

std::optional<std::vector<Window>> windows_of(PaddingContext& c, const PaddedValue& x,
                                              std::span<const std::int64_t> kernel) {
  const std::size_t n = kernel.size();
  if (x.rank() != n + 2) {
    c.refuse("its window has another rank than the operand");
    return std::nullopt;
  }
  const auto list = [&](NameId name, std::int64_t otherwise, std::size_t size) {
    std::vector<std::int64_t> out(size, otherwise);
    if (const auto given = c.attr_list(name); given && given->size() == size)
      out.assign(given->begin(), given->end());
    return out;
  };
  const auto strides = list(names::strides, 1, n), dilations = list(names::dilations, 1, n);
  const auto pads = list(names::pads, 0, 2 * n);
  const std::string_view automatic = c.attr_text(names::auto_pad, "NOTSET");
  const bool up = c.attr(names::ceil_mode, 0) != 0;
  std::vector<Window> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    Window& w = out[i];
    w.reach = (kernel[i] - 1) * dilations[i] + 1;
    w.stride = strides[i];
    w.rounds_up = up;
    const bool is_padded = x.is_padded(i + 2);
    const int at = static_cast<int>(i + 2);
    if (is_padded && !c.layouts.is_prefix(x.layouts[i + 2])) {
      c.refuse("its windows slide over " + c.axis_text(x, bit(i + 2)) + ", which has padding inside",
               {.axis = at});
      return std::nullopt;
    }
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      if (is_padded && w.stride != 1) {
        c.refuse("with auto_pad and strides, what is padded in front of axis " + std::to_string(i + 2) +
                     " depends on the extent",
                 {.axis = at});
        return std::nullopt;
      }
      w.end = w.reach - 1 - (automatic == "SAME_UPPER" ? (w.reach - 1) / 2 : w.reach / 2);
      w.rounds_up = false;
    } else if (automatic != "VALID") {
      w.end = pads[i + n];
    }
    if (!is_padded) continue;
    const std::int64_t begin = automatic == "NOTSET" ? pads[i] : 0;
    const Range extent = c.dims.range(c.extent(0, i + 2));
    if (automatic == "NOTSET" || automatic == "VALID") {
      if (extent.low + begin + w.end < w.reach) {
        c.refuse("a window of " + std::to_string(w.reach) + " may exceed the extent of axis " +
                     std::to_string(i + 2),
                 {.axis = at, .remedy = least_size(c, c.extent(0, i + 2), w.reach - begin - w.end)});
        return std::nullopt;
      }
      if (up && w.end + w.stride > w.reach) {
        c.refuse("with ceil_mode a window may begin in the padding of axis " + std::to_string(i + 2),
                 {.axis = at});
        return std::nullopt;
      }
    }
  }
  return out;
}

// Axes along which true windows read padding.
AxisMask reached(const PaddedValue& x, std::span<const Window> windows) {
  AxisMask out = 0;
  for (std::size_t i = 0; i < windows.size(); ++i)
    if (x.is_padded(i + 2) && (windows[i].end > 0 || windows[i].rounds_up)) out |= bit(i + 2);
  return out;
}

// The layouts of the spatial axes of the result behind those of batch and channel.
std::optional<std::vector<LayoutId>> result_layouts(PaddingContext& c, const PaddedValue& x,
                                                    LayoutId channel) {
  std::vector<LayoutId> l{x.layouts[0], channel};
  for (std::size_t i = 2; i < x.rank(); ++i) {
    l.push_back(c.inferred(0, i));
    if (!l.back() || (!x.is_padded(i) && c.layouts.padded(l.back()))) {
      c.unknown_extent(0, i);
      return std::nullopt;
    }
  }
  return l;
}

Content whole(const PaddingContext& c, const PaddedValue& x, AxisMask region) {
  AxisMask outer = region & 3u;
  return c.join_over(x, outer, x.padded & ~AxisMask{3});
}

// What a sum of powers holds, and its root. Squares and cubes are products; of a greater power, or one below
// 1, nothing is known.
Content powers(const PaddingContext& c, const Content& all) {
  constexpr std::int64_t kFewFactors = 4;
  const std::int64_t p = c.opset() < 2 ? 0 : c.attr(names::p, 2);
  return p >= 1 && p <= kFewFactors ? ContentMath::combined({all}) : ContentMath::anything();
}

std::optional<std::vector<std::int64_t>> kernel_of(PaddingContext& c, const PaddedValue& w) {
  std::vector<std::int64_t> kernel;
  for (std::size_t i = 2; i < w.rank(); ++i) {
    const auto k = c.dims.value(c.layouts.extent(w.layouts[i]));
    if (!k) return std::nullopt;
    kernel.push_back(*k);
  }
  return kernel;
}

// How many products at least an element of a convolution is the sum of, borders aside.
double terms(const PaddingContext& c, const PaddedValue& w, std::span<const std::int64_t> kernel) {
  const std::size_t axis = c.kind == OpKind::ConvTranspose ? 0 : 1;
  const double groups =
      axis == 0 ? static_cast<double>(std::max<std::int64_t>(c.attr(names::group, 1), 1)) : 1;
  double count = static_cast<double>(c.dims.value(c.layouts.extent(w.layouts[axis])).value_or(1)) / groups;
  if (axis == 1)
    for (const std::int64_t k : kernel) count *= static_cast<double>(k);
  return count;
}

// What sums of products of elements and weights hold.
Content products(const PaddingContext& c, const PaddedValue& x, AxisMask region, const Content& weights,
                 double count) {
  const Content factors[] = {whole(c, x, region), weights};
  if (region != 0 && c.math.sum_overflows(x.type, factors, count)) return ContentMath::anything();
  return ContentMath::combined({factors[0], factors[1]});
}

}  // namespace

bool convolution(PaddingContext& c) {
  const bool quantized = c.kind == OpKind::QLinearConv;
  const PaddedValue &x = c.in(0), &w = c.in(quantized ? 3 : 1);
  if (x.is_padded(1)) return c.refuse("its channels are padded", {.axis = 1});
  if (!c.unpadded_from(1, "weights are")) return false;
  const auto kernel = kernel_of(c, w);
  if (!kernel) return c.refuse("the extents of its kernel are not known");
  const auto windows = windows_of(c, x, *kernel);
  if (!windows) return false;
  const double zero = quantized ? c.zero_point(2) : c.kind == OpKind::ConvInteger ? c.zero_point(2) : 0;
  const AxisMask reads = reached(x, *windows);
  if (const Content* bad = c.bad_padding(x, reads, [&](const Content& p) { return c.math.is(p, zero); }))
    return c.refuse_padding(0, reads, *bad, "its last windows read", zero);
  auto l = result_layouts(c, x, w.layouts[0]);
  if (!l) return false;
  const Content weights = c.weights(1);
  const double count = terms(c, w, *kernel);
  return c.set_result(std::move(*l), [&](AxisMask region) { return products(c, x, region, weights, count); });
}

// Element i of the operand is added to elements from i * stride - begin on, as many as the kernel has.
bool transposed_convolution(PaddingContext& c) {
  const PaddedValue &x = c.in(0), &w = c.in(1);
  if (x.is_padded(1)) return c.refuse("its channels are padded", {.axis = 1});
  if (!c.unpadded_from(1, "weights are")) return false;
  const auto kernel = kernel_of(c, w);
  const std::string_view automatic = c.attr_text(names::auto_pad, "NOTSET");
  if (!kernel || kernel->size() + 2 != x.rank()) return c.refuse("the extents of its kernel are not known");
  const std::size_t n = kernel->size();
  const auto item = [&](NameId name, std::size_t i, std::int64_t otherwise) {
    const auto list = c.attr_list(name);
    return list && i < list->size() ? (*list)[i] : otherwise;
  };
  AxisMask overlaps = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!x.is_padded(i + 2)) continue;
    if (!c.layouts.is_prefix(x.layouts[i + 2]))
      return c.refuse("padding is within an axis", {.axis = static_cast<int>(i + 2)});
    if (c.attr_list(names::output_shape) || (automatic != "NOTSET" && automatic != "VALID"))
      return c.refuse("with output_shape or auto_pad its borders depend on the extent",
                      {.axis = static_cast<int>(i + 2)});
    const std::int64_t reach = ((*kernel)[i] - 1) * item(names::dilations, i, 1) + 1;
    const std::int64_t end = automatic == "VALID" ? 0 : item(names::pads, i + n, 0);
    if (item(names::output_padding, i, 0) + reach - end > item(names::strides, i, 1)) overlaps |= bit(i + 2);
  }
  if (const Content* bad = c.bad_padding(x, overlaps, [&](const Content& p) { return c.math.is_zero(p); }))
    return c.refuse_padding(0, overlaps, *bad, "it adds into true results", 0);
  const LayoutId channel = c.inferred(0, 1);
  if (!channel) return c.unknown_extent(0, 1);
  auto l = result_layouts(c, x, channel);
  if (!l) return false;
  const Content weights = c.weights(1);
  const double count = terms(c, w, *kernel);
  return c.set_result(std::move(*l), [&](AxisMask region) { return products(c, x, region, weights, count); });
}

bool pool(PaddingContext& c) {
  const PaddedValue& x = c.in(0);
  const auto kernel = c.attr_list(names::kernel_shape);
  if (!kernel) return c.refuse("its window is not known");
  const auto windows = windows_of(c, x, *kernel);
  if (!windows) return false;
  const AxisMask reads = reached(x, *windows);
  const bool is_max = c.kind == OpKind::MaxPool;
  const bool up = std::ranges::any_of(*windows, [](const Window& w) { return w.rounds_up; });
  if (is_max) {
    const Content* bad = c.bad_padding(
        x, reads, [&](const Content& p) { return c.math.is_at_most(p, x.true_part(), x.type); });
    if (bad) return c.refuse_padding(0, reads, *bad, "its last windows read", -kInfinity);
  } else if (reads != 0) {
    const bool counts = c.kind == OpKind::AveragePool && c.attr(names::count_include_pad, 0) == 0;
    if (counts || up)
      return c.refuse("its last windows count padding of " + c.axis_text(x, reads) + " in the divisor",
                      {.axis = std::countr_zero(reads),
                       .repair = up ? std::nullopt : std::optional(BucketRepair::TrueMean)});
    if (const Content* bad = c.bad_padding(x, reads, [&](const Content& p) { return c.math.is_zero(p); }))
      return c.refuse_padding(0, reads, *bad, "its last windows read", 0);
  }
  auto l = result_layouts(c, x, x.layouts[1]);
  if (!l) return false;
  if (c.has_output(1)) {
    if (x.padded != 0) {
      c.refuse("its flat positions depend on padded extents");
      c.contaminate(1);
    } else if (!c.set(1, c.make(c.output_type(1), *l,
                                [](AxisMask) { return ContentMath::interval(0, kInfinity); }))) {
      return false;
    }
  }
  return c.set_result(std::move(*l), [&](AxisMask region) {
    Content all = whole(c, x, region);
    // ONNX Runtime's kernel ignores NaN, and gives the least finite number for -inf.
    if (!all.finite()) return ContentMath::anything();
    if (is_max) return all;
    if (c.kind == OpKind::LpPool) return powers(c, all);
    Content out = c.math.join(all, ContentMath::number(0));
    out.mask = 0;
    out.rounding = kRounding;
    return out;
  });
}

bool global_pool(PaddingContext& c) {
  const PaddedValue& x = c.in(0);
  if (x.rank() < 2) return c.refuse("its operand has no spatial axes");
  const AxisMask spatial = x.padded & ~AxisMask{3};
  if (spatial != 0 && c.kind == OpKind::GlobalAveragePool) {
    return c.refuse("it divides by the padded count of " + c.axis_text(x, spatial),
                    {.axis = std::countr_zero(spatial), .repair = BucketRepair::TrueMean});
  }
  const bool is_max = c.kind == OpKind::GlobalMaxPool;
  const Content* bad = c.bad_padding(x, spatial, [&](const Content& p) {
    return is_max ? c.math.is_at_most(p, x.true_part(), x.type) : c.math.is_zero(p);
  });
  if (bad) return c.refuse_padding(0, spatial, *bad, "it reduces", is_max ? -kInfinity : 0);
  std::vector<LayoutId> l{x.layouts[0], x.layouts[1]};
  l.resize(x.rank(), c.layouts.same(c.dims.constant(1)));
  return c.set_result(std::move(l), [&](AxisMask region) {
    const Content all = whole(c, x, region);
    return c.kind == OpKind::GlobalLpPool ? powers(c, all) : ContentMath::combined({all});
  });
}

}  // namespace graphopt::padding
