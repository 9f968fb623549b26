// Means over padded axes: ReduceMean, GlobalAveragePool, and AveragePool whose last windows count padding.
//
// A mean is the sum of true elements over their number, the product of true extents. That number is an
// integer, and its cast to a floating type is the number by which a kernel divides. Types of 16 bits are
// summed in float, as kernels do, since a sum may overflow where the mean does not. Rounds: a kernel may
// divide or multiply by the reciprocal, and sum in another order.
// An AveragePool that leaves its own border out of the divisor becomes the quotient of two that count all:
// of the elements, 0 in the padding, and of ones in their place. Both divide by the size of the window.
//
//   y = AveragePool <pads> (x)    =>    y = Div (A (Where (m, x, 0)), A (Cast (m)))    A counts its border
#include <algorithm>
#include <numeric>

#include "buckets/repair/rules.h"
#include "ops/node_facts.h"

namespace graphopt::repairs {
namespace {

AxisMask mask_of(std::span<const std::size_t> axes) {
  AxisMask out = 0;
  for (const std::size_t a : axes) out |= bit(a);
  return out;
}

// Makes `kind` of these operands, of the type of sums, the result of the node.
void finish(RepairContext& r, ValueId a, ValueId b) {
  const DType type = r.c.in(0).type;
  if (type == r.sum_type()) {
    r.replace(OpKind::Div, std::vector<ValueId>{a, b});
    return;
  }
  const ValueId wide = r.here.node(OpKind::Div, {a, b}, "mean");
  r.replace(OpKind::Cast, std::vector<ValueId>{wide},
            std::vector<IntAttr>{{names::to, static_cast<std::int64_t>(type)}});
}

bool average_windows(RepairContext& r) {
  const PaddedValue& x = r.c.in(0);
  if (r.c.opset() < 7) return r.refuse("before opset 7 it cannot count its border");
  std::vector<std::size_t> spatial(x.rank() - 2);
  std::iota(spatial.begin(), spatial.end(), std::size_t{2});
  const AxisMask all = mask_of(spatial), padded = all & x.padded;
  if (std::string why = r.masks.obstacle(r.c, 0, all, 0); !why.empty()) return r.refuse(why);
  const DType type = r.sum_type();
  const ValueId wide = r.as_sum_type(r.model.input(r.n, 0), "wide");
  const ValueId masked = r.masks.replaced(r.c, 0, padded, wide, type, 0, r.here);
  ValueId ones = r.here.cast(r.masks.mask(r.c, 0, all), type, "counted");
  ones = r.here.built("counted",
                      [&](const Site& s) { return add_unsqueeze(s, ones, std::vector<std::int64_t>{0, 1}); });
  ValueId pooled[2];
  for (const auto& [to, from] : {std::pair{&pooled[0], masked}, std::pair{&pooled[1], ones}}) {
    const ValueId made = r.model.add_value(r.model.node(r.n).graph, r.model.fresh_name("bucket_pooled"));
    const ValueId in[] = {from}, out[] = {made};
    const NodeId n = r.model.add_node_as(r.n, r.model.node(r.n).graph, in, out, r.n);
    r.model.set_attr_int(n, names::count_include_pad, 1);
    *to = made;
  }
  r.text = "it divides by the number of true elements in each window, along " + r.c.axis_text(x, padded);
  finish(r, pooled[0], pooled[1]);
  return true;
}

}  // namespace

bool true_mean(RepairContext& r) {
  const PaddedValue& x = r.c.in(0);
  const DType type = r.sum_type();
  if (type == DType::Undefined) return r.refuse("a mean of " + std::string(dtype_name(x.type)) + " rounds");
  if (r.c.kind == OpKind::AveragePool) return average_windows(r);
  std::vector<std::size_t> over;
  bool keep = true;
  if (r.c.kind == OpKind::GlobalAveragePool) {
    for (std::size_t i = 2; i < x.rank(); ++i) over.push_back(i);
  } else if (r.c.kind == OpKind::ReduceMean) {
    const auto axes = r.c.axes(x.rank());
    if (!axes) return r.refuse("its axes are not known");
    over = *axes;
    if (over.empty()) {
      over.resize(x.rank());
      std::iota(over.begin(), over.end(), std::size_t{0});
    }
    keep = r.c.attr(names::keepdims, 1) != 0;
  } else {
    return r.refuse("no mean of this operator is known");
  }
  std::ranges::sort(over);
  const AxisMask padded = r.c.padded_among(x, over);
  const DimId count = r.count_of(over);
  if (r.model.dims.range(count).low < 1) return r.refuse("kernels differ in what the mean of nothing is");
  if (std::string why = r.no_extent(count); !why.empty()) return r.refuse(why);
  if (std::string why = r.masks.obstacle(r.c, 0, padded, 0); !why.empty()) return r.refuse(why);
  r.text = "it divides by the true count " + r.model.dims.print(count);
  const ValueId wide = r.as_sum_type(r.model.input(r.n, 0), "wide");
  const ValueId masked = r.masks.replaced(r.c, 0, padded, wide, type, 0, r.here);
  std::vector<std::int64_t> list;
  for (const std::size_t a : over) list.push_back(static_cast<std::int64_t>(a));
  const ValueId sum = r.here.built(
      "sum", [&](const Site& s) { return add_reduction(s, OpKind::ReduceSum, masked, list, keep); });
  finish(r, sum, r.true_extent(count, type, r.here));
  return true;
}

}  // namespace graphopt::repairs
