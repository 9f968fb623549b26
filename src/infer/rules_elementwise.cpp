// Elementwise operators: results have the broadcast dims of the operands; small integer operands are
// computed.
#include <algorithm>
#include <cmath>

#include "infer/rules.h"
#include "infer/values.h"

namespace graphopt::rules {
namespace {

// Returns true if elements of operand i are known, or cheap to decode. Called first, so that weights are not
// decoded in vain.
bool may_have_values(const NodeContext& c, std::size_t i) {
  const ValueId v = c.in(i);
  return v && c.s.sym[v.index()] != Inference::State::kNoSymbolic;
}

bool all_may_have_values(const NodeContext& c) {
  for (std::size_t i = 0; i < c.input_count(); ++i)
    if (c.has(i) && !may_have_values(c, i)) return false;
  return c.input_count() > 0;
}

DimId truth(NodeContext& c, Tri t) { return t == Tri::Unknown ? DimId{} : c.constant(t == Tri::Yes ? 1 : 0); }
Tri invert(Tri t) { return t == Tri::Unknown ? t : t == Tri::Yes ? Tri::No : Tri::Yes; }

// Returns whether a 0/1 element is known to be 0, or to be 1.
bool known(NodeContext& c, DimId d, std::int64_t v) { return c.dims.is_constant(d, v); }

DimId power(NodeContext& c, DimId a, DimId b) {
  const auto e = c.value(b);
  if (!e || *e < 0 || *e > 62) return {};
  DimId r = c.constant(1);
  for (std::int64_t i = 0; i < *e; ++i) r = c.dims.mul(r, a);
  return r;
}

DimId divide(NodeContext& c, DType type, DimId a, DimId b) {
  if (is_int(type)) return c.dims.trunc_div(a, b);
  // A float quotient that is an integer is exact. The divisor must not be 0 in any run: x/0 is no integer.
  return c.dims.equal(b, c.constant(0)) == Tri::No ? c.dims.exact_div(a, b) : DimId{};
}

DimId modulo(NodeContext& c, DType type, DimId a, DimId b, bool fmod) {
  if (!fmod && is_int(type)) return c.dims.mod(a, b);
  const DimId zero = c.constant(0);  // fmod has the sign of the dividend: the same for a >= 0, b > 0
  if (c.dims.less_equal(zero, a) == Tri::Yes && c.dims.less(zero, b) == Tri::Yes) return c.dims.mod(a, b);
  return {};
}

// Returns the mathematical result of an arithmetic operator. For two integers that are numbers it is not used
// (computed), so it only has to be a valid id then.
DimId mathematical(NodeContext& c, DType type, DimId a, DimId b, bool fmod) {
  if (is_int(type) && c.value(a) && c.value(b)) return a;
  switch (c.kind) {
    case OpKind::Add:
    case OpKind::Sum: return c.dims.add(a, b);
    case OpKind::Sub: return c.dims.sub(a, b);
    case OpKind::Mul: return c.dims.mul(a, b);
    case OpKind::Div: return divide(c, type, a, b);
    case OpKind::Mod: return modulo(c, type, a, b, fmod);
    case OpKind::Pow: return power(c, a, b);
    case OpKind::Min: return c.dims.min(a, b);
    case OpKind::Max: return c.dims.max(a, b);
    default: return {};
  }
}

DimId apply(NodeContext& c, DType type, DimId a, DimId b, bool fmod) {
  switch (c.kind) {
    case OpKind::And:
      if (known(c, a, 0) || known(c, b, 0)) return c.constant(0);
      return known(c, a, 1) ? b : known(c, b, 1) ? a : DimId{};
    case OpKind::Or:
      if (known(c, a, 1) || known(c, b, 1)) return c.constant(1);
      return known(c, a, 0) ? b : known(c, b, 0) ? a : DimId{};
    default: break;
  }
  // 0 * x is 0 for integers whatever x is; a float x may be NaN.
  if (c.kind == OpKind::Mul && is_int(type) && (known(c, a, 0) || known(c, b, 0))) return c.constant(0);
  if (c.kind == OpKind::Xor) return truth(c, invert(c.dims.equal(a, b)));
  return computed(c.dims, c.kind, type, a, b, mathematical(c, type, a, b, fmod), fmod);
}

// A float result 0 may be -0 in the run: 0 * negative, 0 / negative. As an integer both are 0, and none of
// the operators with symbolic values (Cast, Floor, comparisons, +, -, *) distinguishes them, except a
// division by it, which is refused.
std::optional<SymbolicTensor> calculate(NodeContext& c, DType type) {
  if (!has_values(type) || !all_may_have_values(c)) return std::nullopt;
  const SymbolicTensor *a = c.sym(0), *b = a ? c.sym(1) : nullptr;
  if (!a || !b) return std::nullopt;
  const bool fmod = c.kind == OpKind::Mod && c.attr_int(names::fmod, 0) != 0;
  return zip(*a, *b, type, c.s.options.max_elements,
             [&](DimId x, DimId y) { return apply(c, type, x, y, fmod); });
}

// States the type of a broadcasting operator's result; returns false when its rank is unknown.
bool broadcast_all(NodeContext& c, Dims& out) {
  bool first = true;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    if (!c.has(i)) continue;
    if (!c.ranked(i)) return false;
    const auto d = c.shape(i);
    if (first) {
      out.assign(d.begin(), d.end());
    } else if (d.size() <= out.size()) {  // in place: a Sum may have 10^6 operands
      const std::size_t shift = out.size() - d.size();
      for (std::size_t k = 0; k < d.size(); ++k) out[shift + k] = c.broadcast(out[shift + k], d[k]);
    } else {
      out = c.broadcast(out, d);
    }
    first = false;
  }
  return !first;
}

// Until opset 6 the second operand is aligned with the first one by attributes.
bool legacy(const NodeContext& c) {
  const int opset = c.opset();
  return opset > 0 && opset < 7 && c.m.text(c.m.op(c.n).domain).empty();
}

void broadcast_result(NodeContext& c, DType out, SymbolicTensor* value) {
  if (legacy(c)) {
    if (c.ranked(0)) c.tensor(0, out, c.shape(0));
    else if (c.is_tensor(0)) c.tensor(0, out);
    return;
  }
  if (c.input_count() == 2 && c.type_id(0) == c.type_id(1) && c.ranked(0) && c.elem(0) == out) {
    c.set(0, c.type_id(0), value);
    return;
  }
  Dims d;
  if (broadcast_all(c, d)) c.tensor(0, out, d, value);
  else if (out != DType::Undefined) c.tensor(0, out);
}

DType common_elem(const NodeContext& c) {
  for (std::size_t i = 0; i < c.input_count(); ++i)
    if (c.elem(i) != DType::Undefined) return c.elem(i);
  return DType::Undefined;
}

}  // namespace

void unary(NodeContext& c) { c.set(0, c.type_id(0)); }

void predicate(NodeContext& c) {
  if (c.ranked(0)) c.tensor(0, DType::Bool, c.shape(0));
  else c.tensor(0, DType::Bool);
}

namespace {

DimId unary_element(NodeContext& c, DType type, DimId d) {
  const DimId zero = c.constant(0);
  // computed() takes the number of an integer type itself: the pool has no -(-2^63).
  const bool by_number = is_int(type) && c.value(d);
  const auto exact = [&](DimId result) { return computed(c.dims, c.kind, type, d, result); };
  switch (c.kind) {
    case OpKind::Border:
    case OpKind::Identity:
    case OpKind::Floor:
    case OpKind::Ceil:
    case OpKind::Round: return d;  // integers
    case OpKind::Not: return c.dims.sub(c.constant(1), d);
    case OpKind::Neg: return exact(by_number ? zero : c.dims.neg(d));
    case OpKind::Abs: return exact(by_number ? zero : c.dims.max(d, c.dims.neg(d)));
    case OpKind::Relu: return exact(c.dims.max(d, zero));
    case OpKind::Sign:
      return exact(c.dims.less(zero, d) == Tri::Yes    ? c.constant(1)
                   : c.dims.less(d, zero) == Tri::Yes  ? c.constant(-1)
                   : c.dims.equal(d, zero) == Tri::Yes ? zero
                                                       : DimId{});
    case OpKind::Sqrt: {
      const auto v = c.value(d);
      const auto root = v && *v >= 0 && *v <= (std::int64_t{1} << 52)
                            ? std::llround(std::sqrt(static_cast<double>(*v)))
                            : -1;
      return root >= 0 && root * root == *v ? c.constant(root) : DimId{};
    }
    default: return {};
  }
}

}  // namespace

void unary_value(NodeContext& c) {
  const SymbolicTensor* x = c.sym(0);
  if (!x) {
    c.set(0, c.type_id(0));
    return;
  }
  SymbolicTensor r = *x;
  for (DimId& d : r.elements) d = unary_element(c, r.dtype, d);
  c.set(0, c.type_id(0), &r);
}

void binary(NodeContext& c) {
  const DType type = c.kind == OpKind::Pow ? c.elem(0) : common_elem(c);
  auto value = calculate(c, type);
  broadcast_result(c, type, value ? &*value : nullptr);
}

// The standard lets the slope broadcast to the operand alone; ONNX Runtime broadcasts both. The checker,
// which knows the standard alone, refuses a file that states an extent that only the slope has.
void prelu(NodeContext& c) {
  const DType elem = c.elem(0);
  if (elem == DType::Undefined) return;
  if (!c.ranked(0) || !c.ranked(1) || c.rank(1) > c.rank(0)) return c.tensor(0, elem);
  const auto own = c.shape(0);
  Dims dims = c.broadcast(own, c.shape(1));
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != own[i]) dims[i] = {};
  c.tensor(0, elem, dims);
}

void compare(NodeContext& c) {
  std::optional<SymbolicTensor> value;
  const DType type = common_elem(c);
  if (has_values(type) && all_may_have_values(c)) {
    const SymbolicTensor *a = c.sym(0), *b = a ? c.sym(1) : nullptr;
    if (a && b)
      value = zip(*a, *b, DType::Bool, c.s.options.max_elements, [&](DimId x, DimId y) -> DimId {
        switch (c.kind) {
          case OpKind::Equal: return truth(c, c.dims.equal(x, y));
          case OpKind::Less: return truth(c, c.dims.less(x, y));
          case OpKind::LessOrEqual: return truth(c, c.dims.less_equal(x, y));
          case OpKind::Greater: return truth(c, c.dims.less(y, x));
          case OpKind::GreaterOrEqual: return truth(c, c.dims.less_equal(y, x));
          default: return {};
        }
      });
  }
  broadcast_result(c, DType::Bool, value ? &*value : nullptr);
}

void variadic(NodeContext& c) {
  const DType type = common_elem(c);
  std::optional<SymbolicTensor> value;
  if (c.kind != OpKind::Mean && has_values(type) && all_may_have_values(c)) {
    for (std::size_t i = 0; i < c.input_count(); ++i) {
      const SymbolicTensor* x = c.sym(i);
      if (!x) {
        value.reset();
        break;
      }
      if (i == 0) value = *x;
      else if (value)
        value = zip(*value, *x, type, c.s.options.max_elements,
                    [&](DimId p, DimId q) { return apply(c, type, p, q, false); });
      if (!value) break;
    }
  }
  broadcast_result(c, type, value ? &*value : nullptr);
}

void where(NodeContext& c) {
  const DType type = c.elem(1) != DType::Undefined ? c.elem(1) : c.elem(2);
  std::optional<SymbolicTensor> value;
  if (has_values(type) && may_have_values(c, 1) && may_have_values(c, 2)) {
    const SymbolicTensor *x = c.sym(1), *y = c.sym(2), *cond = c.sym(0);
    if (x && y) {
      // Without a known condition, an element is known where both operands agree.
      SymbolicTensor unknown_cond;
      if (!cond && c.ranked(0)) {
        unknown_cond.dtype = DType::Bool;
        bool all = true;
        for (const DimId d : c.shape(0)) {
          const auto v = c.value(d);
          if (v) unknown_cond.dims.push_back(*v);
          all &= v.has_value();
        }
        const auto n = all ? count_of(unknown_cond.dims) : std::nullopt;
        if (n && static_cast<std::uint64_t>(*n) <= c.s.options.max_elements) {
          unknown_cond.elements.assign(static_cast<std::size_t>(*n), DimId{});
          cond = &unknown_cond;
        }
      }
      const SymbolicTensor* all[] = {cond, x, y};
      auto d = cond ? broadcast_dims(all, c.s.options.max_elements) : std::nullopt;
      if (d) {
        const auto ic = broadcast_index(*d, cond->dims), ix = broadcast_index(*d, x->dims),
                   iy = broadcast_index(*d, y->dims);
        value = SymbolicTensor{type, *d, {}};
        for (std::size_t i = 0; i < ic.size(); ++i) {
          const DimId p = cond->elements[ic[i]], a = x->elements[ix[i]], b = y->elements[iy[i]];
          value->elements.push_back(known(c, p, 1) ? a : known(c, p, 0) ? b : a == b ? a : DimId{});
        }
      }
    }
  }
  broadcast_result(c, type, value ? &*value : nullptr);
}

namespace {

void cast_to(NodeContext& c, DType to) {
  std::optional<SymbolicTensor> value;
  if (has_values(to)) {
    if (const SymbolicTensor* x = c.sym(0)) {
      value = *x;
      value->dtype = to;
      for (DimId& d : value->elements) {
        if (to == DType::Bool) d = truth(c, invert(c.dims.equal(d, c.constant(0))));
        else d = fit(c.dims, to, d);
      }
    }
  }
  if (c.ranked(0)) c.tensor(0, to, c.shape(0), value ? &*value : nullptr);
  else if (to != DType::Undefined) c.tensor(0, to);
}

}  // namespace

void cast(NodeContext& c) {
  DType to = DType::Undefined;
  if (const Attr* a = c.attr(names::to)) {
    if (a->kind == AttrKind::Int && a->i > 0 && a->i < 256) to = static_cast<DType>(a->i);
    else if (a->kind == AttrKind::String) {  // opsets 1 to 5
      std::string lower;
      for (const char ch : a->s) lower += static_cast<char>(ch >= 'A' && ch <= 'Z' ? ch + 32 : ch);
      to = dtype_from_name(lower).value_or(DType::Undefined);
    }
  }
  if (to != DType::Undefined && c.is_tensor(0)) cast_to(c, to);
  else if (to != DType::Undefined) c.tensor(0, to);
}

void cast_like(NodeContext& c) {
  if (c.elem(1) != DType::Undefined) cast_to(c, c.elem(1));
}

// The standard and the runtime agree only where the lower bound is not above the upper one.
void clip(NodeContext& c) {
  const SymbolicTensor* x = c.sym(0);
  std::optional<SymbolicTensor> value;
  if (x && c.opset() >= 11) {
    const auto bound = [&](std::size_t i) -> DimId {
      const SymbolicTensor* t = c.has(i) ? c.sym(i) : nullptr;
      return t && t->elements.size() == 1 ? t->elements[0] : DimId{};
    };
    const DimId low = bound(1), high = bound(2);
    const bool in_order = !low || !high || c.dims.less_equal(low, high) == Tri::Yes;
    if ((low || !c.has(1)) && (high || !c.has(2)) && in_order) {
      value = *x;
      for (DimId& d : value->elements) {
        if (low) d = computed(c.dims, OpKind::Max, value->dtype, d, low, c.dims.max(d, low));
        if (high) d = computed(c.dims, OpKind::Min, value->dtype, d, high, c.dims.min(d, high));
      }
    }
  }
  c.set(0, c.type_id(0), value ? &*value : nullptr);
}

void dropout(NodeContext& c) {
  const SymbolicTensor* x = !c.has(2) ? c.sym(0) : nullptr;
  std::optional<SymbolicTensor> copy;
  if (x && c.opset() >= 7) copy = *x;
  c.set(0, c.type_id(0), copy ? &*copy : nullptr);
  if (!c.has_output(1)) return;
  const DType mask = c.opset() >= 10 ? DType::Bool : c.elem(0);
  if (c.ranked(0)) c.tensor(1, mask, c.shape(0));
  else if (mask != DType::Undefined) c.tensor(1, mask);
}

}  // namespace graphopt::rules
