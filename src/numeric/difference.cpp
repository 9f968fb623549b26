#include "numeric/difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "numeric/layout.h"
#include "runtime/compare.h"

namespace graphopt {
namespace {

constexpr double kFarAbove = 1e6;  // times the median magnitude: an element of a mask

std::vector<double> elements_of(const HostValue& v) {
  std::size_t count = 1;
  for (const std::int64_t d : v.dims) count *= static_cast<std::size_t>(d);
  std::vector<double> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = number_at(v, i);
  return out;
}

// The elements of a tensor whose dims are permuted.
std::vector<double> permuted(const std::vector<double>& x, const std::vector<std::int64_t>& dims,
                             const std::vector<std::size_t>& layout) {
  std::vector<double> out;
  out.reserve(x.size());
  for (const std::size_t place : permuted_places(dims, layout)) out.push_back(x[place]);
  return out;
}

// The largest magnitude of those that are not far above the median.
double scale_of(const std::vector<double>& x) {
  std::vector<double> magnitudes;
  for (const double v : x)
    if (std::isfinite(v) && v != 0) magnitudes.push_back(std::fabs(v));
  if (magnitudes.empty()) return 0;
  const auto middle = magnitudes.begin() + static_cast<std::ptrdiff_t>(magnitudes.size() / 2);
  std::ranges::nth_element(magnitudes, middle);
  const double most = *middle * kFarAbove;
  double out = 0;
  for (const double m : magnitudes)
    if (m <= most) out = std::max(out, m);
  return out;
}

ValueDifference difference_of(const std::vector<double>& x, const std::vector<double>& y, double scale) {
  ValueDifference out;
  std::size_t special = 0;
  double xx = 0, yy = 0, xy = 0;
  const double unit = scale > 0 ? 1 / scale : 1;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) {
      special += !(x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i])));
      continue;
    }
    const double far = std::fabs(x[i] - y[i]);
    out.max_abs = std::max(out.max_abs, far);
    if (far > 0) out.max_rel = std::max(out.max_rel, far / std::max({scale, std::fabs(x[i]), 1e-30}));
    const double p = x[i] * unit, q = y[i] * unit;
    xx += p * p;
    yy += q * q;
    xy += p * q;
  }
  if (xx > 0 || yy > 0) out.cosine = xx > 0 && yy > 0 ? xy / std::sqrt(xx) / std::sqrt(yy) : 0;
  if (special > 0) out.problem = fmt::format("NaN or infinities in {} other places", special);
  return out;
}

}  // namespace

ValueDifference difference_of(const HostValue& a, const HostValue& b, double tolerance, Layouts layouts) {
  ValueDifference out;
  if (a.kind != HostValue::Kind::Tensor || b.kind != HostValue::Kind::Tensor || !has_numbers(a.dtype) ||
      !has_numbers(b.dtype)) {
    out.is_comparable = false;
    return out;
  }
  const std::vector<double> x = elements_of(a), y = elements_of(b);
  if (x.size() != y.size()) {
    out.problem = fmt::format("extents [{}] against [{}]", fmt::join(a.dims, ","), fmt::join(b.dims, ","));
    out.cosine = 0;
    out.max_rel = 1;
    return out;
  }
  const double scale = scale_of(x);
  const auto is_within = [&](const ValueDifference& d) {
    return d.problem.empty() && d.max_rel <= tolerance;
  };
  out = difference_of(x, y, scale);
  if (is_within(out) || layouts == Layouts::None || a.dims.size() != b.dims.size() || a.dims.size() < 3)
    return out;
  for (const bool to_last : {true, false}) {
    const std::vector<std::size_t> layout = channels_moved(a.dims.size(), to_last);
    bool fits = layouts == Layouts::Channels || a.dims != b.dims;
    for (std::size_t i = 0; i < layout.size(); ++i) fits &= a.dims[layout[i]] == b.dims[i];
    if (!fits) continue;
    ValueDifference other = difference_of(permuted(x, a.dims, layout), y, scale);
    other.layout = layout;
    // Dims that differ need a permutation; equal ones only where it is the one that fits.
    if (is_within(other) || (a.dims != b.dims && out.layout.empty())) out = std::move(other);
    if (is_within(out)) return out;
  }
  return out;
}

Fingerprint fingerprint_of(const HostValue& v) {
  constexpr std::size_t kSteps = 32;
  if (v.kind != HostValue::Kind::Tensor || !has_numbers(v.dtype) || !is_float(v.dtype)) return {};
  std::vector<double> x = elements_of(v);
  if (x.size() < 2 || std::ranges::any_of(x, [](double e) { return !std::isfinite(e); })) return {};
  std::ranges::sort(x);
  if (x.front() == x.back()) return {};
  Fingerprint out{x.size(), {}};
  for (std::size_t i = 0; i <= kSteps; ++i) out.sorted.push_back(x[i * (x.size() - 1) / kSteps]);
  return out;
}

bool are_alike(const Fingerprint& a, const Fingerprint& b, double tolerance) {
  if (a.elements != b.elements || a.elements == 0) return false;
  const double scale = std::max(std::fabs(a.sorted.front()), std::fabs(a.sorted.back()));
  for (std::size_t i = 0; i < a.sorted.size(); ++i)
    if (std::fabs(a.sorted[i] - b.sorted[i]) > tolerance * scale) return false;
  return true;
}

}  // namespace graphopt
