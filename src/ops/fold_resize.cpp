// Resize and Upsample: each output index along an axis corresponds to a coordinate on the operand, from which
// it takes the nearest element, or a sum of the next two (linear) or four (cubic).
//
// Nearest: elements are moved, so it is Exact where the index is certain. Runtimes compute coordinates in
// float, and a coordinate between two elements may fall to either side, so each index is computed in float
// and in double, and a node of which one differs is left alone. So are the modes in which the length of the
// result counts, where the standard takes the exact product with the scale and runtimes a whole number; and a
// policy for the aspect ratio, unless the indices are the same with the common scale and with each axis's
// own. Linear and cubic: the axes one after another, in double, rounded once: Rounds.
// Runtimes have them for few ranks and axes; others are left alone, as are NaN and infinities, which a weight
// of 0 may or may not hide. Regions of interest and antialiasing are not computed.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ops/fold_kernel.h"
#include "ops/integer_arithmetic.h"

namespace graphopt::folding {
namespace {

enum class Sampling : std::uint8_t { Nearest, Linear, Cubic };
enum class Coordinates : std::uint8_t { HalfPixel, PyTorch, AlignCorners, Asymmetric, HalfOfTf };
enum class Nearest : std::uint8_t { PreferFloor, PreferCeil, Floor, Ceil, Simple };

struct SampledAxis {
  std::int64_t in = 0, out = 0;
  float scale = 1;  // as runtimes have it
  double exact_scale = 1;
  bool by_policy = false;  // the scale is that of all axes, and not quite out / in

  bool resized() const { return scale != 1 || in != out; }
};

struct Resampling {
  Sampling sampling = Sampling::Nearest;
  Coordinates coordinates = Coordinates::Asymmetric;
  Nearest nearest = Nearest::Simple;
  double cubic = -0.75;
  bool exclude_outside = false;
  std::vector<SampledAxis> axes;
};

// Returns the value that belongs to the attribute's text; nothing for another text.
template <class T>
std::optional<T> chosen(const FoldRun& r, NameId name,
                        std::initializer_list<std::pair<std::string_view, T>> choices) {
  const auto text = string_attr(r.attributes, name);
  if (!text) return std::nullopt;
  for (const auto& [spelt, value] : choices)
    if (spelt == *text) return value;
  return std::nullopt;
}

bool read_modes(const FoldRun& r, Resampling& s) {
  const auto sampling = chosen<Sampling>(
      r, names::mode,
      {{"nearest", Sampling::Nearest}, {"linear", Sampling::Linear}, {"cubic", Sampling::Cubic}});
  if (!sampling || (r.opset < 11 && *sampling == Sampling::Cubic)) return false;
  s.sampling = *sampling;
  if (r.opset < 11) return true;
  const auto coordinates = chosen<Coordinates>(r, names::coordinate_transformation_mode,
                                               {{"half_pixel", Coordinates::HalfPixel},
                                                {"pytorch_half_pixel", Coordinates::PyTorch},
                                                {"align_corners", Coordinates::AlignCorners},
                                                {"asymmetric", Coordinates::Asymmetric},
                                                {"tf_half_pixel_for_nn", Coordinates::HalfOfTf}});
  const auto nearest = chosen<Nearest>(r, names::nearest_mode,
                                       {{"round_prefer_floor", Nearest::PreferFloor},
                                        {"round_prefer_ceil", Nearest::PreferCeil},
                                        {"floor", Nearest::Floor},
                                        {"ceil", Nearest::Ceil}});
  if (!coordinates || !nearest) return false;
  if (*coordinates == Coordinates::HalfOfTf && r.opset > 12) return false;
  if (r.opset >= 18 && r.int_of(names::antialias) != 0) return false;
  const auto exclude = r.int_of(names::exclude_outside);
  const auto cubic = float_attr(r.attributes, names::cubic_coeff_a);
  if (!exclude || *exclude < 0 || *exclude > 1 || !cubic || !(std::abs(*cubic) <= 4)) return false;
  s.coordinates = *coordinates;
  s.nearest = *nearest;
  s.exclude_outside = *exclude == 1;
  s.cubic = static_cast<double>(*cubic);
  return true;
}

// The axes that scales and sizes are about.
std::optional<Dims> sampled_axes(const FoldRun& r) {
  const std::size_t rank = r.in(0).rank();
  if (r.has(names::axes)) {
    const auto given = ints_attr(r.attributes, names::axes);
    return given && !given->empty() ? normalize_axes(*given, rank) : std::nullopt;
  }
  Dims all(rank);
  for (std::size_t d = 0; d < rank; ++d) all[d] = static_cast<std::int64_t>(d);
  return all;
}

// Sets the length of the result; false where the product with the scale is in doubt.
bool scale_axis(SampledAxis& a, float scale) {
  if (!(scale > 0) || !(scale <= static_cast<float>(kExactInFloat))) return false;
  a.scale = scale;
  a.exact_scale = static_cast<double>(scale);
  const double length = std::floor(static_cast<double>(a.in) * static_cast<double>(scale));
  if (length < 1 || length > static_cast<double>(kExactInFloat)) return false;
  a.out = static_cast<std::int64_t>(length);
  return static_cast<double>(std::floor(static_cast<float>(a.in) * scale)) == length;
}

bool has_length(const SampledAxis& a) {
  return static_cast<double>(a.in) * static_cast<double>(a.scale) == static_cast<double>(a.out);
}

// Sizes, each for its own axis, or as bounds for one scale of all of them.
bool read_sizes(const FoldRun& r, const Dims& axes, const Dims& sizes, Resampling& s) {
  enum class Policy : std::uint8_t { Stretch, NotLarger, NotSmaller };
  const auto policy = r.opset < 18 ? std::optional(Policy::Stretch)
                                   : chosen<Policy>(r, names::keep_aspect_ratio_policy,
                                                    {{"stretch", Policy::Stretch},
                                                     {"not_larger", Policy::NotLarger},
                                                     {"not_smaller", Policy::NotSmaller}});
  if (!policy) return false;
  std::optional<float> common;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    SampledAxis& a = s.axes[static_cast<std::size_t>(axes[i])];
    if (sizes[i] < 1 || sizes[i] > kExactInFloat) return false;
    a.out = sizes[i];
    a.scale = static_cast<float>(a.out) / static_cast<float>(a.in);
    a.exact_scale = static_cast<double>(a.out) / static_cast<double>(a.in);
    const bool other = !common || (*policy == Policy::NotLarger ? a.scale < *common : a.scale > *common);
    if (other) common = a.scale;
  }
  if (*policy == Policy::Stretch) return true;
  // ONNX Runtime keeps the size of an axis that is counted from the end, whatever the policy says.
  const auto written = ints_attr(r.attributes, names::axes);
  if (written && std::ranges::any_of(*written, [](std::int64_t axis) { return axis < 0; })) return false;
  if (s.sampling != Sampling::Nearest) return false;
  for (const std::int64_t axis : axes) {
    SampledAxis& a = s.axes[static_cast<std::size_t>(axis)];
    const double length = static_cast<double>(a.in) * static_cast<double>(*common);
    const double rounded = std::floor(length + 0.5);
    if (rounded < 1 || rounded > static_cast<double>(kExactInFloat)) return false;
    // Lengths that a rounding of the scale could change.
    if (std::abs(length - rounded) > 0.499 && length != rounded - 0.5) return false;
    a.out = static_cast<std::int64_t>(rounded);
    a.scale = *common;
    a.exact_scale = static_cast<double>(*common);
    a.by_policy = true;
  }
  return true;
}

std::optional<Resampling> resampling_of(const FoldRun& r) {
  const Operand& x = r.in(0);
  Resampling s;
  const std::optional<Dims> axes = sampled_axes(r);
  if (!axes || !read_modes(r, s)) return std::nullopt;
  for (const std::int64_t d : x.dims) {
    if (d < 1 || d > kExactInFloat) return std::nullopt;
    s.axes.push_back({.in = d, .out = d});
  }
  const Operand &scales = r.in(r.opset < 11 ? 1 : 2), &sizes = r.in(3);
  const auto named = static_cast<std::int64_t>(axes->size());
  const bool scaled = scales && scales.elements > 0, sized = sizes && sizes.elements > 0;
  if (scaled == sized) return std::nullopt;
  if (scaled) {
    if (scales.dtype != DType::Float || scales.rank() != 1 || scales.elements != named) return std::nullopt;
    for (std::int64_t i = 0; i < named; ++i) {
      const float scale = load<float>(scales.data, i);
      if (r.kind == OpKind::Upsample && scale < 1) return std::nullopt;
      if (!scale_axis(s.axes[static_cast<std::size_t>((*axes)[static_cast<std::size_t>(i)])], scale))
        return std::nullopt;
    }
  } else {
    const std::optional<Dims> list = int_list(sizes);
    if (!list || sizes.rank() != 1 || sizes.elements != named || !read_sizes(r, *axes, *list, s))
      return std::nullopt;
  }
  const bool by_length = s.coordinates == Coordinates::PyTorch || s.coordinates == Coordinates::AlignCorners;
  if (scaled && by_length && !std::ranges::all_of(s.axes, has_length)) return std::nullopt;
  return s;
}

// The coordinate of output index `at`, with the steps of ONNX Runtime; T is float or double.
template <class T> T coordinate(const Resampling& s, const SampledAxis& a, T scale, std::int64_t at) {
  const T x = static_cast<T>(at), half = T{1} / 2;
  if (scale == 1) return x;
  switch (s.coordinates) {
    case Coordinates::HalfPixel: return (x + half) / scale - half;
    case Coordinates::PyTorch: return a.out > 1 ? (x + half) / scale - half : T{0};
    case Coordinates::AlignCorners:
      return a.out == 1 ? T{0} : x * static_cast<T>(a.in - 1) / static_cast<T>(a.out - 1);
    case Coordinates::HalfOfTf: return (x + half) / scale;
    case Coordinates::Asymmetric: break;
  }
  return x / scale;
}

template <class T> std::int64_t nearest_index(const Resampling& s, const SampledAxis& a, T scale, T x) {
  T chosen_index = x;
  switch (s.nearest) {
    case Nearest::PreferFloor:
      chosen_index = x == std::floor(x) + T{1} / 2 ? std::floor(x) : std::round(x);
      break;
    case Nearest::PreferCeil: chosen_index = std::round(x); break;
    case Nearest::Floor: chosen_index = std::floor(x); break;
    case Nearest::Ceil: chosen_index = std::ceil(x); break;
    case Nearest::Simple: chosen_index = scale < 1 ? std::ceil(x) : std::trunc(x); break;
  }
  return static_cast<std::int64_t>(std::clamp(chosen_index, T{0}, static_cast<T>(a.in - 1)));
}

// The operand's index for each output index of an axis; nothing where one is in doubt.
std::optional<Dims> sources_of(const Resampling& s, const SampledAxis& a) {
  Dims sources(static_cast<std::size_t>(a.out));
  const auto by = [&](auto scale, std::int64_t i) {
    return nearest_index(s, a, scale, coordinate(s, a, scale, i));
  };
  for (std::int64_t i = 0; i < a.out; ++i) {
    const std::int64_t index = by(a.scale, i);
    if (by(a.exact_scale, i) != index) return std::nullopt;
    if (a.by_policy && (by(static_cast<float>(a.out) / static_cast<float>(a.in), i) != index ||
                        by(static_cast<double>(a.out) / static_cast<double>(a.in), i) != index))
      return std::nullopt;
    sources[static_cast<std::size_t>(i)] = index;
  }
  return sources;
}

FoldRefusal take_nearest(FoldRun& r, const Resampling& s, Dims dims) {
  const Operand& x = r.in(0);
  Buffer out;
  if (const FoldRefusal no = r.make(x.dtype, dims, out); no != kDone) return no;
  std::vector<Dims> sources;
  for (const SampledAxis& a : s.axes) {
    auto of_axis = sources_of(s, a);
    if (!of_axis) return kNotFoldable;
    sources.push_back(std::move(*of_axis));
  }
  const Dims strides = row_major_strides(x.dims);
  const std::size_t last = dims.size() - 1;
  const Mover mover(x, out);
  Dims index(dims.size(), 0);
  for (std::int64_t done = 0; done < out.elements; done += dims[last]) {
    std::int64_t base = 0;
    for (std::size_t d = 0; d < last; ++d)
      base += sources[d][static_cast<std::size_t>(index[d])] * strides[d];
    for (std::int64_t i = 0; i < dims[last]; ++i)
      mover.copy(done + i, base + sources[last][static_cast<std::size_t>(i)], 1);
    for (std::size_t d = last; d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
  r.emit(0, std::move(out));
  return kDone;
}

// What an output index of an axis is made of.
struct Taps {
  std::array<std::int64_t, 4> index = {};
  std::array<double, 4> weight = {};
};

Taps linear_taps(const Resampling& s, const SampledAxis& a, std::int64_t at) {
  const float x = std::clamp(coordinate(s, a, a.scale, at), 0.0f, static_cast<float>(a.in - 1));
  const auto low = static_cast<std::int64_t>(x);
  const double share = static_cast<double>(x) - static_cast<double>(low);
  return {.index = {low, std::min(low + 1, a.in - 1)}, .weight = {1 - share, share}};
}

Taps cubic_taps(const Resampling& s, const SampledAxis& a, std::int64_t at) {
  const float x = coordinate(s, a, a.scale, at), low = std::floor(x);
  const double share = static_cast<double>(x) - static_cast<double>(low), c = s.cubic;
  const auto near = [c](double t) { return ((c + 2) * t - (c + 3)) * t * t + 1; };  // at a distance below 1
  const auto far = [c](double t) { return ((c * t - 5 * c) * t + 8 * c) * t - 4 * c; };  // 1 to 2
  Taps taps{.weight = {far(1 + share), near(share), near(1 - share), far(2 - share)}};
  double sum = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    const std::int64_t index = static_cast<std::int64_t>(low) - 1 + static_cast<std::int64_t>(k);
    taps.index[k] = std::clamp<std::int64_t>(index, 0, a.in - 1);
    if (s.exclude_outside && taps.index[k] != index) taps.weight[k] = 0;
    sum += taps.weight[k];
  }
  if (s.exclude_outside)
    for (double& weight : taps.weight) weight /= sum;
  return taps;
}

// Returns true if ONNX Runtime has a kernel that interpolates along these axes.
bool interpolates(const Resampling& s) {
  const std::size_t rank = s.axes.size();
  const auto fixed = [&](std::initializer_list<std::size_t> axes) {
    return std::ranges::none_of(axes, [&](std::size_t d) { return s.axes[d].resized(); });
  };
  if (rank == 2) return true;
  if (s.sampling == Sampling::Cubic) return rank == 4 && fixed({0, 1});
  if (rank == 4) return fixed({0, 1}) || fixed({0, 3});
  return rank == 3 || (rank == 5 && fixed({0, 1}));
}

// Replaces a tensor's axis `d` by sums of its elements.
FoldRefusal interpolate(FoldRun& r, const Resampling& s, std::size_t d, Dims& dims,
                        std::vector<double>& data) {
  const SampledAxis& a = s.axes[d];
  std::int64_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < d; ++i) outer *= dims[i];
  for (std::size_t i = d + 1; i < dims.size(); ++i) inner *= dims[i];
  const std::size_t count = s.sampling == Sampling::Linear ? 2 : 4;
  const auto made = checked_mul(checked_mul(outer, inner), a.out);
  const auto work = checked_mul(made, static_cast<std::int64_t>(count));
  if (!made || !work) return kTooBig;
  if (const FoldRefusal no = r.charge(*work); no != kDone) return no;
  std::vector<double> result(static_cast<std::size_t>(*made), 0.0);
  for (std::int64_t i = 0; i < a.out; ++i) {
    const Taps taps = count == 2 ? linear_taps(s, a, i) : cubic_taps(s, a, i);
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::size_t k = 0; k < count; ++k) {
        double* const to = result.data() + (o * a.out + i) * inner;
        const double* const from = data.data() + (o * a.in + taps.index[k]) * inner;
        for (std::int64_t j = 0; j < inner; ++j) to[j] += taps.weight[k] * from[j];
      }
  }
  dims[d] = a.out;
  data = std::move(result);
  return kDone;
}

template <class E> FoldRefusal take_sums(FoldRun& r, const Resampling& s, Dims dims) {
  const Operand& x = r.in(0);
  Buffer out;
  if (const FoldRefusal no = r.make(x.dtype, std::move(dims), out); no != kDone) return no;
  if (const FoldRefusal no = r.charge(x.elements); no != kDone) return no;
  std::vector<double> data(static_cast<std::size_t>(x.elements));
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<double>(E::get(x.data, static_cast<std::int64_t>(i)));
    if (!std::isfinite(data[i])) return kBad;
  }
  // Axes that become shorter first, so that no tensor in between is larger than both the operand and result.
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < s.axes.size(); ++d)
    if (s.axes[d].resized()) order.push_back(d);
  std::ranges::stable_sort(order, {}, [&](std::size_t d) { return s.axes[d].out > s.axes[d].in; });
  Dims now = copy_of(x.dims);
  for (const std::size_t d : order)
    if (const FoldRefusal no = interpolate(r, s, d, now, data); no != kDone) return no;
  for (std::size_t i = 0; i < data.size(); ++i)
    E::put(out.data(), static_cast<std::int64_t>(i), static_cast<typename E::Value>(data[i]));
  r.emit(0, std::move(out));
  return kDone;
}

}  // namespace

bool sums_in_resize(const Attributes& a) { return string_attr(a, names::mode) != "nearest"; }

FoldRefusal fold_resize(FoldRun& r) {
  const Operand& x = r.in(0);
  if (x.rank() == 0 || x.elements == 0) return kNotFoldable;
  const std::optional<Resampling> s = resampling_of(r);
  if (!s) return kNotFoldable;
  Dims dims;
  for (const SampledAxis& a : s->axes) dims.push_back(a.out);
  if (s->sampling == Sampling::Nearest) return take_nearest(r, *s, std::move(dims));
  if (!interpolates(*s)) return kNotFoldable;
  return with_float(x.dtype, [&](auto elem) { return take_sums<decltype(elem)>(r, *s, std::move(dims)); });
}

}  // namespace graphopt::folding
