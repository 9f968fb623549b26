// Activation functions with parameters or of several steps, and PRelu.
//
// LeakyRelu, PRelu, ThresholdedRelu and Shrink are a comparison, then one operation of IEEE 754 at most:
// Exact for the types of ONNX Runtime's kernels. NaN passes through the first two and gives 0 in the others,
// in ONNX's text as in its functions and the kernels. Types of 16 bits are computed in float; there the
// functions round a parameter first, so one that decides by comparison has to be a number of the type.
//
// The others are computed in double and rounded once. The runtime's kernels take steps in float, exp (x) - 1
// among them, and approximate erf and the sigmoid: they differ from the true number by some units of the
// largest of 1, the operand and the parameters (docs/rounding.md). What becomes of NaN and infinities in
// these steps differs from kernel to kernel (infinity times 0), so a node with such an element stays.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/fold_binary.h"
#include "ops/fold_unary.h"

namespace graphopt::folding {
namespace {

struct Parameters {
  double alpha = 1, beta = 0, gamma = 1;
  bool tanh_form = false;  // of Gelu
};

// Far beyond what models have, and so small that no step of a kernel overflows unless the result does.
constexpr double kLargestParameter = 0x1p20;

// Reads an attribute of the operator; false where its value is not usable.
bool read_parameter(const FoldRun& r, NameId name, double& value) {
  const std::optional<float> given = float_attr(r.attributes, name);
  if (!given || !(std::abs(*given) <= static_cast<float>(kLargestParameter))) return false;
  value = static_cast<double>(*given);
  return true;
}

std::optional<Parameters> parameters_of(const FoldRun& r) {
  Parameters p;
  switch (r.kind) {
    case OpKind::Elu:
    case OpKind::Swish:
      if (!read_parameter(r, names::alpha, p.alpha)) return std::nullopt;
      break;
    case OpKind::Celu:
      if (!read_parameter(r, names::alpha, p.alpha) || !(p.alpha > 0)) return std::nullopt;
      break;
    case OpKind::Selu:
      if (!read_parameter(r, names::alpha, p.alpha) || !read_parameter(r, names::gamma, p.gamma))
        return std::nullopt;
      break;
    case OpKind::HardSigmoid:
      if (!read_parameter(r, names::alpha, p.alpha) || !read_parameter(r, names::beta, p.beta))
        return std::nullopt;
      break;
    case OpKind::Gelu: {
      const auto form = string_attr(r.attributes, names::approximate);
      if (!form || (*form != "none" && *form != "tanh")) return std::nullopt;
      p.tanh_form = *form == "tanh";
      // The operator's function has constants of float, which ONNX Runtime takes for doubles.
      if (p.tanh_form && r.in(0).dtype == DType::Double) return std::nullopt;
      break;
    }
    default: break;
  }
  return p;
}

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// Where the operator's function stands for a kernel of the type, exp (x) becomes infinite soon after this.
template <class E> constexpr typename E::Value most_of_softplus() {
  using T = typename E::Value;
  switch (E::kType) {
    case DType::Float16: return T{11};
    case DType::BFloat16: return T{88};
    case DType::Double: return T{709};
    default: return std::numeric_limits<T>::max();
  }
}

double activation(OpKind kind, double x, const Parameters& p) {
  switch (kind) {
    case OpKind::Elu: return x < 0 ? p.alpha * std::expm1(x) : x;
    case OpKind::Selu: return p.gamma * (x > 0 ? x : p.alpha * std::expm1(x));
    case OpKind::Celu: return x < 0 ? p.alpha * std::expm1(x / p.alpha) : x;
    case OpKind::HardSigmoid: return std::clamp(p.alpha * x + p.beta, 0.0, 1.0);
    case OpKind::HardSwish: return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case OpKind::Softplus: return softplus(x);
    case OpKind::Softsign: return x / (1 + std::abs(x));
    case OpKind::Mish: return x * std::tanh(softplus(x));
    case OpKind::Gelu:
      if (!p.tanh_form) return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
      return 0.5 * x *
             (1 + std::tanh(std::numbers::sqrt2 * std::numbers::inv_sqrtpi * (x + 0.044715 * x * x * x)));
    default: return x / (1 + std::exp(-p.alpha * x));  // Swish
  }
}

// Returns the attribute in the type in which elements are compared; nothing where an element cannot equal it.
template <class E> std::optional<typename E::Value> bound_in_type(const FoldRun& r, NameId name) {
  using T = typename E::Value;
  const std::optional<float> given = float_attr(r.attributes, name);
  if (!given || !std::isfinite(*given)) return std::nullopt;
  char stored[sizeof(double)] = {};
  E::put(stored, 0, static_cast<T>(*given));
  const T kept = E::get(stored, 0);
  return kept == static_cast<T>(*given) ? std::optional(kept) : std::nullopt;
}

template <class E> FoldRefusal by_comparison(FoldRun& r) {
  using T = typename E::Value;
  if (r.kind == OpKind::LeakyRelu) {
    const std::optional<float> slope = float_attr(r.attributes, names::alpha);
    if (!slope || !std::isfinite(*slope)) return kNotFoldable;
    return unary<E>(r, [a = static_cast<T>(*slope)](T x, T& v) { return v = x < 0 ? a * x : x, true; });
  }
  if (r.kind == OpKind::ThresholdedRelu) {
    const auto bound = bound_in_type<E>(r, names::alpha);
    if (!bound) return kNotFoldable;
    return unary<E>(r, [bound](T x, T& v) { return v = x > *bound ? x : T{0}, true; });
  }
  const auto bound = bound_in_type<E>(r, names::lambd), bias = bound_in_type<E>(r, names::bias);
  if (!bound || !bias) return kNotFoldable;
  return unary<E>(r, [bound, bias](T x, T& v) {
    v = x < -*bound ? x + *bias : x > *bound ? x - *bias : T{0};
    return true;
  });
}

}  // namespace

FoldRefusal fold_by_comparison(FoldRun& r) {
  return with_float(r.in(0).dtype, [&](auto elem) { return by_comparison<decltype(elem)>(r); });
}

FoldRefusal fold_p_relu(FoldRun& r) {
  const Operand& x = r.in(0);
  // The slopes are broadcast to the data, and not the other way round, which ONNX Runtime does as well.
  const std::optional<Dims> dims = broadcast_dims(x.dims, r.in(1).dims);
  if (!dims || !std::ranges::equal(*dims, x.dims)) return kBad;
  return with_float(x.dtype, [&](auto elem) {
    using E = decltype(elem);
    using T = typename E::Value;
    return emit_binary<E, E>(r, [](T a, T slope, T& v) { return v = a < 0 ? slope * a : a, true; });
  });
}

FoldRefusal fold_activation(FoldRun& r) {
  const std::optional<Parameters> p = parameters_of(r);
  if (!p) return kNotFoldable;
  return with_float(r.in(0).dtype, [&](auto elem) {
    using E = decltype(elem);
    using T = typename E::Value;
    const T most = r.kind == OpKind::Softplus ? most_of_softplus<E>() : std::numeric_limits<T>::max();
    return unary<E>(r, [kind = r.kind, most, &p](T x, T& v) {
      if (!std::isfinite(x) || x > most) return false;
      v = static_cast<T>(activation(kind, static_cast<double>(x), *p));
      return true;
    });
  });
}

}  // namespace graphopt::folding
