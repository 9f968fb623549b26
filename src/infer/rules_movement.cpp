// Operators that move elements: Concat, Slice, Gather, Transpose, ... Small integer operands are moved
// element by element.
#include <algorithm>
#include <limits>
#include <numeric>

#include "infer/rules.h"
#include "infer/values.h"
#include "support/checked.h"

namespace graphopt::rules {
namespace {

// Returns true if operands i and j of a Concat have the same dims, apart from the axis.
bool agree(NodeContext& c, std::size_t i, std::size_t j, std::size_t axis) {
  for (std::size_t k = 0; k < c.shape(i).size(); ++k)
    if (k != axis && c.shape(i)[k] != c.shape(j)[k] && c.dims.equal(c.shape(i)[k], c.shape(j)[k]) != Tri::Yes)
      return false;
  return true;
}

// Returns true if operand i has elements in every run.
bool never_empty(NodeContext& c, std::size_t i) {
  return std::ranges::all_of(c.shape(i), [&](DimId x) { return c.dims.equal(x, c.constant(0)) == Tri::No; });
}

// Returns true if operand i has no elements in every run in which operand `first` has none.
bool empty_with(NodeContext& c, std::size_t first, std::size_t i) {
  for (std::size_t k = 0; k < c.shape(first).size(); ++k)
    if (!c.zero_with(c.shape(first)[k], c.shape(i)[k])) return false;
  return true;
}

// Returns the dims of a Concat; `ranked` is the first operand of known rank.
//
// All operands have the same other dims in a run, but ONNX Runtime leaves out those without elements,
// whatever their dims are; where all are empty the first one's dims hold. So where dims are not proven equal,
// they are those of an operand that has elements in every run, or those of the first one if all others are
// empty whenever it is.
Dims concat_dims(NodeContext& c, std::size_t ranked, std::size_t axis) {
  const std::size_t n = c.input_count();
  Dims d(c.shape(ranked).begin(), c.shape(ranked).end());
  DimId sum = c.constant(0);
  bool all_ranked = true;
  for (std::size_t i = 0; i < n; ++i) {
    const bool known = c.shape(i).size() == d.size();
    all_ranked &= known;
    sum = known ? c.dims.add(sum, c.shape(i)[axis]) : DimId{};
  }
  if (!all_ranked) {
    bool found = false;
    for (std::size_t i = 0; i < n; ++i) {
      if (c.shape(i).size() != d.size() || !never_empty(c, i)) continue;
      d.assign(c.shape(i).begin(), c.shape(i).end());
      found = true;
    }
    if (!found) std::ranges::fill(d, DimId{});
    d[axis] = sum;
    return d;
  }
  bool first_decides = true;
  for (std::size_t i = 1; i < n && first_decides; ++i)
    first_decides = agree(c, 0, i, axis) || empty_with(c, 0, i);
  if (!first_decides) {
    std::optional<std::size_t> full;  // an operand that has elements in every run
    for (std::size_t i = 0; i < n && !full; ++i)
      if (never_empty(c, i)) full = i;
    if (full) d.assign(c.shape(*full).begin(), c.shape(*full).end());
    for (std::size_t k = 0; k < d.size() && !full; ++k)
      for (std::size_t i = 1; i < n; ++i)
        if (d[k] && c.shape(i)[k] != d[k] && c.dims.equal(c.shape(i)[k], d[k]) != Tri::Yes) d[k] = {};
  }
  d[axis] = sum;
  return d;
}

// Returns the elements of a Concat of vectors. Elements of an operand with a known length may be unknown.
std::optional<SymbolicTensor> concat_vectors(NodeContext& c, DType elem) {
  SymbolicTensor value{elem, {0}, {}};
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    const SymbolicTensor* t = c.sym(i);
    const auto length = c.rank(i) == 1 ? c.value(c.shape(i)[0]) : std::nullopt;
    if (t && t->dims.size() == 1)
      value.elements.insert(value.elements.end(), t->elements.begin(), t->elements.end());
    else if (length && *length >= 0 && *length <= 64)
      value.elements.resize(value.elements.size() + static_cast<std::size_t>(*length));
    else return std::nullopt;
    if (value.elements.size() > c.s.options.max_elements) return std::nullopt;
  }
  value.dims[0] = static_cast<std::int64_t>(value.elements.size());
  return value;
}

// Returns the elements of a Concat of higher rank, of at least one operand: those of all operands must be
// known.
std::optional<SymbolicTensor> concat_known(NodeContext& c, DType elem, std::size_t rank, std::size_t axis) {
  std::vector<const SymbolicTensor*> parts;
  std::optional<std::int64_t> along = 0;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    const SymbolicTensor* t = c.sym(i);
    if (!t || t->dims.size() != rank) return std::nullopt;
    parts.push_back(t);
    along = checked_add(along, t->dims[axis]);
  }
  if (!along) return std::nullopt;
  SymbolicTensor r{elem, parts[0]->dims, {}};
  r.dims[axis] = *along;
  for (const SymbolicTensor* t : parts)
    for (std::size_t k = 0; k < rank; ++k)
      if (k != axis && t->dims[k] != r.dims[k]) return std::nullopt;
  if (count_of(r.dims).value_or(0) == 0) return r;  // beside an extent of 0 others may be of any size
  const auto outer = count_of(std::span(r.dims).first(axis)).value_or(0);
  const auto inner = count_of(std::span(r.dims).subspan(axis + 1)).value_or(0);
  for (std::int64_t o = 0; o < outer; ++o)
    for (const SymbolicTensor* t : parts) {
      const std::int64_t chunk = t->dims[axis] * inner;
      r.elements.insert(r.elements.end(), t->elements.begin() + o * chunk,
                        t->elements.begin() + (o + 1) * chunk);
    }
  return r;
}

}  // namespace

void concat(NodeContext& c) {
  const std::size_t n = c.input_count();
  std::size_t ranked = 0;
  while (ranked < n && !c.ranked(ranked)) ++ranked;
  DType elem = DType::Undefined;
  for (std::size_t i = 0; i < n; ++i) {
    const DType of_operand = c.elem(i);
    if (of_operand == DType::Undefined) continue;
    if (elem != DType::Undefined && of_operand != elem) return;  // refused; which type counts is not known
    elem = of_operand;
  }
  const auto axis = ranked < n
                        ? NodeContext::axis(c.attr_int(names::axis, c.opset() < 4 ? 1 : 0), c.rank(ranked))
                        : std::nullopt;
  if (!axis) {
    if (elem != DType::Undefined) c.tensor(0, elem);
    return;
  }
  const Dims d = concat_dims(c, ranked, *axis);
  std::optional<SymbolicTensor> value;
  if (has_values(elem) && d.size() == 1) value = concat_vectors(c, elem);
  else if (has_values(elem) && c.sym(0) && n <= 64) value = concat_known(c, elem, d.size(), *axis);
  c.tensor(0, elem, d, value ? &*value : nullptr);
}

void split(NodeContext& c) {
  const std::size_t n = c.output_count();
  const DType elem = c.elem(0);
  if (!c.ranked(0)) {
    for (std::size_t i = 0; i < n; ++i) c.elem_only(i, 0);
    return;
  }
  const auto axis = NodeContext::axis(c.attr_int(names::axis, 0), c.rank(0));
  if (!axis) return;
  std::optional<Ints> sizes;
  Dims symbolic_sizes;
  if (c.opset() >= 13) {
    if (const SymbolicTensor* t = c.has(1) ? c.sym(1) : nullptr; t && t->elements.size() == n)
      symbolic_sizes = t->elements;
    else if (c.has(1)) symbolic_sizes.assign(n, DimId{});
  } else if (const auto given = c.attr_ints(names::split); given && given->size() == n) {
    for (const std::int64_t v : *given) symbolic_sizes.push_back(c.constant(v));
  }
  const DimId whole = c.shape(0)[*axis];
  if (symbolic_sizes.empty()) {
    // Equal parts; from opset 18 the last one may be smaller, if num_outputs is given. The attribute decides
    // the rounding, the number of results is that of the node.
    const auto v = c.value(whole);
    const auto parts = static_cast<std::int64_t>(n);
    if (c.opset() >= 18) {
      const DimId part = c.dims.ceil_div(whole, c.constant(parts));
      for (std::size_t i = 0; i < n; ++i) {
        if (v) {
          const std::int64_t size = (*v + parts - 1) / parts;
          const auto at = static_cast<std::int64_t>(i);
          symbolic_sizes.push_back(c.constant(std::clamp<std::int64_t>(*v - at * size, 0, size)));
        } else if (const DimId exact = c.dims.exact_div(whole, c.constant(parts)); exact) {
          symbolic_sizes.push_back(exact);
        } else if (i == 0) {
          symbolic_sizes.push_back(part);
        } else {
          symbolic_sizes.push_back(DimId{});
        }
      }
    } else {
      const DimId part = c.dims.exact_div(whole, c.constant(parts));
      // Not divisible: the run fails.
      symbolic_sizes.assign(n, part ? part : c.dims.floor_div(whole, c.constant(parts)));
    }
  }
  const SymbolicTensor* x = c.sym(0);
  std::int64_t begin = 0;
  bool known = x && x->dims.size() == 1;
  std::optional<SymbolicTensor> source;
  if (known) source = *x;
  for (std::size_t i = 0; i < n; ++i) {
    Dims d(c.shape(0).begin(), c.shape(0).end());
    d[*axis] = symbolic_sizes[i];
    const auto size = symbolic_sizes[i] ? c.value(symbolic_sizes[i]) : std::nullopt;
    known = known && size && *size >= 0 && *size <= source->dims[0] - begin;  // a sum could wrap
    if (known) {
      SymbolicTensor t{source->dtype, {*size}, {}};
      t.elements.assign(source->elements.begin() + begin, source->elements.begin() + begin + *size);
      begin += *size;
      c.tensor(i, elem, d, &t);
    } else {
      c.tensor(i, elem, d);
    }
  }
}

namespace {

// Returns the number of elements that start:end:step selects from an axis of extent n, as an expression; none
// where the standard and ONNX Runtime may disagree. What is computed from none is none.
//
// Bounds below 0 count from the end, then they are clamped: to 0..n for step > 0, start to 0..n-1 and end to
// -1..n-1 for step < 0. ONNX Runtime takes an end that is the largest int32 or int64 for "up to the last
// element in the direction of the step": on axes of 2^31 elements or more, and for all steps below 0, that is
// another place. For step < 0, NumPy and the standard's reference select nothing where start lies before the
// first element; the text of the standard and ONNX Runtime select the first one.
DimId sliced(NodeContext& c, DimId n, DimId start, DimId end, std::int64_t step) {
  DimPool& p = c.dims;
  const DimId zero = p.constant(0), one = p.constant(1);
  if (step == 0 || step == std::numeric_limits<std::int64_t>::min()) return {};
  constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
  const auto s_number = p.value(start), e_number = p.value(end);
  const auto may_be = [&](DimId x, std::int64_t v) {
    if (const auto number = p.value(x)) return *number == v;
    const Range r = p.range(x);
    return r.low <= v && (v <= r.high || r.high == Range::kMax);
  };
  const bool small = p.range(n).high <= kInt32Max;
  const auto from_end = [&](DimId x) -> DimId {
    if (p.less(x, zero) == Tri::Yes) return p.add(x, n);
    if (c.never_negative(x)) return x;
    return {};
  };
  const auto at_least_zero = [&](DimId x) { return c.never_negative(x) ? x : p.max(x, zero); };
  const auto far_down = [&](std::optional<std::int64_t> v) {
    return v && *v <= -(small ? kInt32Max : std::numeric_limits<std::int64_t>::max());
  };
  const bool largest = e_number && *e_number == std::numeric_limits<std::int64_t>::max();
  if (step > 0) {
    if (!small && may_be(end, kInt32Max)) return {};
    DimId b = far_down(s_number) ? zero : from_end(start);
    DimId e = largest ? n : from_end(end);
    b = p.min(at_least_zero(b), n);
    e = p.min(at_least_zero(e), n);
    const DimId span = p.sub(e, b);
    return at_least_zero(step == 1 ? span : p.ceil_div(span, p.constant(step)));
  }
  if (largest || may_be(end, kInt32Max) || may_be(end, std::numeric_limits<std::int64_t>::max())) return {};
  const DimId last = p.sub(n, one);
  DimId b = from_end(start);
  // A start of -1 is before the first element only where there is none.
  if (s_number != -1 && p.less_equal(zero, b) != Tri::Yes) return {};
  DimId e = far_down(e_number) ? p.constant(-1) : from_end(end);
  b = p.min(s_number == -1 ? b : at_least_zero(b), last);
  e = p.max(e, p.constant(-1));
  const DimId span = p.sub(b, e);
  return p.max(step == -1 ? span : p.ceil_div(span, p.constant(-step)), zero);
}

}  // namespace

void slice(NodeContext& c) {
  const DType elem = c.elem(0);
  if (!c.ranked(0)) return c.elem_only(0, 0);
  const std::int64_t rank = c.rank(0);
  Dims d(c.shape(0).begin(), c.shape(0).end());
  Dims starts, ends;
  std::optional<Ints> axes, steps;
  bool axes_absent = false;
  if (c.opset() < 10) {
    const auto s = c.attr_ints(names::starts), e = c.attr_ints(names::ends);
    axes = c.attr_ints(names::axes);
    axes_absent = !axes;
    if (!s || !e) return c.tensor(0, elem, Dims(d.size()));
    for (const std::int64_t v : *s) starts.push_back(c.constant(v));
    for (const std::int64_t v : *e) ends.push_back(c.constant(v));
    steps = Ints(starts.size(), 1);
  } else {
    axes_absent = !c.has(3);
    if (!axes_absent) axes = c.ints(3);
    const auto list = [&](std::size_t i) -> std::optional<Dims> {
      if (const SymbolicTensor* t = c.sym(i)) return t->elements;
      if (c.rank(i) != 1) return std::nullopt;
      const auto n = c.value(c.shape(i)[0]);
      return n && *n >= 0 && *n <= 64 ? std::optional(Dims(static_cast<std::size_t>(*n))) : std::nullopt;
    };
    const auto s = list(1), e = list(2);
    const std::size_t n = s ? s->size() : e ? e->size() : axes ? axes->size() : d.size();
    starts = s ? *s : Dims(n);
    ends = e ? *e : Dims(n);
    if (c.has(4)) steps = c.ints(4);
    else steps = Ints(n, 1);
    if (!s && !e && axes_absent) return c.tensor(0, elem, Dims(d.size()));
  }
  if (axes_absent) {
    axes = Ints(starts.size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (!axes || axes->size() != starts.size() || axes->size() != ends.size())
    return c.tensor(0, elem, Dims(d.size()));
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto k = NodeContext::axis((*axes)[i], rank);
    if (!k) return c.tensor(0, elem, Dims(d.size()));
    const bool step_known = steps && steps->size() == axes->size();
    d[*k] = step_known ? sliced(c, c.shape(0)[*k], starts[i], ends[i], (*steps)[i]) : DimId{};
  }
  std::optional<SymbolicTensor> value;
  if (const SymbolicTensor* t = c.sym(0); t && steps && steps->size() == axes->size()) {
    Ints first(t->dims.size(), 0), step(t->dims.size(), 1), out = t->dims;
    bool all = true;
    for (std::size_t i = 0; i < axes->size() && all; ++i) {
      const auto k = NodeContext::axis((*axes)[i], rank);
      const auto s = starts[i] ? c.value(starts[i]) : std::nullopt;
      const auto count = d[*k] ? c.value(d[*k]) : std::nullopt;
      const std::int64_t n = t->dims[*k];
      all = s && count && *count >= 0;
      if (!all) break;
      const std::int64_t at = *s < 0 ? (*s < -n ? -1 - n : *s) + n : *s;
      first[*k] = std::clamp<std::int64_t>(at, 0, (*steps)[i] > 0 ? n : std::max<std::int64_t>(n - 1, 0));
      step[*k] = (*steps)[i];
      out[*k] = *count;
    }
    if (all && !too_many(out, c.s.options.max_elements)) {
      const auto strides = strides_of(t->dims);
      value = pick(*t, out, [&](const Ints& at) {
        std::int64_t index = 0;
        for (std::size_t k = 0; k < at.size(); ++k) index += (first[k] + at[k] * step[k]) * strides[k];
        return index;
      });
    }
  }
  c.tensor(0, elem, d, value ? &*value : nullptr);
}

void gather(NodeContext& c) {
  const DType elem = c.elem(0);
  if (!c.ranked(1)) return c.elem_only(0, 0);
  const auto axis = NodeContext::axis(c.attr_int(names::axis, 0), c.rank(0));
  if (!axis) return c.elem_only(0, 0);
  const auto data = c.shape(0), index = c.shape(1);
  Dims d(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(*axis));
  d.insert(d.end(), index.begin(), index.end());
  d.insert(d.end(), data.begin() + static_cast<std::ptrdiff_t>(*axis) + 1, data.end());
  // From an axis without elements nothing can be taken: then there are no indices, or the run fails.
  DimId count;
  bool single = true;
  for (const DimId x : index) {
    if (const auto v = c.value(x); v && *v > 0) continue;
    single &= !count.valid();
    count = x;
  }
  if (single && count) c.zero_implies(data[*axis], count);
  std::optional<SymbolicTensor> value;
  if (const SymbolicTensor* t = c.sym(0); t && *axis == 0) {
    if (const SymbolicTensor* at = c.sym(1)) {
      const std::int64_t n = t->dims[0];
      const std::int64_t row = count_of(std::span(t->dims).subspan(1)).value_or(0);
      SymbolicTensor r{t->dtype, at->dims, {}};
      r.dims.insert(r.dims.end(), t->dims.begin() + 1, t->dims.end());
      bool ok = !too_many(r.dims, c.s.options.max_elements);
      for (std::size_t i = 0; i < at->elements.size() && ok; ++i) {
        const auto v = at->elements[i] ? c.value(at->elements[i]) : std::nullopt;
        if (!v) {  // any row
          r.elements.resize(r.elements.size() + static_cast<std::size_t>(row));
          continue;
        }
        const std::int64_t k = *v < 0 ? *v + n : *v;
        ok = k >= 0 && k < n;  // else the run fails
        if (ok)
          r.elements.insert(r.elements.end(), t->elements.begin() + k * row,
                            t->elements.begin() + (k + 1) * row);
      }
      if (ok) value = std::move(r);
    }
  }
  c.tensor(0, elem, d, value ? &*value : nullptr);
}

void gather_elements(NodeContext& c) {
  if (c.ranked(1)) c.tensor(0, c.elem(0), c.shape(1));
  else if (c.ranked(0)) c.tensor(0, c.elem(0), Dims(c.shape(0).size()));
  else c.elem_only(0, 0);
}

void gather_nd(NodeContext& c) {
  if (c.rank(1) < 1) return c.elem_only(0, 0);
  const auto data = c.shape(0), index = c.shape(1);
  const auto depth = c.value(index.back());
  const std::int64_t batch = c.attr_int(names::batch_dims, 0);
  if (!depth || *depth < 1 || batch < 0 || batch + *depth > c.rank(0) || batch >= c.rank(1))
    return c.elem_only(0, 0);
  Dims d(index.begin(), index.end() - 1);
  d.insert(d.end(), data.begin() + static_cast<std::ptrdiff_t>(batch + *depth), data.end());
  c.tensor(0, c.elem(0), d);
}

void transpose(NodeContext& c) {
  if (!c.ranked(0)) return c.elem_only(0, 0);
  const auto from = c.shape(0);
  auto perm = c.attr_ints(names::perm);
  if (!perm) {
    perm = Ints(from.size());
    std::iota(perm->rbegin(), perm->rend(), 0);
  }
  if (perm->size() != from.size()) return c.elem_only(0, 0);
  Dims d;
  std::vector<bool> taken(from.size());  // an axis that comes twice would lead beyond the elements
  for (const std::int64_t p : *perm) {
    if (p < 0 || p >= c.rank(0) || taken[static_cast<std::size_t>(p)]) return c.elem_only(0, 0);
    taken[static_cast<std::size_t>(p)] = true;
    d.push_back(from[static_cast<std::size_t>(p)]);
  }
  std::optional<SymbolicTensor> value;
  if (const SymbolicTensor* t = c.sym(0); t && t->dims.size() == d.size()) {
    Ints out;
    for (const std::int64_t p : *perm) out.push_back(t->dims[static_cast<std::size_t>(p)]);
    const auto strides = strides_of(t->dims);
    value = pick(*t, out, [&](const Ints& at) {
      std::int64_t index = 0;
      for (std::size_t k = 0; k < at.size(); ++k)
        index += at[k] * strides[static_cast<std::size_t>((*perm)[k])];
      return index;
    });
  }
  c.tensor(0, c.elem(0), d, value ? &*value : nullptr);
}

void one_hot(NodeContext& c) {
  if (!c.ranked(0)) return c.elem_only(0, 2);
  const auto axis = NodeContext::axis(c.attr_int(names::axis, -1), c.rank(0) + 1);
  if (!axis) return c.elem_only(0, 2);
  const SymbolicTensor* depth = c.sym(1);
  Dims d(c.shape(0).begin(), c.shape(0).end());
  d.insert(d.begin() + static_cast<std::ptrdiff_t>(*axis),
           depth && depth->elements.size() == 1 ? depth->elements[0] : DimId{});
  c.tensor(0, c.elem(2), d);
}

void non_zero(NodeContext& c) {
  DimId count, rank;
  if (c.ranked(0)) {
    rank = c.constant(std::max<std::int64_t>(c.rank(0), 1));
    if (c.rank(0) == 0) rank = DimId{};  // coordinates of a scalar differ between versions
    const NodeId def = c.m.value(c.in(0)).def;
    // Exporters write positions as NonZero(ConstantOfShape(s, 1)): every element counts.
    if (def && c.m.kind(def) == OpKind::ConstantOfShape) {
      const Attr* a = c.s.resolve(def, c.m.find_attr(def, names::value));
      const auto fill = a && a->tensor ? c.s.decode(a->tensor) : std::nullopt;
      if (fill && fill->elements.size() == 1 && fill->elements[0])
        count = c.dims.is_constant(fill->elements[0], 0) ? c.constant(0) : c.dims.product(c.shape(0));
    }
    if (const SymbolicTensor* t = count ? nullptr : c.sym(0)) {
      std::int64_t n = 0;
      bool all = true;
      for (const DimId d : t->elements) {
        const Tri zero = d ? c.dims.equal(d, c.constant(0)) : Tri::Unknown;
        all &= zero != Tri::Unknown;
        n += zero == Tri::No ? 1 : 0;
      }
      if (all) count = c.constant(n);
    }
    // As many as the operand has elements, at most.
    if (!count) count = c.fresh(0, 1, {0, c.dims.range(c.dims.product(c.shape(0))).high});
  }
  const DimId d[] = {rank, count};
  c.tensor(0, DType::Int64, d);
}

void compress(NodeContext& c) {
  const auto given = c.maybe_int(names::axis);
  if (!given) {
    const DimId d[] = {DimId{}};
    return c.tensor(0, c.elem(0), d);
  }
  const auto axis = NodeContext::axis(*given, c.rank(0));
  if (!axis) return c.elem_only(0, 0);
  Dims d(c.shape(0).begin(), c.shape(0).end());
  d[*axis] = {};
  c.tensor(0, c.elem(0), d);
}

void unique(NodeContext& c) {
  const DimId count = c.fresh(0, 1000);  // all four results have this many elements
  const DimId one[] = {count};
  DimId sources;  // as many as the operand has elements, or extents of the axis
  if (const auto given = c.maybe_int(names::axis); !given) {
    if (c.ranked(0)) sources = c.dims.product(c.shape(0));
    c.tensor(0, c.elem(0), one);
  } else if (!c.ranked(0)) {
    c.elem_only(0, 0);
  } else if (const auto axis = NodeContext::axis(*given, c.rank(0))) {
    Dims d(c.shape(0).begin(), c.shape(0).end());
    sources = d[*axis];
    d[*axis] = count;
    c.tensor(0, c.elem(0), d);
  }
  c.tensor(1, DType::Int64, one);
  const DimId inverse[] = {sources};
  c.tensor(2, DType::Int64, inverse);
  c.tensor(3, DType::Int64, one);
}

}  // namespace graphopt::rules
