#include "lower/integer_ranges.h"

#include <algorithm>
#include <limits>

#include "ops/attributes.h"
#include "ops/constants.h"
#include "ops/integer_arithmetic.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

__extension__ typedef __int128 Int128;

constexpr std::int64_t kMostConstants = 1 << 22;  // elements of a constant that are looked at
constexpr Range kInt32{std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};

bool is_bounded(Range r) { return r.low > Range::kMin && r.high < Range::kMax; }
bool within(Range r, Range of) { return r.low >= of.low && r.high <= of.high; }
Range hull(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }
Range meet(Range a, Range b) { return {std::max(a.low, b.low), std::min(a.high, b.high)}; }

// No bound where it is beyond the ends of a Range.
Range clamped(Int128 low, Int128 high) {
  return {low <= Range::kMin ? Range::kMin : static_cast<std::int64_t>(low),
          high >= Range::kMax ? Range::kMax : static_cast<std::int64_t>(high)};
}

bool is_integer_or_bool(DType t) { return is_int(t) || t == DType::Bool; }

// Of the quotient towards zero.
Range quotient(Range a, Range b) {
  if (!is_bounded(a)) return kAnyNumber;
  if (b.low < 1) {  // no larger than the dividend
    const Int128 most = std::max(-Int128{a.low}, Int128{a.high});
    return clamped(-most, most);
  }
  return {a.low < 0 ? a.low / b.low : a.low / b.high, a.high < 0 ? a.high / b.high : a.high / b.low};
}

// The remainder is smaller than the divisor and has its sign, or that of the dividend for `fmod`.
Range remainder(Range a, Range b, bool fmod) {
  if (!is_bounded(b)) return kAnyNumber;
  const Int128 most = std::max<Int128>(std::max(-Int128{b.low}, Int128{b.high}) - 1, 0);
  const Range sign = fmod ? a : b;
  return clamped(sign.low < 0 ? -most : Int128{0}, sign.high > 0 ? most : Int128{0});
}

}  // namespace

bool IntegerRanges::fits_int32(Range r) { return within(r, kInt32); }

IntegerRanges::IntegerRanges(const Model& m, const Inference& infer)
    : m_(m), infer_(infer), ranges_(m.value_count(), kAnyNumber) {
  const GraphId g = m.main();
  for (const ValueId v : m.graph_inputs(g)) ranges_[v.index()] = measure(v, {});
  for (const ValueId v : m.graph(g).initializers)
    if (m.alive(v)) ranges_[v.index()] = measure(v, {});
  for (NodeId n = m.first_node(g); n; n = m.next_node(n))
    for (const ValueId v : m.outputs(n))
      if (v) ranges_[v.index()] = measure(v, n);
}

Range IntegerRanges::measure(ValueId v, NodeId def) const {
  const DType type = infer_.dtype(v);
  if (!is_integer_or_bool(type)) return kAnyNumber;
  const std::optional<Range> all = exact_integers(type);
  if (!all) return kAnyNumber;
  if (const TensorId t = m_.constant_of(v)) {
    const auto numbers = int_list(m_, t, kMostConstants);
    if (!numbers) return *all;
    if (numbers->empty()) return {0, 0};
    const auto [low, high] = std::ranges::minmax(*numbers);
    return clamped(low, high);
  }
  Range out = *all;
  // A rule's bounds are those of the runtime's result, and so within the type.
  if (def && attributes_known(m_, def)) out = meet(out, by_rule(def, m_.value(v).def_slot, type));
  if (const SymbolicTensor* t = infer_.symbolic(v)) {
    Range elements{Range::kMax, Range::kMin};
    for (const DimId d : t->elements) elements = hull(elements, d ? m_.dims.range(d) : *all);
    if (t->elements.empty()) return {0, 0};
    out = meet(out, elements);
  }
  return out;
}

std::int64_t IntegerRanges::longest_axis(ValueId v) const {
  if (!infer_.has_rank(v)) return Range::kMax;
  std::int64_t longest = 0;
  for (const DimId d : infer_.dims(v)) longest = std::max(longest, d ? m_.dims.range(d).high : Range::kMax);
  return longest;
}

bool IntegerRanges::never_empty(ValueId v) const {
  return infer_.has_rank(v) &&
         std::ranges::all_of(infer_.dims(v), [this](DimId d) { return d && m_.dims.range(d).low >= 1; });
}

std::optional<std::vector<Range>> IntegerRanges::elements(ValueId v) const {
  const SymbolicTensor* t = infer_.symbolic(v);
  if (t == nullptr) return std::nullopt;
  std::vector<Range> out;
  for (const DimId d : t->elements) out.push_back(d ? m_.dims.range(d) : kAnyNumber);
  return out;
}

Range IntegerRanges::by_rule(NodeId n, std::size_t slot, DType type) const {
  const OpKind kind = m_.kind(n);
  const Range a = of(m_.input(n, 0));
  const auto positions = [&](std::int64_t extent) {
    return extent < Range::kMax ? Range{0, std::max<std::int64_t>(extent - 1, 0)} : kAnyNumber;
  };
  if (kind == OpKind::ArgMax || kind == OpKind::ArgMin || (kind == OpKind::TopK && slot == 1))
    return positions(longest_axis(m_.input(n, 0)));
  const IntegerSlots* slots = integer_slots(kind);
  if (slots == nullptr) return kAnyNumber;
  switch (slots->rule) {
    case IntegerRule::Moves: {
      std::optional<Range> out;
      for (std::size_t i = 0; i < m_.input_count(n); ++i)
        if (slots->data(i) && m_.input(n, i)) out = out ? hull(*out, of(m_.input(n, i))) : of(m_.input(n, i));
      return out.value_or(kAnyNumber);
    }
    case IntegerRule::Arithmetic: return arithmetic(n, type);
    case IntegerRule::Extremes: return extremes(n, type);
    case IntegerRule::Cast: {
      const std::optional<Range> all = exact_integers(type);
      return is_integer_or_bool(infer_.dtype(m_.input(n, 0))) && all && within(a, *all) ? a : kAnyNumber;
    }
    case IntegerRule::Range: {
      // Elements are between the start and the limit, which is none of them.
      const Range limit = of(m_.input(n, 1));
      if (!fits_int32(a) || !fits_int32(limit) || !fits_int32(m_.input(n, 2))) return kAnyNumber;
      return {std::min(a.low, limit.low + 1), std::max(a.high, limit.high - 1)};
    }
    case IntegerRule::Sums: {
      const std::int64_t count = longest_axis(m_.input(n, 0));
      const std::optional<Range> all = exact_integers(type);
      if (count == Range::kMax || !is_bounded(a) || !all) return kAnyNumber;
      const Range sum =
          clamped(std::min<Int128>(Int128{a.low} * count, 0), std::max<Int128>(Int128{a.high} * count, 0));
      return is_bounded(sum) && within(sum, *all) ? sum : kAnyNumber;
    }
    case IntegerRule::Reduces:
      // Of nothing the result is the end of the type; numbers beyond int32 may be ordered wrongly.
      if (kind != OpKind::ReduceMax && kind != OpKind::ReduceMin) return kAnyNumber;
      return fits_int32(a) && never_empty(m_.input(n, 0)) ? a : kAnyNumber;
    case IntegerRule::Fill: {
      const TensorId t = tensor_attr(m_, n, names::value);
      const auto number = t ? int_scalar(m_, t) : std::nullopt;
      return number ? clamped(*number, *number) : kAnyNumber;
    }
    case IntegerRule::Reads: return positions(longest_axis(m_.input(n, 0)));
    case IntegerRule::Compares: break;
  }
  return kAnyNumber;
}

Range IntegerRanges::arithmetic(NodeId n, DType type) const {
  const OpKind kind = m_.kind(n);
  const Range a = of(m_.input(n, 0));
  const Range b = m_.input_count(n) > 1 ? of(m_.input(n, 1)) : Range{0, 0};
  const bool fmod = kind == OpKind::Mod && int_attr(m_, n, names::fmod).value_or(0) != 0;
  if (!is_exact(kind, type, a, b, kAnyNumber, fmod)) return kAnyNumber;
  if (kind == OpKind::Mod) return remainder(a, b, fmod);
  if (!is_bounded(a) || !is_bounded(b)) return kAnyNumber;
  const Int128 low = a.low, high = a.high;
  switch (kind) {
    case OpKind::Add: return clamped(low + b.low, high + b.high);
    case OpKind::Sub: return clamped(low - b.high, high - b.low);
    case OpKind::Mul: {
      const auto [least, greatest] = std::minmax({low * b.low, low * b.high, high * b.low, high * b.high});
      return clamped(least, greatest);
    }
    case OpKind::Div: return quotient(a, b);
    case OpKind::Neg: return clamped(-high, -low);
    case OpKind::Abs: return clamped(low > 0 ? low : (high < 0 ? -high : Int128{0}), std::max(-low, high));
    default: return kAnyNumber;
  }
}

Range IntegerRanges::extremes(NodeId n, DType type) const {
  const OpKind kind = m_.kind(n);
  std::optional<Range> out;
  for (std::size_t i = 0; i < m_.input_count(n); ++i) {
    if (!m_.input(n, i)) continue;
    const Range r = of(m_.input(n, i));
    if (!out) {
      out = r;
      continue;
    }
    // Clip is the lesser of its upper bound and the greater of the others.
    const bool least = kind == OpKind::Min || (kind == OpKind::Clip && i == 2);
    if (!is_exact(least ? OpKind::Min : OpKind::Max, type, *out, r, kAnyNumber)) return kAnyNumber;
    if (least) out = Range{std::min(out->low, r.low), std::min(out->high, r.high)};
    else out = Range{std::max(out->low, r.low), std::max(out->high, r.high)};
  }
  return out.value_or(kAnyNumber);
}

bool IntegerRanges::computes_alike(NodeId n) const {
  const OpKind kind = m_.kind(n);
  const IntegerSlots* slots = integer_slots(kind);
  if (slots == nullptr || !attributes_known(m_, n)) return false;
  switch (slots->rule) {
    case IntegerRule::Arithmetic: {
      const Range b = m_.input_count(n) > 1 ? of(m_.input(n, 1)) : Range{0, 0};
      const bool fmod = kind == OpKind::Mod && int_attr(m_, n, names::fmod).value_or(0) != 0;
      return is_exact(kind, DType::Int32, of(m_.input(n, 0)), b, kAnyNumber, fmod);
    }
    case IntegerRule::Range: {
      // The runtime computes the difference, and one element behind the last, in the type. The last one is
      // before the limit.
      const Range start = of(m_.input(n, 0)), limit = of(m_.input(n, 1)), step = of(m_.input(n, 2));
      if (!fits_int32(start) || !fits_int32(limit) || !fits_int32(step)) return false;
      return fits_int32({limit.low - start.high, limit.high - start.low}) &&
             (step.high <= 0 || limit.high - 1 + step.high <= kInt32.high) &&
             (step.low >= 0 || limit.low + 1 + step.low >= kInt32.low);
    }
    case IntegerRule::Sums: return fits_int32(by_rule(n, 0, DType::Int32));
    case IntegerRule::Reduces: {
      if (kind == OpKind::ReduceMax || kind == OpKind::ReduceMin) return never_empty(m_.input(n, 0));
      const auto all = elements(m_.input(n, 0));
      return all && is_exact_reduction(kind, DType::Int32, *all, kAnyNumber) &&
             is_exact_reduction(kind, DType::Int64, *all, kAnyNumber);
    }
    default: return true;
  }
}

}  // namespace graphopt
