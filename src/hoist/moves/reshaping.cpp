#include "hoist/moves/reshaping.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace graphopt {
namespace {

// Returns row-major strides in elements.
std::vector<std::int64_t> strides_of(std::span<const std::int64_t> dims) {
  std::vector<std::int64_t> out(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) out[i - 1] = out[i] * dims[i];
  return out;
}

// Returns the bytes of one element; 0 for packed types and types without a raw form.
std::size_t element_size(DType t) {
  const int bits = bits_of(t);
  return bits >= 8 && bits % 8 == 0 ? static_cast<std::size_t>(bits) / 8 : 0;
}

// Returns a constant of `dims` whose element at an index is the source's element at the sum of index * step
// over all dims; none if it is over the limit of elements or the source's bytes are not at hand.
DValue gathered(Draft& d, DValue constant, std::span<const std::int64_t> dims,
                std::span<const std::int64_t> steps) {
  Model& m = d.model();
  const TensorId t = d[constant].tensor;
  const std::size_t size = element_size(d[constant].dtype);
  std::int64_t count = 1;
  for (const std::int64_t n : dims) {
    count *= n;
    if (count > kSearchLimits.constant_elements) {
      d.hit_limit(SearchLimit::ConstantElements);
      return {};
    }
  }
  const auto source = m.raw(t);
  if (!d.shapes().pool().is_constant(d.shapes().product(d.shape(constant)), m.tensor(t).elements)) return {};
  if (size == 0 || !source || source->size() != size * static_cast<std::size_t>(m.tensor(t).elements))
    return {};
  std::string out(static_cast<std::size_t>(count) * size, '\0');
  std::vector<std::int64_t> index(dims.size());
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(out.data() + static_cast<std::size_t>(i) * size,
                source->data() + static_cast<std::size_t>(at) * size, size);
    for (std::size_t k = dims.size(); k-- > 0;) {
      at += steps[k];
      if (++index[k] < dims[k]) break;
      at -= steps[k] * dims[k];
      index[k] = 0;
    }
  }
  const TensorId made = m.make_tensor(d[constant].dtype, dims, std::move(out));
  return d.new_constant(made, d.shapes().intern(dims), d[constant].dtype);
}

}  // namespace

bool type_can_move(const Draft& d, DType type) {
  // Concat before opset 4 and Reshape before 5 take only these.
  const std::int64_t opset = d.model().opset(d.graph(), NameId{std::uint32_t{0}});
  if (opset < 5) return type == DType::Float || type == DType::Double || type == DType::Float16;
  switch (type) {
      // clang-format off
    case DType::Float: case DType::Double: case DType::Float16: case DType::Bool:
    case DType::Int8: case DType::Int16: case DType::Int32: case DType::Int64:
    case DType::UInt8: case DType::UInt16: case DType::UInt32: case DType::UInt64:
      return true;
      // clang-format on
    case DType::BFloat16: return opset >= 13;
    default:  // strings, complex numbers and the small types: at least one of the operators does not take
              // them
      return false;
  }
}

DValue reshaped_constant(Draft& d, DValue constant, ShapeId to) {
  if (d.shape(constant) == to) return constant;
  return d.new_constant(d[constant].tensor, to, d[constant].dtype);
}

DValue transposed_constant(Draft& d, DValue constant, std::span<const std::int64_t> perm) {
  const auto dims = d.shapes().numbers(d.shape(constant));
  if (!dims || dims->size() != perm.size()) return {};
  const auto strides = strides_of(*dims);
  std::vector<std::int64_t> to, steps;
  for (const std::int64_t p : perm) {
    to.push_back((*dims)[static_cast<std::size_t>(p)]);
    steps.push_back(strides[static_cast<std::size_t>(p)]);
  }
  return gathered(d, constant, to, steps);
}

DValue expanded_constant(Draft& d, DValue constant, std::span<const std::int64_t> dims) {
  const auto have = d.shapes().numbers(d.shape(constant));
  if (!have || have->size() > dims.size()) return {};
  const auto strides = strides_of(*have);
  std::vector<std::int64_t> steps(dims.size(), 0);
  const std::size_t lead = dims.size() - have->size();
  for (std::size_t k = 0; k < have->size(); ++k) {
    if ((*have)[k] == 1) continue;
    if ((*have)[k] != dims[lead + k]) return {};
    steps[lead + k] = strides[k];
  }
  return gathered(d, constant, dims, steps);
}

DValue joined_constants(Draft& d, std::span<const DValue> constants, std::size_t axis) {
  Model& m = d.model();
  const DType type = d[constants[0]].dtype;
  const std::size_t size = element_size(type);
  auto dims = d.shapes().numbers(d.shape(constants[0]));
  if (size == 0 || !dims) return {};
  std::int64_t outer = 1, inner = 1, total = 0;
  for (std::size_t k = 0; k < axis; ++k) outer *= (*dims)[k];
  for (std::size_t k = axis + 1; k < dims->size(); ++k) inner *= (*dims)[k];
  struct Block {
    Bytes raw;
    std::size_t bytes;
  };
  std::vector<Block> blocks;
  for (const DValue v : constants) {
    const auto raw = m.raw(d[v].tensor);
    const std::int64_t extent = *d.shapes().number(d.shapes().dims(d.shape(v))[axis]);
    const std::size_t block = static_cast<std::size_t>(extent * inner) * size;
    if (!raw || raw->size() != block * static_cast<std::size_t>(outer)) return {};
    total += extent;
    if (total * inner * outer > kSearchLimits.constant_elements) {
      d.hit_limit(SearchLimit::ConstantElements);
      return {};
    }
    blocks.push_back({*raw, block});
  }
  std::string out;
  for (std::size_t o = 0; o < static_cast<std::size_t>(outer); ++o)
    for (const Block& b : blocks) out.append(b.raw.substr(o * b.bytes, b.bytes));
  (*dims)[axis] = total;
  const TensorId t = m.make_tensor(type, *dims, std::move(out));
  return d.new_constant(t, d.shapes().intern(std::span<const std::int64_t>(*dims)), type);
}

DValue deformed(Draft& d, DValue v, ShapeId to, DNode before, const RuntimeTarget& runtime_target,
                Refusal& why) {
  const auto made = [&](std::span<const DValue> in, NodeId like) {
    const DValue out[] = {d.new_value(to, d[v].dtype)};
    d.new_node(NodeClass::Deformation, like, in, out, before);
    return out[0];
  };
  const DValue with_target[] = {v, runtime_target.operand};
  if (!to || !d.shape(v)) {
    if (runtime_target.operand && type_can_move(d, d[v].dtype))
      return made(with_target, runtime_target.reshape);
    why = Refusal::ShapeUnknown;
    return {};
  }
  if (d.shape(v) == to) return v;
  if (!d.shapes().same_count(d.shape(v), to)) {
    why = Refusal::ShapeUnknown;
    return {};
  }
  if (d.constant(v)) {
    for (const DimId x : d.shapes().dims(to))
      if (!d.shapes().number(x)) {
        why = Refusal::NotWritable;
        return {};
      }
    return reshaped_constant(d, v, to);
  }
  if (!type_can_move(d, d[v].dtype)) {
    why = Refusal::Type;
    return {};
  }
  // The source of a chain of deformations may have the shape already, or allow a constant target.
  DValue root = v;
  for (DNode p = d.def(root);
       p && d[p].alive && d[p].node_class == NodeClass::Deformation && !d[p].shape_only; p = d.def(root)) {
    root = d.in(p, 0);
    if (d.shape(root) == to) return root;
    if (!d.shape(root) || d.constant(root)) break;
  }
  for (const DValue from : {v, root})
    if (d.shape(from) && deform_form(d.shapes(), d.shape(from), to).kind != DeformForm::Kind::None)
      return made(std::span(&from, 1), {});
  if (runtime_target.operand) return made(with_target, runtime_target.reshape);
  why = Refusal::NotWritable;
  return {};
}

DValue mapped_operand(Draft& d, DValue w, ShapeId t, ShapeId s, bool may_lift, DNode before, Refusal& why) {
  ShapeTable& shapes = d.shapes();
  const ShapeId q = d.shape(w);
  why = Refusal::ShapeUnknown;
  if (!q || !t || !s) return {};
  why = Refusal::Operand;
  if (shapes.rank(q) > shapes.rank(t)) return {};
  if (shapes.all_ones(q)) {
    if (shapes.rank(q) <= shapes.rank(s)) return w;
    const ShapeId scalar = shapes.intern(std::span<const std::int64_t>{});
    return d.constant(w) ? reshaped_constant(d, w, scalar) : deformed(d, w, scalar, before, {}, why);
  }
  const std::vector<DimId> td(shapes.dims(t).begin(), shapes.dims(t).end()),
      sd(shapes.dims(s).begin(), shapes.dims(s).end());
  for (const DimId x : td)
    if (shapes.pool().is_constant(x, 0)) return {};  // products of 0 do not identify groups
  const auto groups = dim_groups(shapes, td, sd);
  if (groups.empty()) return {};
  const DimId one = shapes.pool().constant(1);
  std::vector<DimId> qt(td.size() - shapes.rank(q), one), full, qs(sd.size(), one);
  for (const DimId x : shapes.dims(q)) qt.push_back(x);
  full = qt;
  bool grow = false;
  for (const DimGroup& g : groups) {
    bool ones = true, all = true;
    for (std::uint32_t k = g.a_begin; k < g.a_end; ++k) {
      if (shapes.is_one(td[k])) continue;
      ones &= shapes.is_one(qt[k]);
      all &= qt[k] == td[k];
    }
    if (ones) continue;
    if (!all) {
      if (!d.constant(w) || !may_lift) return {};
      for (std::uint32_t k = g.a_begin; k < g.a_end; ++k) {
        if (!shapes.number(td[k])) return {};
        full[k] = td[k];
      }
      grow = true;
    }
    for (std::uint32_t k = g.b_begin; k < g.b_end; ++k) qs[k] = sd[k];
  }
  std::size_t lead = 0;
  while (lead < qs.size() && shapes.is_one(qs[lead])) ++lead;
  const ShapeId to = shapes.intern(std::span<const DimId>(qs).subspan(lead));
  if (grow) {
    const auto dims = shapes.numbers(shapes.intern(std::span<const DimId>(full)));
    if (!dims || !shapes.numbers(to)) return {};
    const DValue expanded = expanded_constant(d, w, *dims);
    if (!expanded) {
      why = Refusal::Limit;
      return {};
    }
    return reshaped_constant(d, expanded, to);
  }
  std::size_t ones = 0;
  while (shapes.is_one(shapes.dims(q)[ones])) ++ones;
  if (shapes.rank(q) <= sd.size() &&
      to == shapes.intern(std::vector<DimId>(shapes.dims(q).begin() + static_cast<std::ptrdiff_t>(ones),
                                             shapes.dims(q).end())))
    return w;  // equal but for leading ones
  if (d.constant(w)) return shapes.numbers(to) ? reshaped_constant(d, w, to) : DValue{};
  return deformed(d, w, to, before, {}, why);
}

void set_lengths(Draft& d, DNode split) {
  std::vector<std::int64_t> lengths;
  for (const DValue v : d.outs(split))
    lengths.push_back(*d.shapes().number(d.shapes().dims(d.shape(v))[d[split].axis]));
  d.set_list(split, d.intern_list(std::move(lengths)));
}

}  // namespace graphopt
