// See padding.h.
#include "runner/padding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>

#include "buckets/single/dispatch_plan.h"

namespace graphopt::runner {
namespace {

// A float of 8 bits or less, from OCP's specifications of 8-bit floats and of microscaling formats, and
// onnx's page on float8 for the types without a negative zero.
struct SmallFloat {
  int exponent_bits, fraction_bits, bias;
  bool has_sign = true;
  enum class Specials {
    None,     // all codes are finite
    Ieee,     // the greatest exponent is that of infinities and NaN
    OneNan,   // all bits but the sign: NaN
    SignNan,  // the sign alone: NaN
  } specials = Specials::None;
};

std::optional<SmallFloat> small_float(DType type) {
  using S = SmallFloat::Specials;
  switch (type) {
    case DType::Float8E4M3FN: return SmallFloat{4, 3, 7, true, S::OneNan};
    case DType::Float8E4M3FNUZ: return SmallFloat{4, 3, 8, true, S::SignNan};
    case DType::Float8E5M2: return SmallFloat{5, 2, 15, true, S::Ieee};
    case DType::Float8E5M2FNUZ: return SmallFloat{5, 2, 16, true, S::SignNan};
    case DType::Float8E8M0: return SmallFloat{8, 0, 127, false, S::OneNan};
    case DType::Float6E2M3: return SmallFloat{2, 3, 1};
    case DType::Float6E3M2: return SmallFloat{3, 2, 3};
    case DType::Float4E2M1: return SmallFloat{2, 1, 1};
    default: return std::nullopt;
  }
}

// The number of a code; NaN for one.
double decoded(const SmallFloat& f, unsigned code) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const unsigned magnitude_bits = static_cast<unsigned>(f.exponent_bits + f.fraction_bits);
  const unsigned magnitude = code & ((1U << magnitude_bits) - 1);
  const double sign = (code >> magnitude_bits) != 0 ? -1 : 1;
  const int exponent = static_cast<int>(magnitude >> f.fraction_bits);
  const unsigned fraction = magnitude & ((1U << f.fraction_bits) - 1);
  const bool is_greatest_exponent = exponent == (1 << f.exponent_bits) - 1;
  switch (f.specials) {
    case SmallFloat::Specials::None: break;
    case SmallFloat::Specials::Ieee:
      if (is_greatest_exponent) return fraction != 0 ? kNan : sign * std::numeric_limits<double>::infinity();
      break;
    case SmallFloat::Specials::OneNan:
      if (magnitude == (1U << magnitude_bits) - 1) return kNan;
      break;
    case SmallFloat::Specials::SignNan:
      if (magnitude == 0 && sign < 0) return kNan;
      break;
  }
  if (!f.has_sign) return std::ldexp(1, exponent - f.bias);  // neither a zero nor a fraction
  const double one = std::ldexp(1, f.fraction_bits);
  return exponent == 0 ? sign * std::ldexp(fraction / one, 1 - f.bias)
                       : sign * std::ldexp(1 + fraction / one, exponent - f.bias);
}

// The code of the nearest number, of two the even one; none beyond the greatest finite ones.
std::optional<std::string> encoded(const SmallFloat& f, double number) {
  const unsigned codes = 1U << (f.exponent_bits + f.fraction_bits + (f.has_sign ? 1 : 0));
  const bool is_zero = number == 0;
  std::optional<unsigned> best;
  double least = std::numeric_limits<double>::infinity(), low = least, high = -least;
  for (unsigned code = 0; code < codes; ++code) {
    const double value = decoded(f, code);
    if (std::isnan(value)) continue;
    if (value == number && (!is_zero || std::signbit(value) == std::signbit(number)))
      return std::string(1, static_cast<char>(code));
    if (std::isinf(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
    const double far = std::fabs(value - number);
    if (far > least || (far == least && (code & 1U) != 0)) continue;
    least = far;
    best = code;
  }
  if (!best || !(number >= low && number <= high)) return std::nullopt;
  return std::string(1, static_cast<char>(*best));
}

std::optional<std::string> small_integer(DType type, double number) {
  const int bits = bits_of(type);
  const double count = std::ldexp(1, bits);
  const double low = is_signed_int(type) ? -count / 2 : 0;
  if (number != std::floor(number) || number < low || number >= low + count) return std::nullopt;
  const unsigned code = static_cast<unsigned>(static_cast<int>(number)) & ((1U << bits) - 1);
  return std::string(1, static_cast<char>(code));
}

// Elements below 8 bits as bytes, and back: the first one is in the lowest bits.
std::string unpacked(const std::string& raw, std::size_t elements, int bits) {
  std::string out(elements, '\0');
  const auto width = static_cast<std::size_t>(bits);
  for (std::size_t i = 0; i < elements; ++i) {
    const std::size_t at = i * width;
    unsigned window = static_cast<unsigned char>(raw[at / 8]);
    if (at % 8 + width > 8) window |= static_cast<unsigned>(static_cast<unsigned char>(raw[at / 8 + 1])) << 8;
    out[i] = static_cast<char>((window >> (at % 8)) & ((1U << bits) - 1));
  }
  return out;
}

std::string packed(const std::string& bytes, int bits) {
  const auto width = static_cast<std::size_t>(bits);
  std::string out((bytes.size() * width + 7) / 8, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t at = i * width;
    const unsigned window = static_cast<unsigned>(static_cast<unsigned char>(bytes[i])) << (at % 8);
    const auto put = [&](std::size_t byte, unsigned part) {
      out[byte] = static_cast<char>(static_cast<unsigned char>(out[byte]) | part);
    };
    put(at / 8, window & 0xFFU);
    if (at % 8 + width > 8) put(at / 8 + 1, window >> 8);
  }
  return out;
}

bool is_padded(const PaddedAxis& axis) { return axis.extent != axis.padded; }

// Returns none on overflow.
std::optional<std::uint64_t> count_of(const std::vector<std::int64_t>& dims) {
  std::uint64_t out = 1;
  bool has_zero = false, overflows = false;
  for (const std::int64_t d : dims) {
    if (d < 0) return std::nullopt;
    has_zero = has_zero || d == 0;
    overflows = overflows || __builtin_mul_overflow(out, static_cast<std::uint64_t>(d), &out);
  }
  if (has_zero) return 0;
  return overflows ? std::nullopt : std::optional(out);
}

enum class Direction : std::uint8_t { Pad, Cut };

// Calls copy(place in the source, place in the target, number of elements) for each block that lies together
// in both.
template <class Copy>
void for_each_block(const std::vector<PaddedAxis>& axes, Direction direction, const Copy& copy) {
  if (std::ranges::any_of(axes, [](const PaddedAxis& a) { return a.extent == 0; })) return;
  std::size_t last = 0;
  for (std::size_t a = 0; a < axes.size(); ++a)
    if (is_padded(axes[a])) last = a;
  std::size_t block = 1;
  for (std::size_t a = last + 1; a < axes.size(); ++a) block *= static_cast<std::size_t>(axes[a].extent);

  // A place in the axes before the last one: the piece, and how far in it.
  struct Position {
    std::size_t piece = 0;
    std::int64_t in = 0;
  };
  std::vector<Position> at(last);
  const auto advance = [&] {
    for (std::size_t a = last; a-- > 0;) {
      Position& p = at[a];
      if (++p.in < axes[a].pieces[p.piece].count) return true;
      p.in = 0;
      if (++p.piece < axes[a].pieces.size()) return true;
      p.piece = 0;
    }
    return false;
  };
  std::size_t inner_row = 0;  // rows of true elements follow each other
  do {
    std::size_t outer_row = 0;
    for (std::size_t a = 0; a < last; ++a)
      outer_row = outer_row * static_cast<std::size_t>(axes[a].padded) +
                  static_cast<std::size_t>(axes[a].pieces[at[a].piece].to + at[a].in);
    outer_row *= static_cast<std::size_t>(axes[last].padded);
    for (const Piece& p : axes[last].pieces) {
      const std::size_t inner = (inner_row + static_cast<std::size_t>(p.from)) * block;
      const std::size_t outer = (outer_row + static_cast<std::size_t>(p.to)) * block;
      const std::size_t n = static_cast<std::size_t>(p.count) * block;
      if (direction == Direction::Pad) copy(inner, outer, n);
      else copy(outer, inner, n);
    }
    inner_row += static_cast<std::size_t>(axes[last].extent);
  } while (advance());
}

std::string filled(std::size_t elements, const std::string& element) {
  if (std::ranges::all_of(element, [&](char c) { return c == element[0]; }))
    return std::string(elements * element.size(), element[0]);
  std::string out(elements * element.size(), '\0');
  for (std::size_t i = 0; i < out.size(); i += element.size())
    std::memcpy(out.data() + i, element.data(), element.size());
  return out;
}

std::string shape_text(const std::vector<std::int64_t>& dims) {
  std::string out;
  for (const std::int64_t d : dims) out += (out.empty() ? "" : ",") + std::to_string(d);
  return '[' + out + ']';
}

Error no_memory(const std::vector<std::int64_t>& dims) {
  return {ErrorKind::Limit,
          {},
          "there is no memory for a tensor of the shape " + shape_text(dims),
          "give a smaller request, or buckets of smaller sizes"};
}

Result<HostValue> moved(Direction direction, HostValue value, const std::vector<PaddedAxis>& axes,
                        const std::string& element) {
  std::vector<std::int64_t> inner, outer;
  for (const PaddedAxis& a : axes) {
    inner.push_back(a.extent);
    outer.push_back(a.padded);
  }
  const std::vector<std::int64_t>& source = direction == Direction::Pad ? inner : outer;
  const std::vector<std::int64_t>& target = direction == Direction::Pad ? outer : inner;
  const auto held = elements_of(value);
  if (!held || value.dims != source)
    return Error{ErrorKind::Usage,
                 {},
                 "its shape is " + shape_text(source) + " here, and the value has " + shape_text(value.dims) +
                     (held ? "" : " and other elements than that"),
                 "give a tensor of that shape"};
  if (std::ranges::none_of(axes, is_padded)) return value;
  const bool is_text = value.dtype == DType::String;
  const auto count = count_of(target);
  const auto bytes = count && !is_text ? raw_size(value.dtype, *count) : count;
  if (!bytes || *count > std::vector<std::string>().max_size() || *bytes > std::string().max_size())
    return no_memory(target);
  try {
    const int bits = bits_of(value.dtype);
    if (is_text) {
      std::vector<std::string> out(*count, direction == Direction::Pad ? element : std::string());
      for_each_block(axes, direction, [&](std::size_t from, std::size_t to, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) out[to + i] = std::move(value.strings[from + i]);
      });
      value.strings = std::move(out);
    } else {
      const bool is_packed = bits < 8;
      const std::size_t width = is_packed ? 1 : static_cast<std::size_t>(bits) / 8;
      if (is_packed) value.raw = unpacked(value.raw, *held, bits);
      std::string out =
          direction == Direction::Pad ? filled(*count, element) : std::string(*count * width, '\0');
      for_each_block(axes, direction, [&](std::size_t from, std::size_t to, std::size_t n) {
        std::memcpy(out.data() + to * width, value.raw.data() + from * width, n * width);
      });
      value.raw = is_packed ? packed(out, bits) : std::move(out);
    }
  } catch (const std::bad_alloc&) {
    return no_memory(target);
  } catch (const std::length_error&) {
    return no_memory(target);
  }
  value.dims = target;
  return value;
}

}  // namespace

std::optional<std::uint64_t> elements_of(const HostValue& value) {
  if (value.kind != HostValue::Kind::Tensor) return std::nullopt;
  const auto count = count_of(value.dims);
  if (!count) return std::nullopt;
  if (value.dtype == DType::String) return value.strings.size() == *count ? count : std::nullopt;
  const auto bytes = raw_size(value.dtype, *count);
  return bytes && *bytes == value.raw.size() ? count : std::nullopt;
}

std::optional<std::string> element_of(DType type, double number) {
  if (const auto format = small_float(type)) return encoded(*format, number);
  if (is_int(type) && bits_of(type) < 8) return small_integer(type, number);
  return pad_element(type, number);
}

Result<HostValue> pad_tensor(HostValue value, const std::vector<PaddedAxis>& axes,
                             const std::string& element) {
  return moved(Direction::Pad, std::move(value), axes, element);
}

Result<HostValue> cut_tensor(HostValue value, const std::vector<PaddedAxis>& axes) {
  return moved(Direction::Cut, std::move(value), axes, {});
}

}  // namespace graphopt::runner
