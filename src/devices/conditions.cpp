// See conditions.h.
#include "devices/conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/constants.h"
#include "ops/node_facts.h"
#include "support/half.h"

namespace graphopt {
namespace {

// Returns the number that the type has for x.
double as_written(DType type, double x) {
  constexpr double kMostFloat = std::numeric_limits<float>::max();
  const auto to_float = [](double d) {
    if (std::fabs(d) > kMostFloat) return static_cast<float>(std::copysign(HUGE_VAL, d));
    return static_cast<float>(d);
  };
  switch (type) {
    case DType::Float: return static_cast<double>(to_float(x));
    case DType::Float16: return static_cast<double>(half_to_float(double_to_half(x)));
    case DType::BFloat16: return static_cast<double>(bfloat16_to_float(float_to_bfloat16(to_float(x))));
    default: return x;
  }
}

double real_of(const ProfileNumber& n) {
  return std::visit([](auto v) { return static_cast<double>(v); }, n);
}

// Exact: 2^53 + 1 as an int64 is above 2^53 as a double.
bool at_most(std::int64_t i, const ProfileNumber& n) {
  if (const auto* bound = std::get_if<std::int64_t>(&n)) return i <= *bound;
  const double d = std::floor(std::get<double>(n));
  if (d >= 0x1p63) return true;
  return d >= -0x1p63 && i <= static_cast<std::int64_t>(d);
}
bool at_least(std::int64_t i, const ProfileNumber& n) {
  if (const auto* bound = std::get_if<std::int64_t>(&n)) return i >= *bound;
  const double d = std::ceil(std::get<double>(n));
  if (d < -0x1p63) return true;
  return d < 0x1p63 && i >= static_cast<std::int64_t>(d);
}

bool is_choice(const ProfileScalar& choice, std::int64_t i) {
  if (const auto* n = std::get_if<std::int64_t>(&choice)) return *n == i;
  const auto* d = std::get_if<double>(&choice);
  return d != nullptr && at_most(i, *d) && at_least(i, *d);
}
bool is_choice(const ProfileScalar& choice, double x, DType type) {
  if (const auto* n = std::get_if<std::int64_t>(&choice))
    return as_written(type, static_cast<double>(*n)) == x;
  const auto* d = std::get_if<double>(&choice);
  return d != nullptr && as_written(type, *d) == x;
}

bool meets_int(const ValueCondition& c, std::int64_t i) {
  const auto same = [i](const ProfileScalar& choice) { return is_choice(choice, i); };
  return (c.choices.empty() || std::ranges::any_of(c.choices, same)) && (!c.low || at_least(i, *c.low)) &&
         (!c.high || at_most(i, *c.high));
}

bool meets_real(const ValueCondition& c, double x, DType type) {
  const auto same = [&](const ProfileScalar& choice) { return is_choice(choice, x, type); };
  return (c.choices.empty() || std::ranges::any_of(c.choices, same)) &&
         (!c.low || x >= as_written(type, real_of(*c.low))) &&
         (!c.high || x <= as_written(type, real_of(*c.high)));
}

bool meets_text(const ValueCondition& c, std::string_view text) {
  const auto same = [text](const ProfileScalar& choice) {
    const auto* t = std::get_if<std::string>(&choice);
    return t != nullptr && *t == text;
  };
  return !c.low && !c.high && (c.choices.empty() || std::ranges::any_of(c.choices, same));
}

Elements of_ints(std::vector<std::int64_t> ints) {
  Elements e;
  e.ints = std::move(ints);
  return e;
}
Elements of_reals(std::vector<double> reals, DType type) {
  Elements e;
  e.kind = Elements::Kind::Reals;
  e.type = type;
  e.reals = std::move(reals);
  return e;
}
Elements of_texts(std::vector<std::string_view> texts) {
  Elements e;
  e.kind = Elements::Kind::Texts;
  e.texts = std::move(texts);
  return e;
}
template <class List> std::vector<double> doubles(const List& floats) {
  return {floats.begin(), floats.end()};
}

std::optional<Elements> of_attribute(const Model& m, const Attr& a) {
  if (a.ref) return std::nullopt;
  switch (a.kind) {
    case AttrKind::Int: return of_ints({a.i});
    case AttrKind::Ints: return of_ints({a.ints.begin(), a.ints.end()});
    case AttrKind::Float: return of_reals({static_cast<double>(a.f)}, DType::Float);
    case AttrKind::Floats: return of_reals(doubles(a.floats), DType::Float);
    case AttrKind::String: return of_texts({a.s});
    case AttrKind::Strings: return of_texts({a.strings.begin(), a.strings.end()});
    case AttrKind::Tensor: return elements_of(m, a.tensor);
    default: return std::nullopt;
  }
}

struct OfDefault {
  using Found = std::optional<Elements>;
  Found operator()(std::monostate) const { return std::nullopt; }
  Found operator()(std::int64_t i) const { return of_ints({i}); }
  Found operator()(float f) const { return of_reals({static_cast<double>(f)}, DType::Float); }
  Found operator()(std::string_view s) const { return of_texts({s}); }
  Found operator()(std::span<const std::int64_t> l) const { return of_ints({l.begin(), l.end()}); }
  Found operator()(std::span<const float> l) const { return of_reals(doubles(l), DType::Float); }
  Found operator()(std::span<const std::string_view> l) const { return of_texts({l.begin(), l.end()}); }
};

}  // namespace

std::optional<Elements> elements_of(const Model& m, TensorId t) {
  if (!t) return std::nullopt;
  if (m.tensor(t).dtype == DType::String) {
    const std::vector<std::string>* strings = m.strings(t);
    if (strings == nullptr || strings->size() > static_cast<std::size_t>(kMostConditionElements))
      return std::nullopt;
    return of_texts({strings->begin(), strings->end()});
  }
  if (auto ints = int_list(m, t, kMostConditionElements)) return of_ints(*std::move(ints));
  if (auto reals = real_list(m, t, kMostConditionElements))
    return of_reals(*std::move(reals), m.tensor(t).dtype);
  return std::nullopt;
}

const Attr* written_attribute(const Model& m, NodeId n, std::string_view name) {
  const NameId id = m.names.find(name);
  return id ? m.find_attr(n, id) : nullptr;
}

std::optional<Elements> elements_of(const Model& m, NodeId n, std::string_view attribute) {
  if (const Attr* a = written_attribute(m, n, attribute)) return of_attribute(m, *a);
  const AttrFact* fact = find_attribute(facts_of(m, n), attribute);
  return fact == nullptr ? std::nullopt : std::visit(OfDefault{}, fact->fallback);
}

bool meets(const ValueCondition& c, const Elements& e) {
  if (c.length && !c.length->holds(static_cast<std::int64_t>(e.size()))) return false;
  return std::ranges::all_of(e.ints, [&](std::int64_t i) { return meets_int(c, i); }) &&
         std::ranges::all_of(e.reals, [&](double x) { return meets_real(c, x, e.type); }) &&
         std::ranges::all_of(e.texts, [&](std::string_view t) { return meets_text(c, t); });
}

std::string element_text(const Elements& e) {
  constexpr std::size_t kMost = 4;
  std::string out;
  for (std::size_t i = 0; i < std::min(kMost, e.size()); ++i) {
    if (i > 0) out += ", ";
    switch (e.kind) {
      case Elements::Kind::Ints: out += std::to_string(e.ints[i]); break;
      case Elements::Kind::Reals:
        out += e.type == DType::Double ? fmt::format("{}", e.reals[i])
                                       : fmt::format("{}", static_cast<float>(e.reals[i]));
        break;
      case Elements::Kind::Texts: out += fmt::format("'{}'", e.texts[i].substr(0, 40)); break;
    }
  }
  if (e.size() == 1) return out;
  return '[' + out + (e.size() > kMost ? ", ...]" : "]");
}

}  // namespace graphopt
