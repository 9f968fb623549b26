// Flat indices into merged axes: the sum of coordinate * stride, where strides are extents.
//
// Problem: exporters flatten a mask [b, s] and gather element row * s + column from it. The flat number
// differs between the runs, since s does; but it names the same element.
// Method: products of an integer by an extent, and sums of them, keep their coordinates, each with its
// stride. The number itself counts as contaminated; Gather compares the strides with the layout of its axis
// (rules_index.cpp), and the extent of that axis with the narrowest type of the sum, which may wrap in the
// padded run alone. Unsqueeze, Cast and Identity move the coordinates.
#include "buckets/padding/linear.h"

#include <algorithm>

#include "buckets/padding/rules.h"

namespace graphopt {
namespace {

// The terms of an operand: a flat index, or a number that is the same in both runs or padded (stride 1).
std::vector<IndexTerm> terms_of(PaddingContext& c, std::size_t i) {
  const PaddedValue& v = c.in(i);
  if (!v.linear.empty()) return v.linear;
  if (v.bad || !v.known) return {};
  return {{v, c.dims.constant(1)}};
}

bool set_terms(PaddingContext& c, std::vector<IndexTerm> terms, ContaminationId bad) {
  std::vector<const PaddedValue*> coordinates;
  for (const IndexTerm& t : terms) coordinates.push_back(&t.coordinate);
  auto l = padding::broadcast(c, coordinates);
  if (!l) return false;
  for (IndexTerm& t : terms) t.bits = std::min(t.bits, bits_of(c.output_type(0)));
  PaddedValue out =
      c.make(c.output_type(0), std::move(*l), [](AxisMask) { return ContentMath::any_finite(); });
  if (!out.known) return false;
  out.bad = bad;
  out.linear = std::move(terms);
  return c.set(0, std::move(out));
}

}  // namespace

bool flat_index_rule(PaddingContext& c) {
  if (c.output_count() != 1 || !is_int(c.output_type(0))) return false;
  const auto is_contaminated = [&](std::size_t i) { return c.has(i) && c.in(i).bad.valid(); };
  if (!is_contaminated(0) && !(c.input_count() > 1 && is_contaminated(1))) return false;
  const ContaminationId bad = is_contaminated(0) ? c.in(0).bad : c.in(1).bad;
  if (c.kind == OpKind::Mul) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const auto stride = c.elements(1 - i), own = c.elements(i);
      if (!stride || stride->size() != 1) continue;
      // A product of extents is one itself; rows that are counted out, [0, 1, ...], are coordinates.
      if (own && (own->size() == 1 || (c.in(i).bad && c.in(i).linear.empty()))) continue;
      std::vector<IndexTerm> terms = terms_of(c, i);
      for (IndexTerm& t : terms) {
        t.stride = c.dims.mul(t.stride, stride->front());
        if (!t.stride) return false;
      }
      if (!terms.empty()) return set_terms(c, std::move(terms), bad);
    }
    return false;
  }
  if (c.kind == OpKind::Add) {
    std::vector<IndexTerm> terms = terms_of(c, 0), more = terms_of(c, 1);
    if (terms.empty() || more.empty()) return false;
    terms.insert(terms.end(), more.begin(), more.end());
    return set_terms(c, std::move(terms), bad);
  }
  if (c.in(0).linear.empty()) return false;
  const PaddedValue& v = c.in(0);
  const bool keeps =
      c.kind == OpKind::Identity || (c.kind == OpKind::Cast && c.output_type(0) == DType::Int64);
  if (keeps) return c.set(0, v);
  if (c.kind != OpKind::Unsqueeze) return false;
  std::vector<IndexTerm> terms = v.linear;
  const auto axes = c.axes(v.rank() + 1);
  if (!axes || axes->size() != 1) return false;
  for (IndexTerm& t : terms) {
    if (t.coordinate.rank() != v.rank()) return false;
    std::vector<std::size_t> from;
    for (std::size_t i = 0; i <= v.rank(); ++i)
      from.push_back(i == axes->front() ? PaddingContext::kNew : i - (i > axes->front() ? 1 : 0));
    t.coordinate = c.moved(t.coordinate, from);
  }
  return set_terms(c, std::move(terms), v.bad);
}

}  // namespace graphopt
