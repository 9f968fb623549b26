// The functions of NodeContext: operands, attributes with defaults, broadcasting, results.
#include "infer/context.h"

#include <algorithm>

namespace graphopt {

NodeContext::NodeContext(Inference::State& state, NodeId node)
    : s(state), m(state.m), dims(state.m.dims), n(node), kind(state.m.kind(node)) {
  if (output_count() > 64) stated_more_.assign(output_count() - 64, false);
}

int NodeContext::opset() const {
  const std::int64_t v = m.opset(n);
  return static_cast<int>(std::clamp<std::int64_t>(v, 0, 1'000'000));
}

TypeId NodeContext::type_id(std::size_t i) const {
  const ValueId v = in(i);
  return v ? s.type(v) : m.types.unknown();
}

const SymbolicTensor* NodeContext::sym(std::size_t i) const {
  const ValueId v = in(i);
  return v ? s.symbolic(v) : nullptr;
}

std::optional<Ints> NodeContext::ints(std::size_t i) const {
  const SymbolicTensor* t = sym(i);
  if (!t) return std::nullopt;
  Ints out;
  out.reserve(t->elements.size());
  for (const DimId d : t->elements) {
    const auto v = d ? dims.value(d) : std::nullopt;
    if (!v) return std::nullopt;
    out.push_back(*v);
  }
  return out;
}

std::optional<std::int64_t> NodeContext::scalar(std::size_t i) const {
  const SymbolicTensor* t = sym(i);
  if (!t || t->elements.size() != 1) return std::nullopt;
  return dims.value(t->elements[0]);
}

std::optional<Dims> NodeContext::shape_operand(std::size_t i) const {
  if (const SymbolicTensor* t = sym(i); t && t->dims.size() <= 1) return t->elements;
  if (!ranked(i) || rank(i) != 1) return std::nullopt;
  const auto count = value(shape(i)[0]);
  if (!count || *count < 0 || *count > 64) return std::nullopt;  // more axes than any runtime takes
  return Dims(static_cast<std::size_t>(*count));
}

const Attr* NodeContext::attr(NameId name) const { return s.resolve(n, m.find_attr(n, name)); }

const Attr* NodeContext::attr(std::string_view name) const {
  for (const Attr& a : m.attrs(n))
    if (m.text(a.name) == name) return s.resolve(n, &a);
  return nullptr;
}

std::int64_t NodeContext::attr_int(NameId name, std::int64_t fallback) const {
  const Attr* a = attr(name);
  return a && a->kind == AttrKind::Int ? a->i : fallback;
}

std::int64_t NodeContext::attr_int(std::string_view name, std::int64_t fallback) const {
  const Attr* a = attr(name);
  return a && a->kind == AttrKind::Int ? a->i : fallback;
}

std::optional<std::int64_t> NodeContext::maybe_int(NameId name) const {
  const Attr* a = attr(name);
  return a && a->kind == AttrKind::Int ? std::optional(a->i) : std::nullopt;
}

std::optional<Ints> NodeContext::attr_ints(NameId name) const {
  const Attr* a = attr(name);
  if (!a || a->kind != AttrKind::Ints) return std::nullopt;
  return Ints(a->ints.begin(), a->ints.end());
}

std::string_view NodeContext::attr_string(NameId name, std::string_view fallback) const {
  const Attr* a = attr(name);
  return a && a->kind == AttrKind::String ? a->s : fallback;
}

// A run requires a == b, or that one of them is 1. So where one side cannot be 1, the result is that side
// (the other is equal to it or 1). Where both may be 1 the result is a or b, and unknown unless they are
// equal.
DimId NodeContext::broadcast(DimId a, DimId b) {
  if (a == b || !a || !b) return a == b ? a : DimId{};
  const auto va = dims.value(a), vb = dims.value(b);
  if (va && *va == 1) return b;
  if (vb && *vb == 1) return a;
  if (va && vb) return a == b ? a : DimId{};
  if (va) return a;
  if (vb) return b;
  const DimId one = dims.constant(1);
  if (dims.equal(a, b) == Tri::Yes) return a;
  const bool a_big = dims.equal(a, one) == Tri::No, b_big = dims.equal(b, one) == Tri::No;
  if (a_big && b_big) same(a, b);
  if (a_big) return a;
  if (b_big) return b;
  for (const auto& [d, other] : {std::pair(a, b), std::pair(b, a)}) {
    // d and other are equal, or d is 0 and other q. That fails unless q is 0 or 1.
    const DimId q = at_zero(d, other);
    if (!q || !never_negative(d)) continue;
    if (dims.equal(q, one) == Tri::No && dims.equal(q, dims.constant(0)) == Tri::No) positive(d);
    return d;
  }
  if (const DimId d = broadcast_symbols(a, b)) return d;
  return broadcast_symbols(b, a);
}

// Returns a if b is 1 in every run in which a is 1. Then a is the result: where a is not 1, b is 1 or a. So
// positions that are cut to the table's 512 rows, min(512, seq), broadcast with seq to seq.
DimId NodeContext::broadcast_symbols(DimId a, DimId b) {
  const DimId one = dims.constant(1);
  for (const DimId s : dims.symbols_of(a)) {
    const DimId rest = dims.sub(a, s);  // a == 1 means s == 1 - rest, whatever rest is
    if (dims.is_constant(dims.substitute(b, s, dims.sub(one, rest)), 1)) return a;
  }
  // min(1, n) is 1 except for n = 0; where a is also 0 when n is, the result is a in both cases.
  for (const DimId s : dims.symbols_of(b))
    if (b == dims.min(one, s) && zero_with(s, a)) return a;
  return {};
}

void NodeContext::zero_implies(DimId a, DimId b) {
  if (!a || !b || a == b || dims.value(a) || !s.in_every_run(n)) return;
  s.zero_pairs.insert(std::uint64_t{a.index()} << 32 | b.index());
}

bool NodeContext::zero_with(DimId a, DimId b) {
  if (!a || !b) return false;
  if (s.zero_pairs.contains(std::uint64_t{a.index()} << 32 | b.index())) return true;
  const DimId zero = dims.constant(0);
  if (a == b || dims.equal(a, zero) == Tri::No || dims.is_constant(b, 0)) return true;
  if (dims.exact_div(b, a, true)) return true;
  // 0 <= b <= k * a
  if (never_negative(b))
    for (const std::int64_t k : {1, 2, 8})
      if (dims.less_equal(b, dims.mul(a, dims.constant(k))) == Tri::Yes) return true;
  for (const DimId s : dims.symbols_of(a)) {
    const DimId rest = dims.sub(a, s);  // a == 0 means s == -rest
    if (dims.is_constant(dims.substitute(b, s, dims.neg(rest)), 0)) return true;
  }
  s.ask_again(n);
  return false;
}

// Returns q where b = a + q * (1 - min(1, a)): b is a where a is above 0, and q where a is 0. None where b is
// no such expression.
DimId NodeContext::at_zero(DimId a, DimId b) {
  if (const auto it = s.alternatives.find(b); it != s.alternatives.end() && it->second.first == a)
    return it->second.second;
  if (!dims.is_symbol(a) && !dims.is_symbol(b)) s.ask_again(n);
  if (s.alternatives.empty()) return {};  // nothing is of that form, and the division takes time
  return dims.exact_div(dims.sub(b, a), zero_count(a), true);
}

// Returns 1 - min(1, d): 1 where d is 0. The layers of a model ask for the same few, which take the pool a
// while.
DimId NodeContext::zero_count(DimId d) {
  if (s.zero_counts_epoch != dims.epoch()) s.zero_counts.clear();
  s.zero_counts_epoch = dims.epoch();
  const auto [at, added] = s.zero_counts.try_emplace(d);
  if (added) at->second = dims.sub(dims.constant(1), dims.min(dims.constant(1), d));
  return at->second;
}

bool NodeContext::never_zero(DimId d) {
  if (!d) return false;
  // What is a where a is not 0, and else b, is 0 where b is.
  for (auto it = s.alternatives.find(d); it != s.alternatives.end(); it = s.alternatives.find(d))
    d = it->second.second;
  const DimId zero = dims.constant(0);
  if (dims.equal(d, zero) == Tri::No) return true;
  if (dims.is_symbol(d)) return false;
  for (const DimId symbol : dims.symbols_of(d)) {
    if (dims.range(symbol).low != 0) continue;
    if (dims.equal(at_zero(symbol, d), zero) == Tri::No) return true;
  }
  return false;
}

DimId NodeContext::unless_zero(DimId d, DimId other) {
  if (!d || never_zero(d) || zero_with(d, other)) return d;
  if (!other) return {};
  if (at_zero(d, other)) return other;  // which is d, too, where d is not 0
  if (dims.is_symbol(d)) other = dims.substitute(other, d, dims.constant(0));
  const DimId either = dims.add(d, dims.mul(other, zero_count(d)));
  if (!either || either == d) return either;
  // Both follow from what is known of d and other: no node has to assert them.
  if (never_negative(d) && never_negative(other)) s.extents.insert(either);
  s.alternatives.insert({either, {d, other}});
  return either;
}

bool NodeContext::never_negative(DimId d) const {
  if (dims.range(d).low >= 0 || s.extents.contains(d)) return true;
  s.ask_again(n);
  return false;
}

Dims NodeContext::broadcast(std::span<const DimId> a, std::span<const DimId> b) {
  if (a.size() < b.size()) std::swap(a, b);
  Dims out(a.begin(), a.end());
  const std::size_t shift = a.size() - b.size();
  for (std::size_t i = 0; i < b.size(); ++i) out[shift + i] = broadcast(a[shift + i], b[i]);
  return out;
}

// Where one of both is what unless_zero() gave for a symbol: if they differ where it is 0, it is not 0.
void NodeContext::not_zero_where_unlike(DimId a, DimId b) {
  for (const DimId side : {a, b}) {
    const auto it = s.alternatives.find(side);
    if (it == s.alternatives.end()) continue;
    const DimId symbol = it->second.first, zero = dims.constant(0);
    if (!dims.is_symbol(symbol) || dims.range(symbol).low != 0) continue;
    const DimId x = dims.substitute(a, symbol, zero), y = dims.substitute(b, symbol, zero);
    if (x && y && x != y && dims.equal(x, y) == Tri::No) positive(symbol);
  }
}

void NodeContext::same(DimId a, DimId b) {
  if (a == b || !asserts()) return;
  if (!s.alternatives.empty()) not_zero_where_unlike(a, b);
  dims.assert_equal(a, b);
}

void NodeContext::positive(DimId symbol) {
  if (asserts() && dims.is_symbol(symbol)) dims.assert_range(symbol, {1, Range::kMax});
}

std::optional<std::size_t> NodeContext::axis(std::int64_t a, std::int64_t rank) {
  if (a < -rank || a >= rank) return std::nullopt;
  return static_cast<std::size_t>(a < 0 ? a + rank : a);
}

DimId NodeContext::fresh(std::size_t output, std::uint32_t slot, Range range) {
  for (std::size_t i = 0; i <= output_count(); ++i) {
    // The symbol belongs to a value: to another result where this one is an empty slot.
    const std::size_t k = (output + i) % (output_count() + 1);
    const auto apart = static_cast<std::uint32_t>(i == 0 ? 0 : (output + 1) << 16);
    if (has_output(k)) return s.fresh(m.output(n, k), slot + apart, range);
  }
  return {};
}

void NodeContext::set(std::size_t i, TypeId type, SymbolicTensor* symbolic) {
  if (i < 64) stated_ |= std::uint64_t{1} << i;
  else stated_more_[i - 64] = true;
  const ValueId v = m.output(n, i);
  if (v) s.commit(v, type, symbolic);
}

void NodeContext::elem_only(std::size_t i, std::size_t operand) {
  if (elem(operand) != DType::Undefined) tensor(i, elem(operand));
}

void NodeContext::tensor(std::size_t i, DType elem) { set(i, m.types.tensor(elem)); }

void NodeContext::tensor(std::size_t i, DType elem, std::span<const DimId> d, SymbolicTensor* symbolic) {
  if (!has_output(i)) return;
  Dims named;
  for (std::size_t k = 0; k < d.size(); ++k) {
    // Operands that make an extent negative are refused in a run; nothing is stated of it.
    if (d[k] && dims.value(d[k]).value_or(0) >= 0) continue;
    if (named.empty()) named.assign(d.begin(), d.end());
    named[k] = fresh(i, static_cast<std::uint32_t>(k));
  }
  if (asserts())
    for (const DimId x : d)
      if (x && dims.range(x).low < 0) s.extents.insert(x);
  set(i, m.types.tensor(elem, named.empty() ? d : std::span<const DimId>(named)), symbolic);
}

void NodeContext::symbolic(std::size_t i, SymbolicTensor t) {
  Dims d;
  for (const std::int64_t k : t.dims) d.push_back(constant(k));
  tensor(i, t.dtype, d, &t);
}

void NodeContext::finish() {
  for (std::size_t i = 0; i < output_count(); ++i) {
    const bool stated = i < 64 ? (stated_ >> i & 1) != 0 : stated_more_[i - 64];
    if (!stated) set(i, m.types.unknown());
  }
}

}  // namespace graphopt
