// Tile, Pad, DepthToSpace, SpaceToDepth: extents that are products and sums.
//
// ONNX Runtime computes them in 64 bits. A tensor without elements may have any extents, so a product of an
// extent and a number of repetitions wraps in some runs; it is stated only where its bounds show that it does
// not (values.h).
#include <cstdint>
#include <numeric>

#include "infer/rules.h"
#include "infer/values.h"

namespace graphopt::rules {
namespace {

DimId times(NodeContext& c, DimId x, DimId factor) {
  if (!x || !factor) return {};
  return computed(c.dims, OpKind::Mul, DType::Int64, x, factor, c.dims.mul(x, factor));
}

DimId plus(NodeContext& c, DimId x, DimId more) {
  if (!x || !more) return {};
  return computed(c.dims, OpKind::Add, DType::Int64, x, more, c.dims.add(x, more));
}

// Returns the size of the blocks that move between channels and an image; 0 where the operand is no batch of
// images or the size is out of range.
std::int64_t block_size(NodeContext& c) {
  const std::int64_t b = c.attr_int(names::blocksize, 0);
  return c.rank(0) == 4 && b >= 1 && b <= 1 << 20 ? b : 0;
}

}  // namespace

void tile(NodeContext& c) {
  if (!c.ranked(0) || c.opset() < 6) return c.elem_only(0, 0);
  const SymbolicTensor* r = c.sym(1);
  Dims d(c.shape(0).size());
  if (r && r->elements.size() == d.size())
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = times(c, c.shape(0)[i], r->elements[i]);
  std::optional<SymbolicTensor> value;
  if (const SymbolicTensor* t = c.sym(0)) {
    Ints out;
    for (const DimId k : d)
      if (const auto v = k ? c.value(k) : std::nullopt) out.push_back(*v);
    if (out.size() == d.size() && !too_many(out, c.s.options.max_elements)) {
      const auto strides = strides_of(t->dims);
      value = pick(*t, out, [&](const Ints& at) {
        std::int64_t index = 0;
        for (std::size_t k = 0; k < at.size(); ++k) index += at[k] % t->dims[k] * strides[k];
        return index;
      });
    }
  }
  c.tensor(0, c.elem(0), d, value ? &*value : nullptr);
}

// The axes in `axes`, or all, get the extents of operand 1.
void center_crop_pad(NodeContext& c) {
  if (!c.ranked(0)) return c.elem_only(0, 0);
  Dims d(c.shape(0).begin(), c.shape(0).end());
  const auto wanted = c.shape_operand(1);
  auto axes = c.attr_ints(names::axes);
  if (!axes) {
    axes = Ints(d.size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  if (!wanted || wanted->size() != axes->size()) return c.tensor(0, c.elem(0), Dims(d.size()));
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto k = NodeContext::axis((*axes)[i], c.rank(0));
    if (!k) return c.tensor(0, c.elem(0), Dims(d.size()));
    const DimId e = (*wanted)[i];
    d[*k] = e && c.dims.range(e).low >= 0 ? e : DimId{};
  }
  c.tensor(0, c.elem(0), d);
}

void pad(NodeContext& c) {
  if (!c.ranked(0)) return c.elem_only(0, 0);
  const auto rank = c.shape(0).size();
  Dims pads;
  if (c.opset() < 11) {
    auto given = c.attr_ints(names::pads);
    if (!given) given = c.attr_ints(names::paddings);
    if (given)
      for (const std::int64_t v : *given) pads.push_back(c.constant(v));
  } else if (const SymbolicTensor* t = c.sym(1)) {
    pads = t->elements;
  }
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  if (c.opset() >= 18 && c.has(3)) {
    const auto given = c.ints(3);
    if (!given) return c.tensor(0, c.elem(0), Dims(rank));
    axes.clear();
    for (const std::int64_t a : *given) {
      const auto k = NodeContext::axis(a, c.rank(0));
      if (!k) return c.tensor(0, c.elem(0), Dims(rank));
      axes.push_back(*k);
    }
  }
  Dims d(c.shape(0).begin(), c.shape(0).end());
  const bool known = pads.size() == 2 * axes.size();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    DimId& x = d[axes[i]];
    const DimId b = known ? pads[i] : DimId{}, e = known ? pads[i + axes.size()] : DimId{};
    x = plus(c, plus(c, x, b), e);
  }
  c.tensor(0, c.elem(0), d);
}

void depth_to_space(NodeContext& c) {
  const std::int64_t b = block_size(c);
  if (b == 0) return c.elem_only(0, 0);
  const auto x = c.shape(0);
  const DimId block = c.constant(b);
  // Channels that are no multiple of b*b make the run fail.
  const DimId d[] = {x[0], c.dims.floor_div(x[1], c.constant(b * b)), times(c, x[2], block),
                     times(c, x[3], block)};
  c.tensor(0, c.elem(0), d);
}

void space_to_depth(NodeContext& c) {
  const std::int64_t b = block_size(c);
  if (b == 0) return c.elem_only(0, 0);
  const auto x = c.shape(0);
  const DimId block = c.constant(b);
  const DimId d[] = {x[0], times(c, x[1], c.constant(b * b)), c.dims.floor_div(x[2], block),
                     c.dims.floor_div(x[3], block)};
  c.tensor(0, c.elem(0), d);
}

}  // namespace graphopt::rules
