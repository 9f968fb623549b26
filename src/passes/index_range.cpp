// Bounds of integer tensors, derived from their producers.
//
// Problem: an index that was clipped, taken modulo a number of rows or found by ArgMax cannot be out of
// range, and a rewrite may depend on that.
// Method: a walk upstream from the value, at most kMostDepth nodes deep and kMostSteps in all, with one case
// per operator. Each case holds for all operands: other operators give no bound. A bound beyond +-2^62 counts
// as none. So a uint64 without an upper bound may be 2^63 or more, which a Cast to int64 makes negative: such
// a Cast keeps no bound. Neither does one of a negative number to uint64.
//
// The cases are formulas over the operands' bounds, so they are code and not columns of the fact table.
#include "passes/index_range.h"

#include <algorithm>
#include <limits>

#include "ops/attributes.h"
#include "ops/constants.h"

namespace graphopt {
namespace {

constexpr int kMostDepth = 12, kMostSteps = 256;
constexpr Range kAll{Range::kMin, Range::kMax};

Range join(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

// Returns the integers of the type; kAll for int64 and everything that is not an integer.
Range of_type(DType t) {
  switch (t) {
    case DType::Bool: return {0, 1};
    case DType::UInt8: return {0, 255};
    case DType::Int8: return {-128, 127};
    case DType::UInt16: return {0, 65535};
    case DType::Int16: return {-32768, 32767};
    case DType::UInt32: return {0, std::numeric_limits<std::uint32_t>::max()};
    case DType::Int32:
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    case DType::UInt64: return {0, Range::kMax};
    default: return kAll;
  }
}

// Returns whether all integers of r, which are of type `from`, are integers of type `to`.
bool fits(Range r, DType from, DType to) {
  const Range of = of_type(to);
  return r.low >= of.low && r.high <= of.high &&
         !(from == DType::UInt64 && to == DType::Int64 && r.high >= Range::kMax);
}

std::int64_t below(std::int64_t bound) { return bound >= Range::kMax ? bound : bound - 1; }

class Walk {
 public:
  explicit Walk(const MatchContext& c) : c_(c), m_(c.model) {}

  Range of(ValueId v, int depth) {
    const DType type = c_.infer.dtype(v);
    if (!is_int(type) && type != DType::Bool) return kAll;
    const Range whole = of_type(type);
    if (const TensorId t = m_.constant_of(v)) return constant(t, whole);
    if (const SymbolicTensor* s = c_.infer.symbolic(v); s && !s->elements.empty()) {
      Range r{Range::kMax, Range::kMin};
      for (const DimId d : s->elements) r = join(r, d ? m_.dims.range(d) : whole);
      return r;
    }
    const NodeId n = m_.value(v).def;
    if (!n || depth >= kMostDepth || ++steps_ > kMostSteps || !attributes_known(m_, n)) return whole;
    const Range r = made(n, m_.value(v).def_slot, depth + 1);
    return {std::max(r.low, whole.low), std::min(r.high, whole.high)};
  }

 private:
  Range constant(TensorId t, Range whole) const {
    const auto numbers = int_list(m_, t).value_or(std::vector<std::int64_t>());
    if (numbers.empty()) return whole;
    const auto [low, high] = std::ranges::minmax(numbers);
    return {std::clamp(low, Range::kMin, Range::kMax), std::clamp(high, Range::kMin, Range::kMax)};
  }

  Range operand(NodeId n, std::size_t slot, int depth) {
    const ValueId v = m_.input(n, slot);
    return v ? of(v, depth) : kAll;
  }

  Range made(NodeId n, std::uint32_t slot, int depth) {
    switch (m_.kind(n)) {
        // clang-format off
      case OpKind::Identity: case OpKind::Reshape: case OpKind::Squeeze: case OpKind::Unsqueeze:
      case OpKind::Flatten: case OpKind::Transpose: case OpKind::Expand: case OpKind::Tile:
      case OpKind::Slice: case OpKind::Split: case OpKind::Gather: case OpKind::GatherElements:
      case OpKind::GatherND:
        return operand(n, 0, depth);
        // clang-format on
      case OpKind::Concat: {
        Range r = operand(n, 0, depth);
        for (std::size_t i = 1; i < m_.input_count(n) && r != kAll; ++i) r = join(r, operand(n, i, depth));
        return r;
      }
      case OpKind::Where: return join(operand(n, 1, depth), operand(n, 2, depth));
      case OpKind::Min:
      case OpKind::Max: {
        Range r = operand(n, 0, depth);
        for (std::size_t i = 1; i < m_.input_count(n); ++i) {
          const Range o = operand(n, i, depth);
          r = m_.kind(n) == OpKind::Min ? Range{std::min(r.low, o.low), std::min(r.high, o.high)}
                                        : Range{std::max(r.low, o.low), std::max(r.high, o.high)};
        }
        return r;
      }
      case OpKind::Clip: {  // on integers from opset 12 on; min(max(x, low), high)
        if (m_.opset(n) < 11) return kAll;
        Range r = operand(n, 0, depth);
        const Range low = m_.input(n, 1) ? operand(n, 1, depth) : Range{Range::kMin, Range::kMin};
        const Range high = m_.input(n, 2) ? operand(n, 2, depth) : Range{Range::kMax, Range::kMax};
        r = {std::max(r.low, low.low), std::max(r.high, low.high)};
        return {std::min(r.low, high.low), std::min(r.high, high.high)};
      }
      case OpKind::Mod: {  // has the sign of the divisor; with fmod that of the dividend
        const Range divisor = operand(n, 1, depth);
        if (int_attr(m_, n, names::fmod).value_or(0) != 0 || divisor.low < 1) return kAll;
        return {0, below(divisor.high)};
      }
      case OpKind::Cast:
      case OpKind::CastLike: {  // a value that fits the type is not changed
        const Range r = operand(n, 0, depth);
        return fits(r, c_.infer.dtype(m_.input(n, 0)), c_.infer.dtype(m_.output(n, 0))) ? r : kAll;
      }
      case OpKind::ArgMax:
      case OpKind::ArgMin: return positions(n, names::axis, 0);
      case OpKind::TopK: return slot == 1 ? positions(n, names::axis, -1) : kAll;
      case OpKind::Range: {  // ascending from start, below limit
        const Range start = operand(n, 0, depth), limit = operand(n, 1, depth), step = operand(n, 2, depth);
        if (step.low < 1) return kAll;
        return {start.low, std::max(start.low, below(limit.high))};
      }
      default: return kAll;
    }
  }

  // Positions along an axis of the first operand.
  Range positions(NodeId n, NameId name, std::int64_t fallback) const {
    const ValueId x = m_.input(n, 0);
    const auto axis = normalize_axis(int_attr(m_, n, name).value_or(fallback), c_.infer.dims(x).size());
    const DimId extent = axis ? c_.infer.dims(x)[static_cast<std::size_t>(*axis)] : DimId{};
    return extent ? Range{0, std::max<std::int64_t>(0, m_.dims.range(extent).high - 1)} : kAll;
  }

  const MatchContext& c_;
  const Model& m_;
  int steps_ = 0;
};

}  // namespace

Range range_of(const MatchContext& c, ValueId v) { return Walk(c).of(v, 0); }

}  // namespace graphopt
