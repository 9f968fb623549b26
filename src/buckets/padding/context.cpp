#include "buckets/padding/context.h"

#include <algorithm>
#include <limits>

#include "buckets/padding/type_limits.h"
#include "ops/constants.h"
#include "ops/node_facts.h"

namespace graphopt {
namespace {

std::optional<double> as_double(std::optional<std::int64_t> v) {
  if (!v || outward(*v, -kInfinity) != outward(*v, kInfinity)) return std::nullopt;
  return static_cast<double>(*v);
}

}  // namespace

PaddingContext::PaddingContext(PaddingAnalysis& analysis, NodeId node)
    : a(analysis),
      m(analysis.m_),
      dims(analysis.dims_),
      layouts(analysis.layouts_),
      math(analysis.math_),
      n(node),
      kind(analysis.m_.kind(node)) {}

// --- operands ----------------------------------------------------------------------------------------------

const PaddedValue& PaddingContext::in(std::size_t i) const { return a.operand(m.input(n, i)); }

std::optional<std::vector<DimId>> PaddingContext::elements(std::size_t i) const {
  const ValueId v = m.input(n, i);
  if (!v) return std::nullopt;
  const SymbolicTensor* t = a.inference_.symbolic(v);
  if (!t) {
    const auto list = int_list(m, in(i).constant, 1024);
    if (!list) return std::nullopt;
    std::vector<DimId> out;
    for (const std::int64_t e : *list) out.push_back(dims.constant(e));
    return out;
  }
  for (const DimId e : t->elements)
    if (!e || !a.stable(e)) return std::nullopt;
  return t->elements;
}

std::optional<std::vector<std::int64_t>> PaddingContext::numbers(std::size_t i) const {
  const auto list = elements(i);
  if (!list) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const DimId e : *list) {
    const auto v = dims.value(e);
    if (!v) return std::nullopt;
    out.push_back(*v);
  }
  return out;
}

std::optional<std::int64_t> PaddingContext::number(std::size_t i) const {
  const auto list = numbers(i);
  return list && list->size() == 1 ? std::optional(list->front()) : std::nullopt;
}

std::optional<double> PaddingContext::real(std::size_t i) const {
  const TensorId t = in(i).constant;
  if (!t) return std::nullopt;
  if (const auto v = real_scalar(m, t)) return v;
  return as_double(int_scalar(m, t));
}

std::optional<double> PaddingContext::splat(std::size_t i) const {
  const TensorId t = in(i).constant;
  if (!t) return std::nullopt;
  if (const auto v = real_splat(m, t)) return v;
  return as_double(int_splat(m, t));
}

double PaddingContext::zero_point(std::size_t i) const {
  return has(i) ? splat(i).value_or(std::numeric_limits<double>::quiet_NaN()) : 0;
}

std::optional<std::vector<std::size_t>> PaddingContext::axes(std::size_t rank) const {
  const OpFacts& row = facts_of(m, n);
  std::vector<std::int64_t> written;
  if (row.axis.in == AxisIn::Operand || row.axis.in == AxisIn::OperandList) {
    if (has(row.axis.operand)) {
      const auto list = numbers(row.axis.operand);
      if (!list) return std::nullopt;
      written = *list;
    } else if (row.axis.in == AxisIn::Operand) {
      written = {row.axis.fallback};
    }
  } else {
    const auto list = axes_of(m, n);
    if (!list) return std::nullopt;
    written = *list;
  }
  const auto normal = normalize_axes(written, rank);
  if (!normal) return std::nullopt;
  std::vector<std::size_t> out;
  for (const std::int64_t i : *normal) out.push_back(static_cast<std::size_t>(i));
  return out;
}

std::optional<std::size_t> PaddingContext::axis(std::size_t rank) const {
  const auto list = axes(rank);
  return list && list->size() == 1 ? std::optional(list->front()) : std::nullopt;
}

// --- attributes --------------------------------------------------------------------------------------------

std::int64_t PaddingContext::attr(NameId name, std::int64_t otherwise) const {
  return int_attr(m, n, name).value_or(otherwise);
}

double PaddingContext::attr_real(NameId name, double otherwise) const {
  const auto v = float_attr(m, n, name);
  return v ? static_cast<double>(*v) : otherwise;
}

std::string_view PaddingContext::attr_text(NameId name, std::string_view otherwise) const {
  return string_attr(m, n, name).value_or(otherwise);
}

std::optional<std::span<const std::int64_t>> PaddingContext::attr_list(NameId name) const {
  return ints_attr(m, n, name);
}

// --- results -----------------------------------------------------------------------------------------------

DType PaddingContext::output_type(std::size_t i) const {
  return has_output(i) ? a.inference_.dtype(m.output(n, i)) : DType::Undefined;
}

std::optional<std::size_t> PaddingContext::output_rank(std::size_t i) const {
  const ValueId v = m.output(n, i);
  return v && a.inference_.has_rank(v) ? std::optional(a.inference_.dims(v).size()) : std::nullopt;
}

LayoutId PaddingContext::inferred(std::size_t output, std::size_t axis) const {
  const ValueId v = m.output(n, output);
  if (!v || !a.inference_.has_rank(v) || axis >= a.inference_.dims(v).size()) return {};
  return a.layout_of(a.inference_.dims(v)[axis]);
}

std::optional<std::vector<LayoutId>> PaddingContext::inferred(std::size_t output) const {
  const ValueId v = m.output(n, output);
  if (!v || !a.inference_.has_rank(v)) return std::nullopt;
  std::vector<LayoutId> out;
  for (const DimId d : a.inference_.dims(v)) {
    out.push_back(a.layout_of(d));
    if (!out.back()) return std::nullopt;
  }
  return out;
}

void PaddingContext::make_stable(std::size_t output) {
  for (const DimId d : a.inference_.dims(m.output(n, output))) a.make_stable(d);
}

LayoutId PaddingContext::stable_extent(std::size_t output, std::size_t axis) {
  const ValueId v = m.output(n, output);
  if (!v || !a.inference_.has_rank(v) || axis >= a.inference_.dims(v).size()) return {};
  const DimId d = dims.canonical(a.inference_.dims(v)[axis]);
  a.make_stable(d);
  return a.bucketed(d) ? LayoutId{} : layouts.same(d);
}

PaddedValue PaddingContext::blank(DType type, std::vector<LayoutId> l) const {
  PaddedValue v;
  v.type = type;
  v.layouts = std::move(l);
  v.known = v.layouts.size() <= kMaxPaddedRank;
  for (std::size_t i = 0; i < v.layouts.size(); ++i) {
    if (!v.layouts[i]) v.known = false;
    else if (i < kMaxPaddedRank && layouts.padded(v.layouts[i])) v.padded |= bit(i);
  }
  if (std::popcount(v.padded) > kMaxPaddedAxes) v.known = false;
  return v;
}

bool PaddingContext::reads_pads() const {
  for (std::size_t i = 0; i < input_count(); ++i)
    if (has(i) && std::ranges::any_of(in(i).contents, &Content::from_pads)) return true;
  return false;
}

PaddedValue PaddingContext::moved(const PaddedValue& v, std::span<const std::size_t> from) const {
  std::vector<LayoutId> l;
  for (const std::size_t i : from) l.push_back(i == kNew ? layouts.same(dims.constant(1)) : v.layouts[i]);
  PaddedValue out = make(v.type, std::move(l), [&](AxisMask region) {
    AxisMask old = 0;
    for (std::size_t i = 0; i < from.size(); ++i)
      if (from[i] != kNew && (region >> i & 1u) != 0) old |= bit(from[i]);
    return v.at(old);
  });
  out.origin = v.origin;
  return out;
}

bool PaddingContext::set(std::size_t output, PaddedValue v) {
  const ValueId result = m.output(n, output);
  if (!result) return true;
  if (!v.known)
    return refuse("a result has more padded axes than are followed, or an extent without a formula");
  // A rule that looks at some operands only misses the axes that another one adds: an extent of [1, 1, 1].
  if (const auto rank = output_rank(output); rank && *rank != v.rank())
    return refuse("a result has axes that are not followed");
  a.values_[result.index()] = std::move(v);
  a.known_[result.index()] = true;
  return true;
}

// --- refusals ----------------------------------------------------------------------------------------------

bool PaddingContext::refuse(std::string reason, Blame blame) {
  refusal_ = {.node = n,
              .reason = std::move(reason),
              .axis = blame.axis,
              .content = std::move(blame.content),
              .needs = std::move(blame.needs),
              .repair = blame.repair,
              .places = std::move(blame.places),
              .remedy = std::move(blame.remedy)};
  return false;
}

void PaddingContext::contaminate(std::size_t output) {
  const ValueId v = m.output(n, output);
  if (!v) return;
  PaddedValue& out = a.values_[v.index()];
  out = {};
  out.type = a.inference_.dtype(v);
  out.bad = a.add(refusal_);
  a.known_[v.index()] = true;
}

bool PaddingContext::unknown_extent(std::size_t output, std::size_t axis) {
  return refuse("the extent of axis " + std::to_string(axis) + " of result " + std::to_string(output) +
                " has no formula over the extents of the inputs");
}

bool PaddingContext::unpadded_from(std::size_t first, std::string_view what) {
  for (std::size_t i = first; i < input_count(); ++i)
    if (has(i) && in(i).padded != 0) return refuse("its " + std::string(what) + " padded");
  return true;
}

bool PaddingContext::refuse_padding(std::size_t i, AxisMask axes, const Content& content,
                                    std::string_view does, double fill) {
  const PaddedValue& v = in(i);
  const std::string_view least =
      fill < 0 ? "the least number of its type" : "the greatest number of its type";
  Blame blame{.axis = std::countr_zero(axes & v.padded),
              .content = math.text(content),
              .needs = std::isinf(fill) && !is_float(v.type) ? std::string(least)
                                                             : math.text(ContentMath::number(fill)),
              .repair = BucketRepair::Mask};
  Contamination::Place place{i, {}, fill};
  for (std::size_t k = 0; k < v.rank(); ++k)
    if (((axes & v.padded) >> k & 1u) != 0) place.axes.push_back(static_cast<int>(k));
  blame.places.push_back(std::move(place));
  std::string reason = std::string(does) + " padding of " + axis_text(v, axes) +
                       (blame.content.starts_with('[') ? ", which may be anything in " : ", which is ") +
                       blame.content + " here; only " + blame.needs + " would be safe";
  return refuse(std::move(reason), std::move(blame));
}

void PaddingContext::assume(BucketAssumption assumption, std::string text) {
  for (const Assumption& known : a.assumptions_)
    if (known.node == n && known.kind == assumption) return;
  a.assumptions_.push_back({assumption, n, std::move(text)});
}

void PaddingContext::need_divisible(DimId expression, std::int64_t divisor) {
  for (const Divisibility& d : a.divisibilities_)
    if (d.extent == expression && d.divisor == divisor) return;
  a.divisibilities_.push_back({expression, divisor});
}

// --- regions -----------------------------------------------------------------------------------------------

AxisMask PaddingContext::padded_among(const PaddedValue& v, std::span<const std::size_t> axes) const {
  AxisMask mask = 0;
  for (const std::size_t i : axes) mask |= bit(i) & v.padded;
  return mask;
}

Content PaddingContext::join_over(const PaddedValue& v, AxisMask base, AxisMask axes) const {
  Content c = v.at(base);
  for_each_subset(axes & v.padded, [&](AxisMask s) {
    if (s != 0) c = math.join(c, v.at(base | s));
  });
  return c;
}

Content PaddingContext::whole(std::span<const std::size_t> operands) const {
  std::optional<Content> all;
  for (const std::size_t i : operands)
    for (const Content& c : i < input_count() && has(i) ? in(i).contents : std::vector<Content>())
      all = all ? math.join(*all, c) : c;
  return all.value_or(ContentMath::number(0));
}

Content PaddingContext::weights(std::size_t first) const {
  std::vector<std::size_t> operands;
  for (std::size_t i = first; i < input_count(); ++i) operands.push_back(i);
  return whole(operands);
}

std::string PaddingContext::axis_text(const PaddedValue& v, AxisMask axes) const {
  std::string out;
  for (std::size_t i = 0; i < v.rank(); ++i) {
    if (((axes & v.padded) >> i & 1u) == 0) continue;
    out += (out.empty() ? "axis " : ", axis ") + std::to_string(i) + " (" + layouts.text(v.layouts[i]) + ")";
  }
  return out;
}

}  // namespace graphopt
