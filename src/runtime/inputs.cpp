// Draws values as planned. Every input has its own random stream, so its values do not depend on the other
// inputs.
#include "runtime/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "runtime/input_plan.h"
#include "runtime/random.h"
#include "support/checked.h"
#include "support/half.h"
#include "support/nearest.h"

namespace graphopt {
namespace {

constexpr std::int64_t kSequenceLength = 3;

// --- bindings ----------------------------------------------------------------------------------------------

// One attempt: a size per class of symbols, and a step by which further symbols of a class differ from the
// first.
struct Attempt {
  std::array<std::int64_t, kSymbolClasses> sizes;  // Batch Past Sequence Picture Feature Audio General Rank
  std::array<std::int64_t, kSymbolClasses> steps;
};

constexpr std::array<std::int64_t, kSymbolClasses> kSame{};
constexpr Attempt kAttempts[] = {
    {{2, 8, 16, 64, 16, 4000, 4, 2}, kSame},  // accepted by most models
    {{3, 5, 7, 96, 24, 6400, 5, 2},
     {1, 1, 1, 32, 8, 800, 1, 0}},          // no two equal: finds errors that equal sizes hide
    {{1, 1, 1, 32, 8, 1600, 1, 2}, kSame},  // 1 broadcasts
    {{3, 5, 7, 96, 24, 6400, 5, 2}, kSame},
    {{1, 4, 12, 128, 32, 8000, 3, 3}, kSame},
    {{4, 4, 4, 64, 16, 4000, 4, 1}, kSame},  // one size for all that may have to agree
    {{1, 8, 8, 224, 32, 16000, 8, 4}, kSame},
    {{1, 1, 16, 256, 64, 32000, 16, 0}, kSame},
    {{1, 16, 32, 320, 8, 16000, 32, 2}, kSame},
    {{8, 8, 64, 512, 128, 48000, 64, 3}, kSame},
    {{2, 2, 2, 2, 2, 2, 2, 2}, kSame},
    {{1, 1, 128, 128, 4, 100, 128, 5}, kSame},
    {{3, 3, 3, 3, 3, 3, 3, 1}, kSame},
};

// --- elements ----------------------------------------------------------------------------------------------

template <class T> void append(std::string& raw, T v) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &v, sizeof(T));
  raw.append(bytes, sizeof(T));
}

template <class T> void append_int(std::string& raw, std::int64_t v) { append(raw, static_cast<T>(v)); }

void append_number(std::string& raw, DType t, double v) {
  switch (t) {
    case DType::Float: return append(raw, static_cast<float>(v));
    case DType::Double: return append(raw, v);
    case DType::Float16: return append(raw, double_to_half(v));
    case DType::BFloat16: return append(raw, float_to_bfloat16(static_cast<float>(v)));
    case DType::Complex64: append(raw, static_cast<float>(v)); return append(raw, static_cast<float>(-v / 2));
    case DType::Complex128: append(raw, v); return append(raw, -v / 2);
    default: return;
  }
}

void append_integer(std::string& raw, DType t, std::int64_t v) {
  switch (t) {
    case DType::Bool: return append(raw, static_cast<std::uint8_t>(v != 0));
    case DType::Int8: return append_int<std::int8_t>(raw, v);
    case DType::UInt8: return append_int<std::uint8_t>(raw, v);
    case DType::Int16: return append_int<std::int16_t>(raw, v);
    case DType::UInt16: return append_int<std::uint16_t>(raw, v);
    case DType::Int32: return append_int<std::int32_t>(raw, v);
    case DType::UInt32: return append_int<std::uint32_t>(raw, v);
    case DType::Int64: return append_int<std::int64_t>(raw, v);
    case DType::UInt64: return append_int<std::uint64_t>(raw, v);
    default: return append_number(raw, t, static_cast<double>(v));
  }
}

bool whole_bytes(DType t) {
  switch (t) {
    case DType::Float:
    case DType::Double:
    case DType::Float16:
    case DType::BFloat16:
    case DType::Complex64:
    case DType::Complex128:
    case DType::Bool: return true;
    default: return is_int(t) && bits_of(t) >= 8;
  }
}

// Finite but awkward values, then extreme ones.
constexpr double kAwkward[] = {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1e-30, -1e-30};
constexpr double kExtreme[] = {1e4, -1e4, std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()};

// Selects the special elements of a tensor. Awkward values occur repeatedly; extreme ones once per tensor,
// since a NaN spreads. Every value occurs where there are enough elements, whatever the random bits.
class Specials {
 public:
  Specials(std::size_t n, std::uint64_t bits, bool extremes)
      : kinds_(std::size(kAwkward) + (extremes ? std::size(kExtreme) : 0)),
        spacing_(std::clamp<std::size_t>(n / kinds_, 2, 5)),
        first_(bits % spacing_),
        turn_((bits >> 8) % kinds_) {}

  const double* at(std::size_t i) const {
    if (i % spacing_ != first_) return nullptr;
    const std::size_t k = i / spacing_ + turn_, which = k % kinds_;
    if (which < std::size(kAwkward)) return &kAwkward[which];
    return i / spacing_ < kinds_ ? &kExtreme[which - std::size(kAwkward)] : nullptr;
  }

 private:
  std::size_t kinds_, spacing_, first_, turn_;
};

constexpr std::string_view kWords[] = {"a", "b", "the quick fox", "", "Z", "42", "gr\xC3\xBC\xC3\x9F"};
constexpr std::string_view kNumerals[] = {"1", "-3", "2.5", "0", "1e2", "7"};

class Drawer {
 public:
  Drawer(const InputPlan::State& plan, const Binding& binding, InputStyle style, const GivenInputs& given,
         std::uint64_t max_bytes)
      : plan_(plan), given_(given), style_(style), left_(max_bytes) {
    for (const PlannedSymbol& s : plan.symbols)
      for (const DimBinding& b : binding)
        if (b.symbol == s.name) bound_.push_back({s.id, b.value});
  }

  std::optional<std::vector<NamedValue>> draw() {
    std::vector<NamedValue> out;
    std::size_t conditions = 0;
    for (const PlannedInput& input : plan_.inputs) {
      if (const auto own = std::ranges::find(given_, input.name, &NamedValue::name); own != given_.end()) {
        out.push_back(*own);
        continue;
      }
      if (input.has_default && !style_.feed_defaults) continue;
      RandomStream random(input.name, style_.seed);
      turn_ = style_.turn +
              (input.tensor.uses.meaning == Meaning::Condition ? conditions_shift(conditions++) : 0);
      NamedValue made{input.name, {}};
      if (!(input.has_default && input.fallback.kind == HostValue::Kind::Tensor
                ? change(input.fallback, input.tensor, random, made.value)
                : draw_input(input, random, made.value)))
        return std::nullopt;
      out.push_back(std::move(made));
    }
    return out;
  }

 private:
  // On the first two turns all conditions are equal (all true, all false), then each is drawn.
  std::size_t conditions_shift(std::size_t i) const { return style_.turn < 2 ? 0 : (style_.turn >> 1) * i; }

  bool draw_input(const PlannedInput& input, RandomStream& random, HostValue& out) {
    if (input.kind == TypeKind::Tensor) return draw_tensor(input.tensor, random, out);
    if (input.kind == TypeKind::Sequence) {
      out.kind = HostValue::Kind::Sequence;
      for (std::int64_t i = 0; i < kSequenceLength; ++i)
        if (!draw_tensor(input.tensor, random, out.items.emplace_back())) return false;
      return true;
    }
    return draw_map(input, random, out);
  }

  bool draw_map(const PlannedInput& input, RandomStream& random, HostValue& out) {
    const std::int64_t size = 2;
    out.kind = HostValue::Kind::Map;
    HostValue keys{.kind = HostValue::Kind::Tensor,
                   .dtype = input.key,
                   .dims = {size},
                   .raw = {},
                   .strings = {},
                   .items = {}};
    for (std::int64_t i = 0; i < size; ++i) {
      if (input.key == DType::String) keys.strings.emplace_back(kWords[static_cast<std::size_t>(i)]);
      else append_integer(keys.raw, input.key, i);
    }
    PlannedTensor values = input.tensor;
    values.rank = {};
    values.dims.clear();
    HostValue drawn{.kind = HostValue::Kind::Tensor,
                    .dtype = values.dtype,
                    .dims = {size},
                    .raw = {},
                    .strings = {},
                    .items = {}};
    if (!fill(values, random, drawn)) return false;
    out.items = {std::move(keys), std::move(drawn)};
    return true;
  }

  std::optional<std::int64_t> evaluate(DimId d) const {
    return d ? plan_.dims.evaluate(d, bound_) : std::nullopt;
  }

  bool draw_tensor(const PlannedTensor& t, RandomStream& random, HostValue& out) {
    out.kind = HostValue::Kind::Tensor;
    out.dtype = t.dtype;
    if (t.rank) {
      const auto rank = evaluate(t.rank);
      if (!rank) return false;
      // A different size per axis, so that confusing two axes is detected.
      for (std::int64_t axis = 0; axis < *rank; ++axis) out.dims.push_back(2 + axis);
    }
    for (const DimId d : t.dims) {
      const auto extent = evaluate(d);
      if (!extent || *extent < 0) return false;
      out.dims.push_back(*extent);
    }
    return fill(t, random, out);
  }

  bool fill(const PlannedTensor& t, RandomStream& random, HostValue& out) {
    std::optional<std::int64_t> n = 1;
    for (const std::int64_t extent : out.dims) n = checked_mul(n, std::optional(extent));
    if (!n) return false;
    const auto bytes = t.dtype == DType::String
                           ? checked_mul(*n, std::int64_t{32})
                           : checked_mul(*n, std::int64_t{std::max(1, bits_of(t.dtype) / 8)});
    if (!bytes || static_cast<std::uint64_t>(*bytes) > left_) return false;
    left_ -= static_cast<std::uint64_t>(*bytes);

    const auto count = static_cast<std::size_t>(*n);
    if (t.dtype == DType::String) {
      for (std::size_t i = 0; i < count; ++i) out.strings.push_back(text(t, random));
      return true;
    }
    if (!whole_bytes(t.dtype)) {
      const auto packed = raw_size(t.dtype, count);
      if (!packed) return false;
      // Small floats encode NaNs and infinities in the largest exponents: the exponent's highest bit stays 0.
      const bool small_float = is_float(t.dtype);
      for (std::uint64_t i = 0; i < *packed; ++i)
        append(out.raw, static_cast<std::uint8_t>(random.bits() & (small_float ? 0x33 : 0xFF)));
      return true;
    }
    out.raw.reserve(static_cast<std::size_t>(*bytes));
    switch (t.fill) {
      case Fill::Mask: masks(t, random, out, count); break;
      case Fill::Positions: positions(t, out, count); break;
      case Fill::Lengths:
        for (std::size_t i = 0; i < count; ++i) append_integer(out.raw, t.dtype, random.between(1, 5));
        break;
      case Fill::Keys:
        for (std::size_t i = 0; i < count; ++i)
          append_integer(out.raw, t.dtype, t.uses.keys[random.bits() % t.uses.keys.size()]);
        break;
      case Fill::ByMeaning: by_meaning(t, random, out, count); break;
      default: numbers(t, random, out, count); break;
    }
    return true;
  }

  std::string text(const PlannedTensor& t, RandomStream& random) const {
    const std::uint64_t b = random.bits();
    if (t.fill == Fill::Texts) return t.uses.texts[b % t.uses.texts.size()];
    if (t.fill == Fill::ByMeaning) return std::string(kNumerals[b % std::size(kNumerals)]);
    return std::string(kWords[b % std::size(kWords)]);
  }

  void numbers(const PlannedTensor& t, RandomStream& random, HostValue& out, std::size_t n) const {
    const bool small = bits_of(t.dtype) == 8 && t.dtype != DType::Bool;
    const double lean = turn_ % 2 == 0 ? 0.25 : -0.25;
    const std::int64_t low = style_.special ? -4 : 0, high = style_.special ? 5 : 3;
    const Specials specials(n, style_.special ? random.bits() : 0, plan_.takes_specials);
    for (std::size_t i = 0; i < n; ++i) {
      if (t.dtype == DType::Bool)
        append_integer(out.raw, t.dtype, static_cast<std::int64_t>(random.bits() >> 63));
      else if (small) append_integer(out.raw, t.dtype, static_cast<std::int64_t>(random.bits() & 0xFF));
      else if (is_signed_int(t.dtype)) append_integer(out.raw, t.dtype, random.between(low, high));
      else if (is_unsigned_int(t.dtype)) append_integer(out.raw, t.dtype, random.between(0, high));
      else if (const double* special = style_.special ? specials.at(i) : nullptr)
        append_number(out.raw, t.dtype, *special);
      else append_number(out.raw, t.dtype, random.normal() + lean);
    }
  }

  // 1 for a prefix of each row of the last axis; the first row is full, no row is empty.
  void masks(const PlannedTensor& t, RandomStream& random, HostValue& out, std::size_t n) const {
    const std::size_t row = out.dims.empty() ? 1 : static_cast<std::size_t>(out.dims.back());
    std::size_t length = row;
    for (std::size_t i = 0; i < n; ++i) {
      if (i > 0 && i % row == 0)
        length = static_cast<std::size_t>(random.between(1, static_cast<std::int64_t>(row) + 1));
      append_integer(out.raw, t.dtype, i % row < length ? 1 : 0);
    }
  }

  void positions(const PlannedTensor& t, HostValue& out, std::size_t n) const {
    const auto [low, high] = limits(t.uses);
    const std::size_t row = out.dims.empty() ? 1 : static_cast<std::size_t>(out.dims.back());
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t at = low + static_cast<std::int64_t>(i % row);
      append_integer(out.raw, t.dtype,
                     t.uses.bounds.empty() ? at : std::clamp(at, low, std::max(low, high - 1)));
    }
  }

  // Returns [low, high) as all bounds allow; [low, low + 1) where they are unknown or contradict each other.
  std::pair<std::int64_t, std::int64_t> limits(const InputUses& uses) const {
    std::int64_t low = 0, high = std::numeric_limits<std::int64_t>::max();
    for (const IndexBound& b : uses.bounds) {
      const auto limit = evaluate(b.limit);
      low = std::max(low, checked_ceil_div(-b.low, b.scale).value_or(0));
      high = limit ? std::min(high, checked_floor_div(
                                        std::max<std::int64_t>(*limit, 0) / b.share - 1 - b.high, b.scale)
                                            .value_or(0) +
                                        1)
                   : std::min(high, low + 1);
    }
    if (uses.bounds.empty()) high = 2;
    return {low, std::max(high, low + 1)};
  }

  void by_meaning(const PlannedTensor& t, RandomStream& random, HostValue& out, std::size_t n) const {
    const auto [low, high] = limits(t.uses);
    const bool from_end = style_.special && is_signed_int(t.dtype) && !t.uses.bounds.empty() &&
                          std::ranges::all_of(t.uses.bounds, &IndexBound::may_be_negative);
    for (std::size_t i = 0; i < n; ++i) {
      switch (t.uses.meaning) {
        case Meaning::Index:
          append_integer(out.raw, t.dtype, random.between(from_end ? -high : low, high));
          break;
        case Meaning::Length:
          append_integer(out.raw, t.dtype, i == 0 ? high : random.between(1, high + 1));
          break;
        case Meaning::Condition: append_integer(out.raw, t.dtype, (turn_ + i) % 2 == 0 ? 1 : 0); break;
        case Meaning::Divisor:
          append_number_or_integer(out.raw, t.dtype, random.unit() + 0.5, random.between(1, 6));
          break;
        case Meaning::Small: append_integer(out.raw, t.dtype, random.between(1, 4)); break;
        case Meaning::AxisZero: append_integer(out.raw, t.dtype, 0); break;
        case Meaning::AxisList: append_integer(out.raw, t.dtype, static_cast<std::int64_t>(i)); break;
        case Meaning::Parts: append_integer(out.raw, t.dtype, part(t.uses.dims, i, n)); break;
        case Meaning::ScaleFactors: append_integer(out.raw, t.dtype, i < 2 ? 1 : 2); break;
        case Meaning::Dims: append_integer(out.raw, t.dtype, fitting_dim(t.uses.dims, i, n)); break;
        case Meaning::Positive:
          append_number_or_integer(out.raw, t.dtype, random.unit() * 1.9 + 0.1, random.between(1, 4));
          break;
        case Meaning::Inside: append_number_or_integer(out.raw, t.dtype, random.unit() * 1.8 - 0.9, 0); break;
        case Meaning::Probability:
          append_number_or_integer(out.raw, t.dtype, random.unit(), random.between(0, 2));
          break;
        case Meaning::Data:
        case Meaning::NumericText: append_integer(out.raw, t.dtype, 0); break;
      }
    }
  }

  static void append_number_or_integer(std::string& raw, DType t, double number, std::int64_t integer) {
    if (is_float(t)) append_number(raw, t, number);
    else append_integer(raw, t, integer);
  }

  // Returns element i of a shape of n elements for data with these dims: the dims themselves when there are
  // as many; else all elements on the last axis.
  std::int64_t fitting_dim(const std::vector<DimId>& dims, std::size_t i, std::size_t n) const {
    if (n == dims.size()) return evaluate(dims[i]).value_or(1);
    if (i + 1 < n) return 1;
    std::optional<std::int64_t> all = 1;
    for (const DimId d : dims) all = checked_mul(all, evaluate(d));
    return all.value_or(1);
  }

  // Returns part i of n of the one dim in `dims`: equal parts, the remainder in the last.
  std::int64_t part(const std::vector<DimId>& dims, std::size_t i, std::size_t n) const {
    const std::int64_t whole = dims.empty() ? 1 : evaluate(dims.front()).value_or(1);
    const auto parts = static_cast<std::int64_t>(n);
    return i + 1 < n ? whole / parts : whole - (parts - 1) * (whole / parts);
  }

  // Varies a default such that it stays legal: floats are scaled and shifted but keep their sign, indices are
  // drawn anew, other integers stay.
  bool change(const HostValue& fallback, const PlannedTensor& t, RandomStream& random, HostValue& out) {
    const bool indices = t.uses.meaning == Meaning::Index || t.uses.meaning == Meaning::Condition;
    out = fallback;
    const bool floats = t.dtype == DType::Float || t.dtype == DType::Double;
    if (indices && t.dtype == fallback.dtype) {
      out.raw.clear();
      return fill(t, random, out);
    }
    if (!floats || t.dtype != fallback.dtype) return true;
    out.raw.clear();
    const std::size_t width = t.dtype == DType::Float ? 4 : 8;
    for (std::size_t at = 0; at + width <= fallback.raw.size(); at += width) {
      double v = 0;
      if (width == 8) std::memcpy(&v, fallback.raw.data() + at, 8);
      else {
        float f = 0;
        std::memcpy(&f, fallback.raw.data() + at, 4);
        v = f;
      }
      append_number(out.raw, t.dtype, v * 1.25 + (std::signbit(v) ? -0.125 : 0.125));
    }
    return true;
  }

  const InputPlan::State& plan_;
  const GivenInputs& given_;
  InputStyle style_;
  std::uint64_t left_;
  std::vector<DimPool::Binding> bound_;
  std::size_t turn_ = 0;
};

}  // namespace

std::string to_string(const Binding& b) {
  std::string out;
  for (const DimBinding& d : b) out += fmt::format("{}{}={}", out.empty() ? "" : " ", d.symbol, d.value);
  return out;
}

bool has_defaults(const InputPlan& plan) {
  return std::ranges::any_of(plan.state().inputs, &PlannedInput::has_default);
}

DType coarsest_float(const InputPlan& plan) { return plan.state().coarsest_float; }

bool output_rounds_at_one(const InputPlan& plan, std::size_t index) {
  return index < plan.state().rounds_at_one.size() && plan.state().rounds_at_one[index];
}

std::vector<Binding> candidate_bindings(const InputPlan& plan) {
  std::vector<Binding> out;
  for (const Attempt& attempt : kAttempts) {
    std::array<std::int64_t, kSymbolClasses> met{};
    Binding binding;
    for (const PlannedSymbol& s : plan.state().symbols) {
      const auto c = static_cast<std::size_t>(s.cls);
      const std::int64_t size = attempt.sizes[c] + attempt.steps[c] * met[c]++;
      binding.push_back({s.name, std::clamp(size, s.range.low, std::max(s.range.low, s.range.high))});
    }
    const auto same = [&](const Binding& other) { return to_string(other) == to_string(binding); };
    if (std::ranges::none_of(out, same)) out.push_back(std::move(binding));
  }
  return out;
}

Status fits(const InputPlan& plan, const GivenInputs& given) {
  const auto wrong = [](std::string what, std::string remedy) {
    return Error{ErrorKind::Usage, {}, "--check-input: " + std::move(what), std::move(remedy)};
  };
  for (const NamedValue& value : given) {
    const auto input = std::ranges::find(plan.state().inputs, value.name, &PlannedInput::name);
    if (input == plan.state().inputs.end()) {
      std::vector<std::string> names;
      for (const PlannedInput& known : plan.state().inputs) names.push_back(known.name);
      return wrong(fmt::format("the model has no input '{}'", value.name),
                   suggest(value.name, names, "inputs"));
    }
    if (std::ranges::find(given, value.name, &NamedValue::name) != given.begin() + (&value - given.data()))
      return wrong(fmt::format("input '{}' is given twice", value.name), "give each input once");
    const PlannedTensor& t = input->tensor;
    if (input->kind != TypeKind::Tensor)
      return wrong(fmt::format("input '{}' is no tensor, and a file holds tensors alone", value.name),
                   "leave it out: it is drawn");
    if (value.value.dtype != t.dtype)
      return wrong(fmt::format("input '{}' takes {}, and the file holds {}", value.name, dtype_name(t.dtype),
                               dtype_name(value.value.dtype)),
                   "convert the array with astype before it is saved");
    const std::vector<std::int64_t>& dims = value.value.dims;
    bool same = t.rank || dims.size() == t.dims.size();
    for (std::size_t i = 0; same && i < t.dims.size(); ++i) {
      const auto extent = t.dims[i] ? plan.state().dims.evaluate(t.dims[i], {}) : std::nullopt;
      same = !extent || *extent == dims[i];
    }
    if (same) continue;
    std::string wanted, found;
    for (const DimId d : t.dims) wanted += (wanted.empty() ? "" : ",") + plan.state().dims.print(d);
    for (const std::int64_t d : dims) found += (found.empty() ? "" : ",") + std::to_string(d);
    return wrong(fmt::format("input '{}' takes [{}], and the file holds [{}]", value.name, wanted, found),
                 "give an array of a shape that the input takes");
  }
  return Done{};
}

Binding bound_by(const InputPlan& plan, const GivenInputs& given, Binding binding) {
  for (const NamedValue& value : given) {
    const auto input = std::ranges::find(plan.state().inputs, value.name, &PlannedInput::name);
    if (input == plan.state().inputs.end()) continue;
    const std::vector<DimId>& dims = input->tensor.dims;
    for (std::size_t i = 0; i < dims.size() && i < value.value.dims.size(); ++i)
      for (const PlannedSymbol& s : plan.state().symbols)
        for (DimBinding& b : binding)
          if (s.id == dims[i] && b.symbol == s.name) b.value = value.value.dims[i];
  }
  return binding;
}

std::optional<std::vector<NamedValue>> make_inputs(const InputPlan& plan, const Binding& binding,
                                                   InputStyle style, const GivenInputs& given,
                                                   std::uint64_t max_bytes) {
  return Drawer(plan.state(), binding, style, given, max_bytes).draw();
}

}  // namespace graphopt
