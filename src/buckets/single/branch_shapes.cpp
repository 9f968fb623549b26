#include "buckets/single/branch_shapes.h"

#include <algorithm>
#include <string>

namespace graphopt {
namespace {

// Pad takes numbers from opset 11 on and all types from 13 on; kernels are commonly there for these.
bool is_padded_by_operator(DType type, std::int64_t opset) {
  switch (type) {
    case DType::Float:
    case DType::Double:
    case DType::Int8:
    case DType::Int32:
    case DType::Int64:
    case DType::UInt8:
    case DType::UInt32:
    case DType::UInt64: return true;
    case DType::Bool: return opset >= 13;
    default: return false;
  }
}

TensorId element_of(Model& m, const DispatchPlan::Input& input) {
  std::string bytes = pad_element(input.type, input.pad).value_or(std::string());
  if (input.type != DType::String) return m.make_tensor(input.type, {}, std::move(bytes));
  Tensor t;
  t.dtype = DType::String;
  t.owned = std::make_shared<const Unpacked>(Unpacked{{}, {std::move(bytes)}});
  t.ready = true;
  return m.add_tensor(std::move(t));
}

bool is_at_front(const AxisPlace& a) { return a.kind == LayoutKind::Prefix || a.kind == LayoutKind::Same; }

}  // namespace

// --- what all branches read --------------------------------------------------------------------------------

ValueId TrueExtents::list(std::span<const DimId> extents) {
  const auto [at, fresh] = lists_.try_emplace({extents.begin(), extents.end()}, ValueId{});
  if (!fresh) return at->second;
  std::vector<ValueId> parts;
  for (const DimId d : extents) {
    parts.push_back(value(d));
    if (!parts.back()) return {};
  }
  return at->second = parts.size() == 1 ? parts[0] : out_.concat(parts, 0, "extents");
}

ValueId TrueExtents::counted(DimId extent) {
  const auto [at, fresh] = counted_.try_emplace(extent, ValueId{});
  if (!fresh) return at->second;
  const ValueId end = value(extent);
  if (!end) return {};
  Model& m = out_.model();
  if (!zero_) {
    zero_ = out_.constant(m.make_int64(0), "zero");
    one_ = out_.constant(m.make_int64(1), "one");
  }
  const ValueId scalar = out_.node(OpKind::Reshape, {end, out_.numbers({})}, "end");
  return at->second = out_.node(OpKind::Range, {zero_, scalar, one_}, "positions");
}

// --- extents of the bucket ---------------------------------------------------------------------------------

DimId BranchShapes::in_bucket(DimId extent) {
  DimPool& pool = extents_.pool();
  for (std::size_t i = 0; i < plan_.symbols.size(); ++i)
    extent = pool.substitute(extent, plan_.symbols[i], pool.constant(sizes_[i]));
  return extent;
}

ValueId BranchShapes::padded_extent(DimId extent) {
  const DimId d = in_bucket(extent);
  if (const auto number = d ? extents_.pool().value(d) : std::nullopt) return out_.numbers({*number});
  return needed(extents_.value(d));
}

// --- inputs ------------------------------------------------------------------------------------------------

// As many elements along the axis, and as the shape says along the others.
ValueId BranchShapes::filling(const Filler& filler, ValueId shape, std::size_t rank, std::size_t axis,
                              ValueId amount) {
  Model& m = out_.model();
  std::string mask(rank, '\0');
  mask[axis] = '\1';
  const std::int64_t length = static_cast<std::int64_t>(rank);
  const ValueId here =
      out_.constant(m.make_tensor(DType::Bool, std::span(&length, 1), std::move(mask)), "axis");
  const ValueId extents = out_.node(OpKind::Where, {here, amount, shape}, "filling");
  const ValueId filling = out_.node(OpKind::Expand, {filler.element, extents}, "filling");
  if (filler.type == DType::Undefined) return filling;
  return out_.cast(filling, filler.type, "filling");
}

ValueId BranchShapes::with_segments(const AxisPlace& place, ValueId x, ValueId shape, std::size_t rank,
                                    std::size_t axis, const Filler& filler) {
  const ValueId axes = out_.numbers({static_cast<std::int64_t>(axis)});
  std::vector<ValueId> pieces;
  DimId begin = extents_.pool().constant(0);
  for (const AxisPlace& part : place.parts) {
    const DimId end = extents_.pool().add(begin, part.extent);
    const ValueId from = needed(extents_.value(begin)), to = needed(extents_.value(end));
    const ValueId length = needed(extents_.value(part.extent));
    begin = end;
    if (failed_) return x;
    pieces.push_back(out_.slice(x, from, to, axes, "segment"));
    if (!part.padded) continue;
    const ValueId whole = padded_extent(part.extent);
    if (failed_) return x;
    const ValueId amount = out_.node(OpKind::Sub, {whole, length}, "amount");
    pieces.push_back(filling(filler, shape, rank, axis, amount));
  }
  return out_.concat(pieces, static_cast<std::int64_t>(axis), "segments");
}

// ONNX Runtime has no Expand of bfloat16. Every number of that type is one of float.
BranchShapes::Filler BranchShapes::filler_of(const DispatchPlan::Input& input) {
  DispatchPlan::Input stored = input;
  const bool is_cast = input.type == DType::BFloat16;
  if (is_cast) stored.type = DType::Float;
  return {out_.constant(element_of(out_.model(), stored), "pad"), is_cast ? input.type : DType::Undefined};
}

ValueId BranchShapes::padded(const DispatchPlan::Input& input, ValueId x, ValueId shape) {
  const std::size_t rank = input.dims.size();
  std::vector<std::int64_t> fixed(rank, 0), at_end(rank, 0);  // 0: as it is
  for (std::size_t i = 0; i < rank; ++i)
    if (const DimId d = input.dims[i] ? in_bucket(input.dims[i]) : DimId{})
      fixed[i] = extents_.pool().value(d).value_or(0);
  const Filler filler = input.axes.empty() ? Filler{} : filler_of(input);
  const auto shape_again = [&] { shape = out_.node(OpKind::Shape, {x}, "shape"); };
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < input.axes.size(); ++i) {
    if (!input.axes[i].padded) continue;
    if (is_at_front(input.axes[i])) {
      axes.push_back(i);
      at_end[i] = 1;
      continue;
    }
    x = with_segments(input.axes[i], x, shape, rank, i, filler);
    if (failed_) return x;
    shape_again();
  }
  const bool by_operator = is_padded_by_operator(input.type, out_.model().opset(out_.graph(), kEmptyName));
  if (by_operator && !axes.empty()) {
    std::vector<std::int64_t> numbers = fixed;
    for (std::size_t i = 0; i < rank; ++i) numbers[i] *= at_end[i];
    std::vector<ValueId> wanted;
    const bool is_known = std::ranges::all_of(
        axes, [&](std::size_t i) { return extents_.pool().value(in_bucket(input.dims[i])).has_value(); });
    for (std::size_t i = 0; i < rank && !is_known; ++i)
      wanted.push_back(at_end[i] != 0 ? padded_extent(input.dims[i]) : out_.numbers({0}));
    if (failed_) return x;
    const ValueId target = is_known ? out_.numbers(numbers) : out_.concat(wanted, 0, "wanted");
    ValueId amounts = out_.node(OpKind::Sub, {target, shape}, "amounts");
    if (axes.size() < rank) amounts = out_.node(OpKind::Mul, {amounts, out_.numbers(at_end)}, "amounts");
    const ValueId zeros = out_.numbers(std::vector<std::int64_t>(rank, 0));
    const ValueId pads = out_.concat(std::vector<ValueId>{zeros, amounts}, 0, "pads");
    x = out_.node(OpKind::Pad, {x, pads, filler.element}, "padded");
  } else {
    for (const std::size_t axis : axes) {
      const std::int64_t position = static_cast<std::int64_t>(axis);
      const ValueId whole = padded_extent(input.dims[axis]);
      if (failed_) return x;
      const ValueId amount =
          out_.node(OpKind::Sub, {whole, out_.pick(shape, std::span(&position, 1), "extent")}, "amount");
      x = out_.concat(std::vector<ValueId>{x, filling(filler, shape, rank, axis, amount)}, position,
                      "padded");
      if (axis != axes.back()) shape_again();
    }
  }
  // A 0 in the target is the extent of x there, which is right for an extent that is 0, too.
  if (std::ranges::all_of(fixed, [](std::int64_t d) { return d == 0; })) return x;
  return out_.node(OpKind::Reshape, {x, out_.numbers(fixed)}, "bucket_" + input.name);
}

// --- outputs -----------------------------------------------------------------------------------------------

ValueId BranchShapes::positions(const AxisPlace& place) {
  if (is_at_front(place)) return needed(extents_.counted(place.extent));
  const bool is_product = place.kind == LayoutKind::Product;
  std::vector<ValueId> pieces;
  ValueId all;
  DimId begin = extents_.pool().constant(0);  // in the padded run
  for (std::size_t i = 0; i < place.parts.size(); ++i) {
    const AxisPlace& part = place.parts[i];
    ValueId p = positions(part);
    if (failed_) return {};
    if (is_product) {
      if (i > 0) {
        const ValueId whole = padded_extent(part.extent);
        if (failed_) return {};
        const ValueId column = out_.node(OpKind::Reshape, {all, out_.numbers({-1, 1})}, "positions");
        p = out_.node(OpKind::Add, {out_.node(OpKind::Mul, {column, whole}, "positions"), p}, "positions");
        p = out_.node(OpKind::Reshape, {p, out_.numbers({-1})}, "positions");
      }
      all = p;
      continue;
    }
    if (i > 0) {
      const ValueId from = padded_extent(begin);
      if (failed_) return {};
      p = out_.node(OpKind::Add, {p, from}, "positions");
    }
    pieces.push_back(p);
    begin = extents_.pool().add(begin, part.extent);
  }
  return is_product ? all : out_.concat(pieces, 0, "positions");
}

ValueId BranchShapes::cut(const DispatchPlan::Output& output, ValueId y) {
  std::vector<std::int64_t> axes;
  std::vector<DimId> ends;
  for (std::size_t i = 0; i < output.axes.size(); ++i)
    if (output.axes[i].padded && is_at_front(output.axes[i])) {
      axes.push_back(static_cast<std::int64_t>(i));
      ends.push_back(output.axes[i].extent);
    }
  if (!axes.empty()) {
    const ValueId end = needed(extents_.list(ends));
    if (failed_) return y;
    const std::vector<std::int64_t> zeros(axes.size(), 0);
    y = out_.slice(y, out_.numbers(zeros), end, out_.numbers(axes), "cut");
  }
  for (std::size_t i = 0; i < output.axes.size(); ++i) {
    if (!output.axes[i].padded || is_at_front(output.axes[i])) continue;
    const ValueId at = positions(output.axes[i]);
    if (failed_) return y;
    y = out_.gather(y, at, static_cast<std::int64_t>(i), "cut");
  }
  return y;
}

}  // namespace graphopt
