// See affine_map.h.
#include "passes/affine_map.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/constants.h"
#include "support/half.h"

namespace graphopt {
namespace {

// The floating types that graphs compute with on a CPU, as they lie in a payload.
struct Half {
  std::uint16_t bits;
};
double widen(Half h) { return half_to_float(h.bits); }
double widen(float x) { return x; }
double widen(double x) { return x; }
void narrow(double x, Half& out) { out.bits = double_to_half(x); }
void narrow(double x, float& out) { out = static_cast<float>(x); }
void narrow(double x, double& out) { out = x; }

// Calls f with a T of the type; false for other types.
template <class F> bool with_type(DType type, F f) {
  switch (type) {
    case DType::Float16: return f(Half{});
    case DType::Float: return f(float{});
    case DType::Double: return f(double{});
    default: return false;
  }
}

template <class T> bool append(std::string& out, double x) {
  T narrowed;
  narrow(x, narrowed);
  out.append(reinterpret_cast<const char*>(&narrowed), sizeof narrowed);
  return std::isfinite(widen(narrowed));
}

template <class T> T load(const char* at) {
  T x;
  std::memcpy(&x, at, sizeof x);  // the payload may be unaligned
  return x;
}

// Calls f(bytes before it, result channel, operand channel) for each run of elements that share both, in the
// order of the payload. A run has `window` elements.
template <class T, class F> void each_run(const ProductWeight& w, F f) {
  std::size_t at = 0;
  const std::int64_t block = w.outer / w.group;
  for (std::int64_t b = 0; b < w.batch; ++b)
    for (std::int64_t o = 0; o < w.outer; ++o)
      for (std::int64_t i = 0; i < w.inner; ++i, at += static_cast<std::size_t>(w.window) * sizeof(T)) {
        const std::int64_t inner = o / block * w.inner + i;
        f(at, w.outer_is_result ? o : inner, w.outer_is_result ? inner : o);
      }
}

}  // namespace

AffineMap normalization(std::span<const double> scale, std::span<const double> bias,
                        std::span<const double> mean, std::span<const double> variance, double epsilon) {
  AffineMap map;
  for (std::size_t i = 0; i < scale.size(); ++i) {
    map.scale.push_back(scale[i] / std::sqrt(variance[i] + epsilon));
    map.offset.push_back(bias[i] - map.scale[i] * mean[i]);
  }
  return map;
}

bool can_scale(DType type) {
  return with_type(type, [](auto) { return true; });
}

bool simplify(AffineMap& map) {
  const auto finite = [](double x) { return std::isfinite(x); };
  if (!std::ranges::all_of(map.scale, finite) || !std::ranges::all_of(map.offset, finite)) return false;
  if (std::ranges::all_of(map.scale, [](double x) { return x == 1; })) map.scale.clear();
  if (std::ranges::all_of(map.offset, [](double x) { return x == 0; })) map.offset.clear();
  return true;
}

std::optional<std::string> scaled_payload(const Model& m, const ProductWeight& w,
                                          const std::vector<double>& scale, bool result) {
  const auto payload = payload_of(m, w.tensor);
  if (!payload) return std::nullopt;
  std::string out(payload->size(), '\0');
  const bool done = with_type(m.tensor(w.tensor).dtype, [&]<class T>(T) {
    bool finite = true;
    each_run<T>(w, [&](std::size_t at, std::int64_t r, std::int64_t o) {
      const double factor = channel(scale, result ? r : o, 1);
      for (std::int64_t k = 0; k < w.window; ++k, at += sizeof(T)) {
        T scaled;
        narrow(widen(load<T>(payload->data() + at)) * factor, scaled);
        finite &= std::isfinite(widen(scaled));
        std::memcpy(out.data() + at, &scaled, sizeof scaled);
      }
    });
    return finite;
  });
  return done ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<std::vector<double>> summed_offset(const Model& m, const ProductWeight& w,
                                                 const std::vector<double>& offset) {
  const auto payload = payload_of(m, w.tensor);
  if (!payload) return std::nullopt;
  std::vector<double> sums(static_cast<std::size_t>(w.results()));
  const bool done = with_type(m.tensor(w.tensor).dtype, [&]<class T>(T) {
    each_run<T>(w, [&](std::size_t at, std::int64_t r, std::int64_t o) {
      double sum = 0;
      for (std::int64_t k = 0; k < w.window; ++k, at += sizeof(T))
        sum += widen(load<T>(payload->data() + at)) * channel(offset, o, 0);
      sums[static_cast<std::size_t>(r)] += sum;
    });
    return true;
  });
  return done ? std::optional(std::move(sums)) : std::nullopt;
}

std::optional<std::string> real_payload(DType type, std::span<const double> numbers) {
  std::string out;
  const bool done = with_type(type, [&]<class T>(T) {
    return std::ranges::all_of(numbers, [&](double x) { return append<T>(out, x); });
  });
  return done ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace graphopt
