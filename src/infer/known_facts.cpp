// Storage of facts: types and symbolic tensors by value, constants decoded on demand, fresh symbols, joins,
// and the comparison with the file's claims.
#include "infer/context.h"
#include "ops/constants.h"

namespace graphopt {

TypeId Inference::State::canonical(TypeId t) const {
  const std::uint32_t now = m.dims.epoch();
  if (now == first_epoch || !t) return t;
  if (canonical_types.size() <= t.index()) canonical_types.resize(m.types.size());
  {
    const auto& cached = canonical_types[t.index()];
    if (cached.first == now) return cached.second;
  }
  const Type& type = m.types[t];
  TypeId result = t;
  if (type.inner) {
    const TypeId inner = canonical(type.inner);  // types nest a few levels: their depth is checked on load
    if (inner != type.inner) {
      if (type.kind == TypeKind::Sequence) result = m.types.sequence(inner);
      else if (type.kind == TypeKind::Optional) result = m.types.optional(inner);
    }
  } else if (type.has_rank && (type.kind == TypeKind::Tensor || type.kind == TypeKind::SparseTensor)) {
    std::vector<DimId> d(type.dims.begin(), type.dims.end());
    bool changed = false;
    for (DimId& x : d) {
      const DimId c = x ? m.dims.canonical(x) : x;
      changed |= c != x;
      x = c;
    }
    if (changed)
      result =
          type.kind == TypeKind::Tensor ? m.types.tensor(type.elem, d) : m.types.sparse(type.elem, true, d);
  }
  canonical_types[t.index()] = {now, result};
  return result;
}

TypeId Inference::State::type(ValueId v) const {
  if (v.index() >= types.size()) return m.types.unknown();
  return canonical(types[v.index()]);
}

std::optional<SymbolicTensor> Inference::State::decode(TensorId id) const {
  const Tensor& t = m.tensor(id);
  if (bits_of(t.dtype) < 8 || static_cast<std::uint64_t>(t.elements) > options.max_elements)
    return std::nullopt;
  const std::optional<Bytes> payload = payload_of(m, id);
  if (!payload) return std::nullopt;
  SymbolicTensor out{t.dtype, t.dims, {}};
  out.elements.reserve(static_cast<std::size_t>(t.elements));
  bool any = t.elements == 0;
  for (std::int64_t i = 0; i < t.elements; ++i) {
    const auto x = integer_element(t.dtype, payload->data(), i);
    out.elements.push_back(x ? m.dims.constant(*x) : DimId{});
    any |= x.has_value();
  }
  return any ? std::optional(std::move(out)) : std::nullopt;
}

const SymbolicTensor* Inference::State::symbolic(ValueId v) const {
  if (v.index() >= sym.size()) return nullptr;
  std::uint32_t& index = sym[v.index()];
  if (index == kNoSymbolic) return nullptr;
  if (index == kNotLooked) {
    const TensorId t = m.constant_of(v);
    std::optional<SymbolicTensor> decoded = t ? decode(t) : std::nullopt;
    index = decoded ? store(std::move(*decoded)) : kNoSymbolic;
    if (!decoded) return nullptr;
  }
  Known& k = known[index - 1];
  const std::uint32_t now = m.dims.epoch();
  if (k.epoch != now) {
    for (DimId& d : k.tensor.elements) {
      const DimId c = d ? m.dims.canonical(d) : d;
      if (c != d) k.learned_at = m.dims.clock();
      d = c;
    }
    k.epoch = now;
  }
  return &k.tensor;
}

std::uint32_t Inference::State::store(SymbolicTensor t) const {
  if (free_known.empty()) {
    known.push_back({std::move(t), m.dims.epoch(), 0});
    return static_cast<std::uint32_t>(known.size());
  }
  const std::uint32_t index = free_known.back();
  free_known.pop_back();
  known[index - 1] = {std::move(t), m.dims.epoch(), 0};
  return index;
}

void Inference::State::forget_symbolic(ValueId v) {
  std::uint32_t& index = sym[v.index()];
  if (index != kNoSymbolic && index != kNotLooked) {
    known[index - 1].tensor = {};
    free_known.push_back(index);
  }
  index = kNoSymbolic;
}

void Inference::State::set_type(ValueId v, TypeId t) {
  TypeId& type = types[v.index()];
  if (type != t && m.types[type].kind != TypeKind::Unknown) ++type_changes;
  type = t;
}

void Inference::State::commit(ValueId v, TypeId t, SymbolicTensor* tensor) {
  // A revisit also tells users whose operand's type is only written otherwise now: they may have been visited
  // when it was not known to be the same.
  bool changed = refreshing ? types[v.index()] != t : type(v) != t;
  if (refreshing && changed) identify(v, t);
  set_type(v, t);
  bool useful = false;
  if (tensor && tensor->elements.size() <= options.max_elements) {
    useful = tensor->elements.empty();
    for (const DimId d : tensor->elements) useful |= d.valid();
  }
  if (useful) {
    const SymbolicTensor* old = symbolic(v);
    if (!old || old->dtype != tensor->dtype || old->dims != tensor->dims ||
        old->elements != tensor->elements) {
      forget_symbolic(v);
      sym[v.index()] = store(std::move(*tensor));
      changed = true;
    }
  } else if (sym[v.index()] != kNoSymbolic) {
    changed |= sym[v.index()] != kNotLooked;
    forget_symbolic(v);
  }
  if (changed) queue_users(v);
}

// The facts of a constant: its type from its tensor; its elements are decoded on first use.
void Inference::State::see_constant(ValueId v) {
  const TensorId id = m.constant_of(v);
  if (!id) return;
  const Tensor& t = m.tensor(id);
  std::vector<DimId> d;
  d.reserve(t.dims.size());
  for (const std::int64_t k : t.dims) d.push_back(m.dims.constant(k));
  forget_symbolic(v);
  set_type(v, m.types.tensor(t.dtype, d));
  sym[v.index()] = kNotLooked;
  if (is_in_function(m.value(v).graph)) body_facts[v] = types[v.index()];
}

// --- fresh symbols -----------------------------------------------------------------------------------------

// The range is what the node knows now. A round of a loop may know less than the first one, which knows what
// goes into the loop, and a call of a function less than another call: then the symbol is replaced by one
// whose range is open at that side, so at most twice. A rewrite leaves values as they are, so in between
// runs what was known of a value of the main graph holds.
DimId Inference::State::fresh_keyed(std::uint64_t low, std::uint64_t high, GraphId where, Range range) {
  FreshSymbol& f = fresh_symbols[FreshKey{low, high}];
  const bool in_main = where == m.main();
  const bool lower = range.low < f.given.low;
  const bool higher = range.high > f.given.high;
  if (!f.dim || ((lower || higher) && !trying && (running || !in_main))) {
    if (f.dim) range = {lower ? Range::kMin : f.given.low, higher ? Range::kMax : f.given.high};
    f = {m.dims.fresh(range), range};
    if (!in_main) scope.emplace(f.dim, where);
  } else if (in_main && !trying && (range.low > f.given.low || range.high < f.given.high)) {
    m.dims.assert_range(f.dim, range);
  }
  return f.dim;
}

DimId Inference::State::fresh(ValueId v, std::uint32_t slot, Range range) {
  return fresh_keyed(v.index(), slot, m.value(v).graph, range);
}

TypeId Inference::State::name_unknown_dims(TypeId t, ValueId v) {
  const Type& type = m.types[t];
  if (type.kind != TypeKind::Tensor || !type.has_rank) return t;
  std::vector<DimId> d(type.dims.begin(), type.dims.end());
  bool changed = false;
  for (std::size_t i = 0; i < d.size(); ++i) {
    if (d[i]) continue;
    d[i] = fresh(v, static_cast<std::uint32_t>(i));
    changed = true;
  }
  return changed ? m.types.tensor(type.elem, d) : t;
}

// --- facts that leave a body, joins of two facts -----------------------------------------------------------

bool Inference::State::leaks(DimId d, GraphId body) const {
  if (!d || scope.empty() || m.dims.value(d)) return false;
  for (const DimId symbol : m.dims.symbols_of(d)) {
    const auto it = scope.find(symbol);
    if (it != scope.end() && m.inside(it->second, body)) return true;
  }
  return false;
}

TypeId Inference::State::export_type(TypeId t, GraphId body) {
  const Type& type = m.types[t];
  if (type.inner) {
    const TypeId inner = export_type(type.inner, body);
    if (inner == type.inner) return t;
    return type.kind == TypeKind::Sequence   ? m.types.sequence(inner)
           : type.kind == TypeKind::Optional ? m.types.optional(inner)
                                             : t;
  }
  if (type.kind != TypeKind::Tensor || !type.has_rank) return t;
  std::vector<DimId> d(type.dims.begin(), type.dims.end());
  bool changed = false;
  for (DimId& x : d) {
    if (!leaks(x, body)) continue;
    x = {};
    changed = true;
  }
  return changed ? m.types.tensor(type.elem, d) : t;
}

TypeId Inference::State::join(TypeId a, TypeId b) {
  if (a == b) return a;
  const Type &x = m.types[a], &y = m.types[b];
  if (x.kind != y.kind || x.elem != y.elem) return m.types.unknown();
  switch (x.kind) {
    case TypeKind::Tensor: {
      if (!x.has_rank || !y.has_rank || x.dims.size() != y.dims.size()) return m.types.tensor(x.elem);
      std::vector<DimId> d(x.dims.begin(), x.dims.end());
      for (std::size_t i = 0; i < d.size(); ++i)
        if (d[i] != y.dims[i] && (!d[i] || !y.dims[i] || m.dims.equal(d[i], y.dims[i]) != Tri::Yes))
          d[i] = {};
      return m.types.tensor(x.elem, d);
    }
    case TypeKind::Sequence: return m.types.sequence(join(x.inner, y.inner));
    case TypeKind::Optional: return m.types.optional(join(x.inner, y.inner));
    default: return m.types.unknown();
  }
}

std::optional<SymbolicTensor> Inference::State::join(const SymbolicTensor* a, const SymbolicTensor* b) {
  if (!a || !b || a->dtype != b->dtype || a->dims != b->dims || a->elements.size() != b->elements.size())
    return std::nullopt;
  SymbolicTensor out = *a;
  for (std::size_t i = 0; i < out.elements.size(); ++i)
    if (out.elements[i] != b->elements[i]) out.elements[i] = {};
  return out;
}

// --- claims ------------------------------------------------------------------------------------------------

std::string text_of(const Model& m, const Type& t) {
  switch (t.kind) {
    case TypeKind::Unknown: return "?";
    case TypeKind::Sequence: return "seq(" + text_of(m, m.types[t.inner]) + ")";
    case TypeKind::Optional: return "optional(" + text_of(m, m.types[t.inner]) + ")";
    case TypeKind::Map:
      return "map(" + std::string(dtype_name(t.elem)) + ", " + text_of(m, m.types[t.inner]) + ")";
    case TypeKind::Opaque: return "opaque";
    case TypeKind::Tensor:
    case TypeKind::SparseTensor: break;
  }
  std::string out(dtype_name(t.elem));
  if (!t.has_rank) return out;
  out += '[';
  for (std::size_t i = 0; i < t.dims.size(); ++i) {
    if (i > 0) out += ", ";
    out += m.dims.print(t.dims[i]);
  }
  return out + ']';
}

bool contradict(const Model& m, const Type& a, const Type& b) {
  if (a.kind == TypeKind::Unknown || b.kind == TypeKind::Unknown) return false;
  if (a.kind != b.kind) return true;
  if (a.elem != b.elem && a.elem != DType::Undefined && b.elem != DType::Undefined) return true;
  if (a.inner) return contradict(m, m.types[a.inner], m.types[b.inner]);
  if (!a.has_rank || !b.has_rank) return false;
  if (a.dims.size() != b.dims.size()) return true;
  for (std::size_t i = 0; i < a.dims.size(); ++i)
    if (a.dims[i] && b.dims[i] && a.dims[i] != b.dims[i] && m.dims.equal(a.dims[i], b.dims[i]) == Tri::No)
      return true;
  return false;
}

// A claim that an earlier run refuted stays refuted, although the node that showed it may be gone.
void Inference::State::check_claims() {
  std::unordered_set<ValueId> earlier;
  for (const FalseClaim& claim : false_claims) earlier.insert(claim.value);
  for (std::size_t i = 0; i < m.value_count(); ++i) {
    const ValueId v{i};
    const Value& value = m.value(v);
    if (!value.alive || !value.declared || (value.is_input && value.graph == m.main())) continue;
    if (is_in_function(value.graph) || earlier.contains(v)) continue;
    const Type &declared = m.types[value.declared], &found = m.types[type(v)];
    if (contradict(m, declared, found)) false_claims.push_back({v, text_of(m, declared), text_of(m, found)});
  }
}

}  // namespace graphopt
