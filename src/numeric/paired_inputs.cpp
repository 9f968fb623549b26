#include "numeric/paired_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "numeric/layout.h"
#include "runtime/compare.h"
#include "support/half.h"

namespace graphopt {
namespace {

using mapping::Index;
using mapping::Scope;

template <class T> void append(std::string& raw, T value) {
  raw.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// The nearest number that the type has; 0 for NaN.
template <class T> T as_integer(double x) {
  if (std::isnan(x)) return 0;
  if (x <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (x >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(x);
}

void append_as(std::string& raw, DType type, double x) {
  switch (type) {
    case DType::Float: return append(raw, static_cast<float>(x));
    case DType::Double: return append(raw, x);
    case DType::Float16: return append(raw, double_to_half(x));
    case DType::BFloat16: return append(raw, float_to_bfloat16(static_cast<float>(x)));
    case DType::Int32: return append(raw, as_integer<std::int32_t>(x));
    case DType::Int64: return append(raw, as_integer<std::int64_t>(x));
    default: return;
  }
}

bool is_written(DType type) {
  return type == DType::Float || type == DType::Double || type == DType::Float16 || type == DType::BFloat16 ||
         type == DType::Int32 || type == DType::Int64;
}

std::size_t count_of(const HostValue& v) {
  std::size_t out = 1;
  for (const std::int64_t d : v.dims) out *= static_cast<std::size_t>(d);
  return out;
}

// The same numbers in another type; as it is where that type is not written here.
HostValue as_type(const HostValue& v, DType type) {
  if (v.kind != HostValue::Kind::Tensor || v.dtype == type || !has_numbers(v.dtype) || !is_written(type))
    return v;
  HostValue out = v;
  out.dtype = type;
  out.raw.clear();
  for (std::size_t i = 0; i < count_of(v); ++i) append_as(out.raw, type, number_at(v, i));
  return out;
}

HostValue permuted(const HostValue& v, const std::vector<std::size_t>& layout) {
  if (layout.empty() || v.kind != HostValue::Kind::Tensor || v.dims.size() != layout.size() || v.raw.empty())
    return v;
  const std::vector<std::size_t> places = permuted_places(v.dims, layout);
  const std::size_t width = v.raw.size() / places.size();
  HostValue out = v;
  for (std::size_t i = 0; i < layout.size(); ++i) out.dims[i] = v.dims[layout[i]];
  for (std::size_t k = 0; k < places.size(); ++k)
    std::memcpy(out.raw.data() + k * width, v.raw.data() + places[k] * width, width);
  return out;
}

// Floats that are a little larger or smaller, in turns.
std::optional<HostValue> nudged(const HostValue& v, double step) {
  if (v.kind != HostValue::Kind::Tensor || !is_float(v.dtype) || !is_written(v.dtype)) return std::nullopt;
  HostValue out = v;
  out.raw.clear();
  for (std::size_t i = 0; i < count_of(v); ++i)
    append_as(out.raw, v.dtype, number_at(v, i) * (1 + ((i * 2654435761U >> 7 & 1) != 0 ? step : -step)));
  return out;
}

std::vector<std::int64_t> dims_of(const NumericSide& side, ValueId v) {
  std::vector<std::int64_t> out;
  if (side.inference.has_rank(v))
    for (const DimId d : side.inference.dims(v)) out.push_back(side.model.dims.value(d).value_or(-1));
  return out;
}

Place in_model(const Model& m) { return {m.file, {}, {}, {}, {}}; }

}  // namespace

Result<InputPairs> InputPairs::make(const Scope& main, const NumericSide& a, const NumericSide& b,
                                    const GivenInputs& given) {
  InputPairs out;
  out.plan_ = plan_inputs(a.model, a.inference);
  out.plan_b_ = plan_inputs(b.model, b.inference);
  std::vector<ValueId> linked;
  for (const auto& [x, y] : main.ends.inputs) {
    const ValueId of_a = main.a->value(x), of_b = main.b->value(y);
    Link& link = out.links_.emplace_back();
    link.a = main.a->name(x);
    link.b = main.b->name(y);
    link.dtype = b.inference.dtype(of_b);
    link.layout = channel_layout(dims_of(a, of_a), dims_of(b, of_b));
    linked.push_back(of_b);
  }
  for (const ValueId v : b.model.graph_inputs(b.model.main()))
    if (!b.model.value(v).is_initializer && std::ranges::find(linked, v) == linked.end())
      return Error{ErrorKind::NotChecked, in_model(b.model),
                   "no input of A corresponds to its input '" +
                       std::string(b.model.text(b.model.value(v).name)) + "': the numbers cannot be compared",
                   "give both models inputs of the same names or types"};
  std::string by_name_of_b;  // inputs
  for (const NamedValue& value : given) {
    const auto by_a = std::ranges::find(out.links_, value.name, &Link::a);
    const auto by_b = std::ranges::find(out.links_, value.name, &Link::b);
    const bool is_of_a = std::ranges::any_of(a.model.graph_inputs(a.model.main()), [&](ValueId v) {
      return a.model.text(a.model.value(v).name) == value.name;
    });
    if (by_a == out.links_.end() && by_b == out.links_.end() && !is_of_a)
      return Error{ErrorKind::Usage,
                   {},
                   "--input: neither graph has an input '" + value.name + "'",
                   "give NAME=FILE with the name of an input"};
    if (!is_of_a) by_name_of_b += " '" + value.name + "'";
    NamedValue of_a = value;
    if (!is_of_a) {
      of_a.name = by_b->a;
      std::vector<std::size_t> back(by_b->layout.size());
      for (std::size_t i = 0; i < back.size(); ++i) back[by_b->layout[i]] = i;
      of_a.value = permuted(of_a.value, back);
      for (const ValueId v : a.model.graph_inputs(a.model.main()))
        if (a.model.text(a.model.value(v).name) == of_a.name)
          of_a.value = as_type(of_a.value, a.inference.dtype(v));
    }
    out.given_.push_back(std::move(of_a));
  }
  if (Status fit = fits(out.plan_, out.given_); !fit) {
    Errors errors = fit.errors();
    for (Error& e : errors) {
      if (!by_name_of_b.empty())
        e.what += " (in the layout of A, which is that of" + by_name_of_b + " of B turned)";
      if (const auto at = e.what.find("--check-input"); at != e.what.npos) e.what.replace(at, 13, "--input");
    }
    return errors;
  }
  return out;
}

std::vector<Binding> InputPairs::bindings() const {
  std::vector<Binding> out = candidate_bindings(plan_);
  for (Binding& binding : out) binding = bound_by(plan_, given_, std::move(binding));
  return out;
}

bool InputPairs::round_otherwise() const {
  return graphopt::coarsest_float(plan_) != graphopt::coarsest_float(plan_b_);
}

DType InputPairs::coarsest_float() const {
  const DType of_a = graphopt::coarsest_float(plan_), of_b = graphopt::coarsest_float(plan_b_);
  return unit_at_one(of_a) >= unit_at_one(of_b) ? of_a : of_b;
}

std::optional<PairedInputs> InputPairs::draw(const Binding& binding, std::uint64_t seed,
                                             DType coarsest) const {
  auto drawn = make_inputs(plan_, binding, {.seed = seed, .turn = static_cast<unsigned>(seed)}, given_);
  if (!drawn) return std::nullopt;
  PairedInputs out;
  bool is_near = false;
  for (NamedValue& input : *drawn) {
    const auto link = std::ranges::find(links_, input.name, &Link::a);
    if (link != links_.end()) {
      // Both get numbers that the coarser type has.
      HostValue of_b = as_type(input.value, link->dtype);
      if (is_written(input.value.dtype)) input.value = as_type(of_b, input.value.dtype);
      of_b = as_type(input.value, link->dtype);
      out.b.push_back({link->b, permuted(of_b, link->layout)});
    }
    auto near = nudged(input.value, 2 * unit_at_one(coarsest));
    is_near |= near.has_value();
    out.near.push_back({input.name, near ? *std::move(near) : input.value});
    out.a.push_back(std::move(input));
  }
  if (!is_near) out.near.clear();
  return out;
}

}  // namespace graphopt
