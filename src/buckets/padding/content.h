// What is known of the numbers in one region of a tensor.
//
// Problem: whether padding reaches a result depends on what stands in the padded part: a sum needs zeros, a
// maximum something small, a softmax minus infinity.
// Method: an interval with flags. Bounds are numbers or expressions over the true extents s and the slacks s#
// (padded less true extent, never negative), so that the positions of a Range are known exactly: 0 .. s - 1
// in the true part and s .. s + s# - 1 behind it. Intervals are computed in doubles; the model runs in its
// own types. So a content says whether its values may carry rounding, and a function that jumps (Floor, Cast
// to integers, comparisons) widens it first. What an integer type does not hold wraps: then nothing is known.
// From 2^53 on doubles are further apart than integers, so that bounds there are moved outward by what a
// double may be off by (type_limits.h), and no such result is one number. What a floating type does not hold
// is infinite; an open end is that of the type.
//
// All numbers that may occur are in [low, high], NaN and infinities aside unless the bounds are infinite.
#pragma once

#include <cmath>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>

#include "ir/dim.h"
#include "ir/op_kind.h"
#include "ir/types.h"

namespace graphopt {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
// What a short chain of operations rounds at most, in float and in the types of 16 bits, with room.
inline constexpr double kRounding = 1e-5, kCoarseRounding = 1e-2;

struct Bound {
  double number = 0;
  DimId expression = {};  // valid: the bound is this, and `number` means nothing
};

struct Content {
  Bound low, high;
  bool nan = false;       // may hold NaN
  bool infinite = false;  // may hold an infinity
  bool positive_infinite = false;
  double rounding = 0;  // > 0: values may be beyond a bound b by rounding * |b|
  double mask = 0;      // k > 0: a finite value plus a constant of at most -k, as additive masks make it
  // Need not be like data. Sums and products of it are taken to stay finite, as those of data are, but not to
  // fit a narrower type. Bounds that show it to be small end that, unless it is `from_pads`.
  bool chosen = false;
  // Follows from elements that whoever pads may choose, or from integers that wrapped in the padding. Small
  // bounds do not end that: a sum of such numbers is no sum of data.
  bool from_pads = false;

  bool finite() const { return !nan && !infinite; }
};

class ContentMath {
 public:
  explicit ContentMath(DimPool& dims) : dims_(dims) {}

  // --- making ----------------------------------------------------------------------------------------------
  static Content number(double v);  // NaN: anything that is no number
  static Content interval(double low, double high) { return {.low = {low, {}}, .high = {high, {}}}; }
  static Content any_finite() { return interval(-kInfinity, kInfinity); }
  static Content anything();
  // What padding holds that must only be finite.
  static Content any_of(DType type);
  // What sums and products of such numbers hold.
  static Content combined(std::initializer_list<Content> operands);
  static Content boolean() { return interval(0, 1); }
  static Content between(DimId low, DimId high) { return {.low = {0, low}, .high = {0, high}}; }
  static Content without_nan(Content c) {
    c.nan = false;
    return c;
  }
  // The same content after a computation in this type: what an integer type does not hold has wrapped, what
  // is too large for a floating type is infinite, and what is too small is 0. In the true run nothing is too
  // large.
  Content held(DType type, Content c, bool true_run = false) const;
  // The same content with the bounds of its type in place of open ends.
  Content closed(DType type, Content c) const;

  // --- asking ----------------------------------------------------------------------------------------------
  double low(const Content& c) const;  // sound numeric bounds
  double high(const Content& c) const;
  bool is(const Content& c, double v) const;  // every element is v
  bool is_number(const Content& c) const;     // all elements are one number; infinities count
  bool is_bounded(const Content& c) const;    // finite, by bounds that are numbers
  bool is_zero(const Content& c) const { return is(c, 0); }
  bool less_equal(const Bound& a, const Bound& b) const;
  bool less(const Bound& a, const Bound& b) const;
  // No element of `padding` is above, or below, one of `truth`, both of this type; NaN is both.
  bool is_at_most(const Content& padding, const Content& truth, DType type) const;
  bool is_at_least(const Content& padding, const Content& truth, DType type) const;
  bool at_least(const Content& c, double v) const { return less_equal({v, {}}, c.low); }
  double mask_of(const Content& c) const;
  // Returns whether `count` products of these factors, times a scale, may leave the floating type when they
  // are added, as the bounds of the factors say. False where a factor is only known to be within its type,
  // and where a product is not larger than data may be.
  bool sum_overflows(DType type, std::span<const Content> factors, double count, double scale = 1) const;
  std::string text(const Content& c) const;

  // --- computing -------------------------------------------------------------------------------------------
  Content join(const Content& a, const Content& b) const;
  Content add(const Content& a, const Content& b) const;
  Content negate(const Content& a) const;
  Content subtract(const Content& a, const Content& b) const { return add(a, negate(b)); }
  Content multiply(const Content& a, const Content& b) const;
  Content divide(const Content& a, const Content& b, bool integers) const;
  Content minimum(const Content& a, const Content& b) const;
  Content maximum(const Content& a, const Content& b) const;
  Content compare(OpKind kind, const Content& a, const Content& b) const;
  Content logical(OpKind kind, const Content& a, const Content& b) const;
  Content select(const Content& condition, const Content& x, const Content& y) const;
  Content power(const Content& a, const Content& exponent) const;
  // Logarithms of probabilities that follow from scores, by differences of two of them.
  Content log_probability(const Content& scores, bool may_be_nan) const;
  // Widens by what rounding may have changed.
  Content widened(const Content& c) const;
  Content cast(const Content& c, DType from, DType to) const;

  DimPool& dims() const { return dims_; }

 private:
  // The two integers' sum as an expression; none unless one is an expression and both are integers.
  DimId sum(const Bound& a, const Bound& b) const;
  DimId least(const Bound& a, const Bound& b) const;
  DimId greatest(const Bound& a, const Bound& b) const;
  DimId expression(const Bound& b) const;  // of an integer; none for others
  double low(const Bound& b) const;
  double high(const Bound& b) const;

  DimPool& dims_;
};

// Returns the number of a floating type that a tensor of it holds for v; v itself for other types.
double stored(DType type, double v);

// The attributes alpha, beta or gamma of an operator, as far as it has them.
struct UnaryParameters {
  double alpha = 1, beta = 0, gamma = 1;
};

// Returns what an operator of one operand makes of a content of type `type`; anything for one without a rule.
// Infinite values are never claimed absent where finite ones may overflow (Exp).
Content unary_content(const ContentMath& math, OpKind kind, DType type, const Content& c,
                      const UnaryParameters& parameters = {});

}  // namespace graphopt
