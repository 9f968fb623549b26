#include "ops/compose.h"

#include "ops/attributes.h"

namespace graphopt {

std::vector<std::int64_t> composed_perm(std::span<const std::int64_t> inner,
                                        std::span<const std::int64_t> outer) {
  std::vector<std::int64_t> both;
  both.reserve(outer.size());
  for (const std::int64_t axis : outer) both.push_back(inner[static_cast<std::size_t>(axis)]);
  return both;
}

std::optional<SliceParameters> single_slice(const Model& m, NodeId n) {
  if (m.opset(n) < 10) return std::nullopt;
  const auto only = [&](std::size_t slot) -> std::optional<std::int64_t> {
    const auto list = int_operand(m, n, slot);
    return list && list->size() == 1 ? std::optional(list->front()) : std::nullopt;
  };
  SliceParameters out;
  const auto start = only(1);
  if (!start || !only(2)) return std::nullopt;
  out.start = *start;
  if (m.input(n, 3)) {
    const auto axis = only(3);
    if (!axis) return std::nullopt;
    out.axis = *axis;
  }
  if (m.input(n, 4)) {
    const auto step = only(4);
    if (!step) return std::nullopt;
    out.step = *step;
  }
  return out;
}

namespace {

// What the numbers of a type are: integers from -2^negative to 2^positive - 1, or floats with so many bits of
// fraction, the hidden one among them, and so many bits of exponent.
struct Numbers {
  bool floating = false;
  int negative = -1, positive = 0;  // negative -1: none below 0
  int fraction = 0, exponent = 0;
};

std::optional<Numbers> numbers_of(DType type) {
  const auto floats = [](int fraction, int exponent) { return Numbers{true, -1, 0, fraction, exponent}; };
  switch (type) {
    case DType::Bool: return Numbers{false, -1, 1};
    case DType::Int8: return Numbers{false, 7, 7};
    case DType::Int16: return Numbers{false, 15, 15};
    case DType::Int32: return Numbers{false, 31, 31};
    case DType::Int64: return Numbers{false, 63, 63};
    case DType::UInt8: return Numbers{false, -1, 8};
    case DType::UInt16: return Numbers{false, -1, 16};
    case DType::UInt32: return Numbers{false, -1, 32};
    case DType::UInt64: return Numbers{false, -1, 64};
    case DType::Float16: return floats(11, 5);
    case DType::BFloat16: return floats(8, 8);
    case DType::Float: return floats(24, 8);
    case DType::Double: return floats(53, 11);
    default: return std::nullopt;  // strings, and the small floats, whose casts saturate by an attribute
  }
}

// Returns whether every number of a is one of b: a cast from a to b changes none, infinities and -0 included.
bool holds_all(const Numbers& a, const Numbers& b) {
  if (a.floating) return b.floating && b.fraction >= a.fraction && b.exponent >= a.exponent;
  if (!b.floating) return b.positive >= a.positive && b.negative >= a.negative;
  return b.fraction >= a.positive && b.fraction >= a.negative && b.exponent >= 5 &&
         // the largest finite number of a float with 5 bits of exponent is 65504
         (b.exponent > 5 || a.positive < 16);
}

}  // namespace

bool casts_compose(DType a, DType b, DType c) {
  const auto x = numbers_of(a), y = numbers_of(b), z = numbers_of(c);
  // To bool everything but 0 becomes true, so bool holds nothing but itself: 2 is no bool.
  if (!x || !y || !z || (b == DType::Bool && a != DType::Bool) || !holds_all(*x, *y)) return false;
  if (c == DType::Bool) return true;  // 0 stays 0, NaN stays NaN
  // Integers are cut to the low bits, which are those of the number; between floats each way rounds once,
  // from the same number.
  if (!z->floating) return !y->floating || (!x->floating && holds_all(*x, *z));
  return true;
}

}  // namespace graphopt
