// Expansions of Erf.
//
// erf-tanh   Tanh (x p (x * x)), with a polynomial p of degree 6
// The inverse, atanh (erf (x)), is odd and smooth, and grows slower than x^2 / 2 + x; so x times a polynomial
// in x * x comes near it, and the nearer erf is to 1, the less an error of it matters. The coefficients are
// our own: least squares, weighted again and again until the greatest error of Tanh relative to erf was the
// least (Lawson's method), for |x| up to 4.6. p (x * x) x is at least 9.4 from 4 on and grows beyond every
// bound, so there the result is 1 as in the original. There are no differences of two numbers that may both
// be infinite: an infinity gives 1 or -1, a NaN a NaN, a zero itself.
// Rounds: with exact arithmetic the error is 1.6 u of the result, u the rounding unit; in float, original and
// result differ by at most 8 u (4.8e-7). ONNX Runtime's are 6 u apart at most, of 2,000,000 numbers between
// -5 and 5; tests/property/lowered.py compares numbers of all exponents. Left alone: types other than float.
//
//   y = Erf (x)    =>    z = Mul (x, x)    p = ...    y = Tanh (Mul (x, p))
#include "lower/expansion.h"
#include "ops/attributes.h"

namespace graphopt {
namespace {

constexpr float kErfCoefficients[] = {1.12837927F,    0.102769056F,    -1.91830524e-4F, -6.19784876e-4F,
                                      8.76374013e-5F, -5.66848657e-6F, 1.41852796e-7F};

class ErfTanh final : public ExpansionRule {
 public:
  std::string_view name() const override { return "erf-tanh"; }
  std::span<const OpKind> roots() const override { return kRootKinds<OpKind::Erf>; }
  bool match(const MatchContext& c, NodeId n) override {
    return c.infer.dtype(c.model.input(n, 0)) == DType::Float && attributes_known(c.model, n);
  }
  void apply(PassContext& c, NodeId n) override {
    Emitter e = emit(c.model, n);
    const ValueId x = c.model.input(n, 0);
    const auto constant = [&e](float f) { return e.scalar(DType::Float, double{f}); };
    const ValueId square = e.node(OpKind::Mul, {x, x}, "square");
    const std::size_t degree = std::size(kErfCoefficients) - 1;
    ValueId sum = e.node(OpKind::Mul, {square, constant(kErfCoefficients[degree])}, "term");
    for (std::size_t i = degree; i-- > 0;) {
      sum = e.node(OpKind::Add, {sum, constant(kErfCoefficients[i])}, "sum");
      sum = e.node(OpKind::Mul, {sum, i == 0 ? x : square}, "term");
    }
    give_result(c.model, n, e.node(OpKind::Tanh, {sum}, "tanh"));
  }
};

constexpr Expansion kErfExpansions[] = {expansion<ErfTanh, Exact::No>()};

}  // namespace

std::span<const Expansion> erf_expansions() { return kErfExpansions; }

}  // namespace graphopt
