// Operators that read or make shapes: Shape, Expand, Range, Squeeze, ... Reshape: rules_reshape.cpp.
#include <algorithm>

#include "infer/rules.h"
#include "infer/values.h"
#include "ops/integer_arithmetic.h"

namespace graphopt::rules {
namespace {

// Returns an element that is an extent. A negative one makes the operator fail.
DimId extent(NodeContext& c, DimId d) {
  const auto v = d ? c.value(d) : std::nullopt;
  return v && *v < 0 ? DimId{} : d;
}

std::optional<std::int64_t> known_length(NodeContext& c, std::size_t i) {
  const auto d = c.shape_operand(i);
  return d ? std::optional(static_cast<std::int64_t>(d->size())) : std::nullopt;
}

// Returns the axes of an attribute or operand, as given.
std::optional<Ints> axes_of(NodeContext& c, int operand_since) {
  if (c.opset() >= operand_since) return c.has(1) ? c.ints(1) : std::nullopt;
  return c.attr_ints(names::axes);
}

SymbolicTensor scalar_of(DType t, DimId d) { return {t, {}, {d}}; }

}  // namespace

void constant(NodeContext& c) {
  const ValueId v = c.m.output(c.n, 0);
  if (v && c.m.value(v).tensor) {
    const Tensor& t = c.m.tensor(c.m.value(v).tensor);
    Dims d;
    for (const std::int64_t k : t.dims) d.push_back(c.constant(k));
    c.tensor(0, t.dtype, d);
    if (c.m.constant_of(v)) c.s.see_constant(v);
    return;
  }
  if (const Attr* a = c.attr(names::value_int); a && a->kind == AttrKind::Int)
    return c.symbolic(0, scalar_of(DType::Int64, c.constant(a->i)));
  if (const Attr* a = c.attr(names::value_ints); a && a->kind == AttrKind::Ints) {
    SymbolicTensor t{DType::Int64, {static_cast<std::int64_t>(a->ints.size())}, {}};
    for (const std::int64_t i : a->ints) t.elements.push_back(c.constant(i));
    return c.symbolic(0, std::move(t));
  }
  // ONNX Runtime goes by the kind of an attribute, not by its name: nothing is known where they differ.
  if (const Attr* a = c.attr(names::value_float); a && a->kind == AttrKind::Float)
    return c.tensor(0, DType::Float, {});
  if (const Attr* a = c.attr(names::value_string); a && a->kind == AttrKind::String)
    return c.tensor(0, DType::String, {});
  if (const Attr* a = c.attr(names::value_floats); a && a->kind == AttrKind::Floats) {
    const DimId d[] = {c.constant(static_cast<std::int64_t>(a->floats.size()))};
    return c.tensor(0, DType::Float, d);
  }
  if (const Attr* a = c.attr(names::value_strings); a && a->kind == AttrKind::Strings) {
    const DimId d[] = {c.constant(static_cast<std::int64_t>(a->strings.size()))};
    return c.tensor(0, DType::String, d);
  }
  if (const Attr* a = c.attr(names::value); a && a->tensor) {  // inside a function, the caller's tensor
    const Tensor& t = c.m.tensor(a->tensor);
    auto value = c.s.decode(a->tensor);
    Dims d;
    for (const std::int64_t k : t.dims) d.push_back(c.constant(k));
    c.tensor(0, t.dtype, d, value ? &*value : nullptr);
  }
}

void shape(NodeContext& c) {
  if (!c.ranked(0)) {
    const DimId d[] = {DimId{}};
    return c.tensor(0, DType::Int64, d);
  }
  const auto all = c.shape(0);
  const auto n = static_cast<std::int64_t>(all.size());
  std::int64_t start = 0, end = n;
  if (c.opset() >= 15) {
    start = c.attr_int(names::start, 0);
    end = c.attr_int(names::end, n);
    if (start < 0) start += n;
    if (end < 0) end += n;
    start = std::clamp<std::int64_t>(start, 0, n);
    end = std::clamp<std::int64_t>(end, start, n);
  }
  SymbolicTensor t{DType::Int64, {end - start}, {}};
  t.elements.assign(all.begin() + start, all.begin() + end);
  c.symbolic(0, std::move(t));
}

void size(NodeContext& c) {
  c.symbolic(0, scalar_of(DType::Int64, c.ranked(0) ? c.dims.product(c.shape(0)) : DimId{}));
}

void constant_of_shape(NodeContext& c) {
  const Attr* a = c.attr(names::value);
  DType elem = DType::Float;
  DimId fill = c.constant(0);
  if (a && a->tensor) {
    elem = c.m.tensor(a->tensor).dtype;
    const auto value = c.s.decode(a->tensor);
    fill = value && value->elements.size() == 1 ? value->elements[0] : DimId{};
  }
  auto d = c.shape_operand(0);
  if (!d) return c.tensor(0, elem);
  Ints numbers;
  for (DimId& x : *d) {
    x = extent(c, x);
    const auto v = x ? c.value(x) : std::nullopt;
    if (v) numbers.push_back(*v);
  }
  const auto n = numbers.size() == d->size() ? count_of(numbers) : std::nullopt;
  if (fill && n && static_cast<std::uint64_t>(*n) <= c.s.options.max_elements && has_values(elem)) {
    SymbolicTensor t{elem, numbers, Dims(static_cast<std::size_t>(*n), fill)};
    return c.tensor(0, elem, *d, &t);
  }
  c.tensor(0, elem, *d);
}

namespace {

// Returns whether onnx's inference, which computes in the type itself where all three are constants, and with
// which the checker compares, comes to the same number as doubles.
bool checker_counts_alike(DType elem, std::optional<std::int64_t> first, std::optional<std::int64_t> last,
                          std::int64_t step) {
  if (!first || !last) return true;
  const auto small = [](std::int64_t v, std::int64_t limit) { return -limit <= v && v <= limit; };
  constexpr std::int64_t kHalf = std::numeric_limits<std::int32_t>::max() / 2;
  if (elem == DType::Int32) return small(*first, kHalf) && small(*last, kHalf);
  if (!is_float(elem) || elem == DType::Double) return true;
  const std::int64_t exact = kExactInFloat / 2;
  return small(*first, exact) && small(*last, exact) && small(step, exact);
}

// Returns ceil((limit - start) / delta), at least 0: as ONNX Runtime counts, which subtracts and divides in
// doubles. None when that may round.
DimId range_count(NodeContext& c, DType elem, DimId start, DimId limit, DimId delta) {
  const auto step = delta ? c.value(delta) : std::nullopt;
  if (!step || *step == 0 || !exact_in_double(*step)) return {};
  const auto first = c.value(start), last = c.value(limit);
  if (!checker_counts_alike(elem, first, last, *step)) return {};
  if (is_int(elem) && first && last) {
    const auto n = integers::range_count(*first, *last, *step);
    return n ? c.constant(*n) : DimId{};
  }
  const DimId span = c.dims.sub(limit, start);
  for (const DimId d : {start, limit, span}) {
    const Range r = c.dims.range(d);
    if (r.low < -kExactInDouble / 2 || r.high > kExactInDouble / 2) return {};
  }
  DimId n = *step == 1    ? span
            : *step == -1 ? c.dims.neg(span)
                          : c.dims.ceil_div(*step > 0 ? span : c.dims.neg(span),
                                            c.constant(*step > 0 ? *step : -*step));
  if (n && !c.never_negative(n)) n = c.dims.max(n, c.constant(0));
  return n;
}

}  // namespace

void range(NodeContext& c) {
  const DType elem = c.elem(0) != DType::Undefined   ? c.elem(0)
                     : c.elem(1) != DType::Undefined ? c.elem(1)
                                                     : c.elem(2);
  const auto one = [&](std::size_t i) -> DimId {
    const SymbolicTensor* t = c.sym(i);
    return t && t->elements.size() == 1 ? t->elements[0] : DimId{};
  };
  const DimId start = one(0), delta = one(2);
  const DimId n = range_count(c, elem, start, one(1), delta);
  const auto count = n ? c.value(n) : std::nullopt;
  const DimId d[] = {n};
  if (count && *count >= 0 &&
      static_cast<std::uint64_t>(*count) <= std::min<std::size_t>(c.s.options.max_elements, 1024)) {
    SymbolicTensor t{elem, {*count}, {}};
    DimId x = start;
    for (std::int64_t i = 0; i < *count; ++i) {
      if (i > 0) x = computed(c.dims, OpKind::Add, elem, x, delta, c.dims.add(x, delta));
      t.elements.push_back(x);
    }
    return c.tensor(0, elem, d, &t);
  }
  if (elem != DType::Undefined) c.tensor(0, elem, d);
}

void expand(NodeContext& c) {
  const DType elem = c.elem(0);
  const auto wanted = c.shape_operand(1);
  if (!wanted || !c.ranked(0)) {
    if (elem != DType::Undefined) c.tensor(0, elem);
    return;
  }
  Dims d = *wanted;
  for (DimId& x : d) x = extent(c, x);
  // Where neither side can be 1 they are equal; the wanted one is stated, since the operand's would prove of
  // the node that it changes nothing, and then nothing would require that any more.
  d = c.broadcast(d, c.shape(0));
  std::optional<SymbolicTensor> value;
  if (const SymbolicTensor* t = c.sym(0)) {
    SymbolicTensor target{t->dtype, {}, {}};
    for (const DimId k : d)
      if (const auto v = c.value(k)) target.dims.push_back(*v);
    if (target.dims.size() == d.size()) {
      const auto n = count_of(target.dims);
      if (n && static_cast<std::uint64_t>(*n) <= c.s.options.max_elements) {
        for (const std::uint32_t i : broadcast_index(target.dims, t->dims))
          target.elements.push_back(t->elements[i]);
        value = std::move(target);
      }
    }
  }
  c.tensor(0, elem, d, value ? &*value : nullptr);
}

namespace {

// Same elements, other dims of extent 1.
void unit_dims_changed(NodeContext& c, const Dims& d) {
  if (const SymbolicTensor* t = c.sym(0)) {
    SymbolicTensor r{t->dtype, {}, t->elements};
    for (const DimId k : d)
      if (const auto v = c.value(k)) r.dims.push_back(*v);
    if (r.dims.size() == d.size() && count_of(r.dims) == static_cast<std::int64_t>(r.elements.size()))
      return c.tensor(0, c.elem(0), d, &r);
  }
  c.tensor(0, c.elem(0), d);
}

}  // namespace

void squeeze(NodeContext& c) {
  const DType elem = c.elem(0);
  if (!c.ranked(0)) {
    if (elem != DType::Undefined) c.tensor(0, elem);
    return;
  }
  const auto given = axes_of(c, 13);
  const bool absent = c.opset() >= 13 ? !c.has(1) : !c.attr(names::axes);
  const auto all = c.shape(0);
  Dims d;
  if (absent) {
    for (const DimId x : all) {
      if (c.is_one(x)) continue;
      // A dim that may be 1 is dropped when it is 1: so the rank is unknown.
      if (c.dims.equal(x, c.constant(1)) != Tri::No) return c.tensor(0, elem);
      d.push_back(x);
    }
    return unit_dims_changed(c, d);
  }
  if (!given) {
    // The number of axes determines the rank.
    const auto n = known_length(c, 1);
    if (n && *n <= c.rank(0)) return c.tensor(0, elem, Dims(static_cast<std::size_t>(c.rank(0) - *n)));
    return c.tensor(0, elem);
  }
  if (given->empty()) return c.tensor(0, elem);  // all axes of extent 1, or none, depending on the runtime
  std::vector<bool> drop(all.size(), false);
  for (const std::int64_t a : *given) {
    const auto k = NodeContext::axis(a, c.rank(0));
    if (!k) return c.tensor(0, elem);
    drop[*k] = true;
    c.same(all[*k], c.constant(1));
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!drop[i]) d.push_back(all[i]);
  unit_dims_changed(c, d);
}

void unsqueeze(NodeContext& c) {
  const DType elem = c.elem(0);
  const auto given = axes_of(c, 13);
  if (!c.ranked(0)) {
    if (elem != DType::Undefined) c.tensor(0, elem);
    return;
  }
  if (!given) {
    const auto n = known_length(c, 1);
    if (n) return c.tensor(0, elem, Dims(static_cast<std::size_t>(c.rank(0) + *n)));
    return c.tensor(0, elem);
  }
  const auto rank = c.rank(0) + static_cast<std::int64_t>(given->size());
  std::vector<bool> unit(static_cast<std::size_t>(rank), false);
  for (const std::int64_t a : *given) {
    const auto k = NodeContext::axis(a, rank);
    if (!k || unit[*k]) return c.tensor(0, elem);
    unit[*k] = true;
  }
  Dims d;
  std::size_t next = 0;
  for (std::size_t i = 0; i < unit.size(); ++i) d.push_back(unit[i] ? c.constant(1) : c.shape(0)[next++]);
  unit_dims_changed(c, d);
}

void flatten(NodeContext& c) {
  const DType elem = c.elem(0);
  if (!c.ranked(0)) {
    const DimId d[] = {DimId{}, DimId{}};
    if (elem != DType::Undefined) c.tensor(0, elem, d);
    return;
  }
  std::int64_t axis = c.attr_int(names::axis, 1);
  if (axis < 0) axis += c.rank(0);
  if (axis < 0 || axis > c.rank(0)) return c.tensor(0, elem);
  const auto all = c.shape(0);
  const DimId d[] = {c.dims.product(all.first(static_cast<std::size_t>(axis))),
                     c.dims.product(all.subspan(static_cast<std::size_t>(axis)))};
  c.tensor(0, elem, d);
}

void random_like(NodeContext& c) {
  const auto given = c.maybe_int(names::dtype);
  const DType elem = given && *given > 0 && *given < 256 ? static_cast<DType>(*given) : c.elem(0);
  if (elem == DType::Undefined) return;
  if (c.ranked(0)) c.tensor(0, elem, c.shape(0));
  else c.tensor(0, elem);
}

void random_shape(NodeContext& c) {
  const std::int64_t given = c.attr_int(names::dtype, 1);
  const DType elem = given > 0 && given < 256 ? static_cast<DType>(given) : DType::Float;
  const auto shape = c.attr_ints(names::shape);
  if (!shape) return c.tensor(0, elem);
  Dims d;
  for (const std::int64_t v : *shape) d.push_back(v >= 0 ? c.constant(v) : DimId{});
  c.tensor(0, elem, d);
}

void eye_like(NodeContext& c) { random_like(c); }

}  // namespace graphopt::rules
