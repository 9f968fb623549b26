// Sizes: numbers for symbols, and small numbers.
//
// Problem: a failure in a model with [batch, 197, 768] is easier to follow at [1, 2, 3]. An extent occurs in
// inputs, weights, targets of Reshapes and attributes, and all have to change together.
// Method: a symbol is bound as by --dim. A number is replaced wherever it stands: in the types of inputs, in
// dims of constants, whose payload keeps the last part of it that is not 0, in constants and attributes of
// integers. That is a guess; onnx's inference refuses most wrong ones, the test the others. Types of outputs
// are inferred anew.
// Lowers: symbols, elements.

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/restate.h"
#include "ops/constants.h"
#include "reduce/strategies.h"
#include "shapes/bind.h"
#include "shapes/map_dims.h"
#include "shapes/written_types.h"

namespace graphopt {
namespace {

constexpr std::int64_t kMostIntegers = 64;  // elements of a constant that may be a shape

void bind_symbol(Session& s, const Bindings& bindings) {
  Edit e = s.edit();
  Model& m = e.model;
  Result<InferOptions> bound = bind(m, bindings);
  if (!bound) return;
  Inference inference(m, *std::move(bound));
  inference.run();
  e.types = written_types(
      m, inference, {.specialized = true, .all = true, .passes_ran = false, .file_values = m.value_count()});
  s.attempt(std::move(e));
}

// Returns one more than the last index along an axis at which something is not 0. `outer`: repetitions of the
// axis; `inner`: bytes at one index.
std::size_t end_of_nonzero(Bytes bytes, std::size_t outer, std::size_t extent, std::size_t inner) {
  for (std::size_t end = extent; end > 0; --end)
    for (std::size_t i = 0; i < outer; ++i)
      if (std::ranges::any_of(bytes.substr((i * extent + end - 1) * inner, inner),
                              [](char c) { return c != 0; }))
        return end;
  return 0;
}

// Replaces the extent in the constant's dims. Along each such axis the elements up to the last that is not 0
// stay, so that one which matters among zeros is kept.
void shrink_constant(Model& m, ValueId v, std::int64_t from, std::int64_t to) {
  const Tensor t = m.tensor(m.value(v).tensor);
  const std::size_t width = static_cast<std::size_t>(bits_of(t.dtype)) / 8;
  const std::optional<Bytes> raw = m.raw(m.value(v).tensor);
  if (width == 0 || bits_of(t.dtype) % 8 != 0 || !raw) return;
  std::string bytes(*raw);
  std::vector<std::int64_t> dims = t.dims;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] != from) continue;
    std::size_t outer = 1, inner = width;
    for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(dims[i]);
    for (std::size_t i = axis + 1; i < dims.size(); ++i) inner *= static_cast<std::size_t>(dims[i]);
    const std::size_t old_row = inner * static_cast<std::size_t>(from);
    const std::size_t new_row = inner * static_cast<std::size_t>(to);
    const std::size_t end = end_of_nonzero(bytes, outer, static_cast<std::size_t>(from), inner);
    const std::size_t begin = end - std::min(end, static_cast<std::size_t>(to));
    std::string kept;
    kept.reserve(outer * new_row);
    for (std::size_t i = 0; i < outer; ++i) kept.append(bytes, i * old_row + begin * inner, new_row);
    bytes = std::move(kept);
    dims[axis] = to;
  }
  if (dims != t.dims) set_tensor(m, v, m.make_tensor(t.dtype, dims, std::move(bytes)));
}

// Replaces the number among the elements of a constant that may be a shape.
void replace_elements(Model& m, ValueId v, std::int64_t from, std::int64_t to) {
  const TensorId t = m.value(v).tensor;
  if (m.tensor(t).dtype != DType::Int64 && m.tensor(t).dtype != DType::Int32) return;
  std::optional<std::vector<std::int64_t>> numbers = int_list(m, t, kMostIntegers);
  if (!numbers || std::ranges::find(*numbers, from) == numbers->end()) return;
  std::ranges::replace(*numbers, from, to);
  const std::optional<std::string> raw = int_payload(m.tensor(t).dtype, *numbers);
  const std::vector<std::int64_t> dims = m.tensor(t).dims;
  if (raw) set_tensor(m, v, m.make_tensor(m.tensor(t).dtype, dims, *raw));
}

void replace_attributes(Model& m, NodeId n, std::int64_t from, std::int64_t to) {
  const std::vector<Attr> attrs(m.attrs(n).begin(), m.attrs(n).end());
  for (const Attr& a : attrs) {
    if (a.kind == AttrKind::Ints && std::ranges::find(a.ints, from) != a.ints.end()) {
      std::vector<std::int64_t> ints(a.ints.begin(), a.ints.end());
      std::ranges::replace(ints, from, to);
      m.set_attr_ints(n, a.name, ints);
    } else if (a.kind == AttrKind::Int && a.i == from) {
      m.set_attr_int(n, a.name, to);
    }
  }
}

// The numbers that are extents of inputs and constants, large ones first.
std::vector<std::int64_t> extents_of(const Model& m) {
  std::set<std::int64_t, std::greater<>> found;
  for (const ValueId v : m.graph_inputs(m.main()))
    for (const DimId d : m.types[m.value(v).declared].dims)
      if (const auto extent = d ? m.dims.value(d) : std::nullopt; extent && *extent > 1)
        found.insert(*extent);
  for (std::size_t i = 0; i < m.tensor_count(); ++i)
    for (const std::int64_t extent : m.tensor(TensorId{i}).dims)
      if (extent > 1) found.insert(extent);
  return {found.begin(), found.end()};
}

// `everywhere`: attributes, and elements of constants, too.
bool replace_extent(Session& s, std::int64_t from, std::int64_t to, bool everywhere) {
  Edit e = s.edit();
  Model& m = e.model;
  std::vector<TypeOverride> inputs;
  const DimId small = m.dims.constant(to);
  for (const ValueId v : m.graph_inputs(m.main())) {
    const TypeId type =
        map_dims(m, m.value(v).declared, [&](DimId d) { return m.dims.is_constant(d, from) ? small : d; });
    if (type == m.value(v).declared) continue;
    declare(m, v, type);
    inputs.push_back({v, type, false});
  }
  for (std::size_t i = 0; i < m.value_count(); ++i) {
    const ValueId v{i};
    if (!m.alive(v) || !m.value(v).is_initializer || m.value(v).is_sparse || !m.value(v).tensor) continue;
    shrink_constant(m, v, from, to);
    if (everywhere) replace_elements(m, v, from, to);
  }
  if (everywhere) {
    for (std::size_t i = 0; i < m.node_count(); ++i)
      if (m.alive(NodeId{i}) && !m.is_return(NodeId{i})) replace_attributes(m, NodeId{i}, from, to);
  }
  // What the file says of results holds at the old size.
  drop_infos(m);
  Inference inference(m, InferOptions{});
  inference.run();
  e.types = std::move(inputs);
  for (std::size_t i = 0; i < m.graph_output_count(m.main()); ++i) {
    const ValueId v = m.graph_output(m.main(), i);
    if (!v || m.value(v).is_input || !can_declare(inference.type_of(v))) continue;
    e.types.push_back({v, without_made_names(m, inference.type(v)), false});
  }
  std::ranges::sort(e.types, {}, &TypeOverride::value);
  const auto same = std::ranges::unique(e.types, {}, &TypeOverride::value);
  e.types.erase(same.begin(), same.end());
  return s.attempt(std::move(e));
}

// Small numbers first; then a binary search between those that fail and those that do not.
void shrink_extent(Session& s, std::int64_t extent) {
  const auto replace = [&](std::int64_t to) {
    return replace_extent(s, extent, to, true) || replace_extent(s, extent, to, false);
  };
  std::int64_t too_small = 0;
  for (; too_small < 3 && too_small + 1 < extent; ++too_small)
    if (replace(too_small + 1)) return;
  while (extent - too_small > 1 && !s.ended()) {
    const std::int64_t to = too_small + (extent - too_small) / 2;
    if (replace(to)) extent = to;
    else too_small = to;
  }
}

}  // namespace

namespace {

// The number for all dims of these inputs that are none.
Bindings open_dims(const Model& m, std::span<const ValueId> inputs, std::int64_t n) {
  Bindings out;
  for (const ValueId v : inputs) {
    const Type& type = m.types[m.value(v).declared];
    if (type.kind != TypeKind::Tensor || !type.has_rank) continue;
    Bindings::Shape shape{std::string(m.text(m.value(v).name)), {}};
    bool open = false;
    for (const DimId d : type.dims) {
      const auto extent = d ? m.dims.value(d) : std::nullopt;
      shape.dims.push_back(extent.value_or(n));
      open = open || !extent;
    }
    if (open) out.shapes.push_back(std::move(shape));
  }
  return out;
}

}  // namespace

void bind_symbols(Session& s) {
  constexpr std::int64_t kTried[] = {1, 2, 3, 8};
  for (const std::int64_t n : kTried) {
    if (s.measure().symbols == 0 || s.ended()) return;
    bind_symbol(s, open_dims(s.model(), s.model().graph_inputs(s.model().main()), n));
  }
  const auto names = [&] {
    std::vector<std::string> out;
    for (const DimId d : input_symbols(s.model())) out.emplace_back(s.model().dims.symbol_name(d));
    return out;
  };
  for (const std::int64_t n : kTried) {
    if (names().empty()) break;
    Bindings all;
    for (const std::string& name : names()) all.symbols.push_back({name, n, n});
    bind_symbol(s, all);
  }
  for (const std::string& name : names()) {
    for (const std::int64_t n : kTried) {
      const std::vector<std::string> left = names();
      if (s.ended() || std::ranges::find(left, name) == left.end()) break;
      bind_symbol(s, {.shapes = {}, .symbols = {{name, n, n}}});
    }
  }
  for (std::size_t i = s.model().graph_inputs(s.model().main()).size(); i-- > 0;) {
    for (const std::int64_t n : kTried) {
      const auto inputs = s.model().graph_inputs(s.model().main());
      if (s.ended() || i >= inputs.size()) break;
      const Bindings one = open_dims(s.model(), inputs.subspan(i, 1), n);
      if (!one.shapes.empty()) bind_symbol(s, one);
    }
  }
}

void shrink_extents(Session& s) {
  std::int64_t below = Range::kMax;
  while (!s.ended()) {
    const std::vector<std::int64_t> extents = extents_of(s.model());
    const auto next = std::ranges::find_if(extents, [&](std::int64_t x) { return x < below; });
    if (next == extents.end()) return;
    below = *next;
    shrink_extent(s, *next);
  }
}

}  // namespace graphopt
