// Indices that count from the padded end: Gather, GatherElements, Slice.
//
// A negative constant index becomes the true extent plus it. A Slice of a constant number of elements from
// the end becomes a Gather of as many consecutive positions; what it cuts along other axes is cut before.
// Exact: both choose the elements that the model chooses in a run on true data.
//
//   y = Slice <starts = [-2], ends = [max], axes = [1]> (x)    =>    y = Gather <axis = 1> (x, true_len_s - 2
//   + [0, 1])
#include <numeric>

#include "buckets/padding/rules.h"
#include "buckets/repair/rules.h"
#include "ops/constants.h"

namespace graphopt::repairs {
namespace {

constexpr std::int64_t kMostPositions = 4096;

bool index_of_gather(RepairContext& r) {
  const PaddedValue &data = r.c.in(0), &index = r.c.in(1);
  const auto axis = normalize_axis(r.c.attr(names::axis, 0), data.rank());
  const auto list = int_list(r.model, index.constant, kMostPositions);
  if (!axis || !list || list->empty()) return r.refuse("its index is not constant");
  for (const std::int64_t i : *list)
    if (i >= 0) return r.refuse("some of its indices count from the front, others from the end");
  const DimId extent = r.c.extent(0, static_cast<std::size_t>(*axis));
  if (std::string why = r.no_extent(extent); !why.empty()) return r.refuse(why);
  const ValueId from = r.true_extent(extent, index.type, r.here);
  r.model.set_operand(r.n, 1, r.here.node(OpKind::Add, {from, r.model.input(r.n, 1)}, "index"));
  r.text = "its index counts from the true extent " + r.model.dims.print(extent);
  return true;
}

bool bounds_of_slice(RepairContext& r) {
  const auto bounds = padding::slice_bounds(r.c);
  if (!bounds) return r.refuse("its bounds are not known as extents");
  const std::size_t rank = r.c.in(0).rank();
  std::size_t at = bounds->axes.size();
  std::vector<std::int64_t> starts, ends, axes, steps;  // of the other axes
  for (std::size_t k = 0; k < bounds->axes.size(); ++k) {
    const auto axis = normalize_axis(bounds->axes[k], rank);
    if (!axis) return r.refuse("its axes are not known");
    if (*axis == r.refusal.axis) {
      at = k;
      continue;
    }
    const auto start = r.model.dims.value(bounds->starts[k]), end = r.model.dims.value(bounds->ends[k]);
    if (!start || !end) return r.refuse("its other bounds are not constant");
    starts.push_back(*start);
    ends.push_back(*end);
    axes.push_back(*axis);
    steps.push_back(bounds->steps[k]);
  }
  if (at == bounds->axes.size() || bounds->steps[at] != 1) return r.refuse("it takes not every element");
  const DimId extent = r.c.extent(0, static_cast<std::size_t>(r.refusal.axis));
  const auto cut = bounds->cut(r.c, at, extent);
  const DimId size = cut.begin && cut.end ? r.model.dims.sub(cut.end, cut.begin) : DimId{};
  const auto count = size ? r.model.dims.value(size) : std::nullopt;
  if (!count || *count < 1 || *count > kMostPositions)
    return r.refuse("it takes " + (size ? r.model.dims.print(size) : "unknown") +
                    " elements, and their number must be the same in all runs");
  if (std::string why = r.no_extent(cut.begin); !why.empty()) return r.refuse(why);
  ValueId x = r.model.input(r.n, 0);
  if (!axes.empty())
    x = r.here.built("cut", [&](const Site& s) { return add_slice(s, x, {starts, ends, axes, steps}); });
  if (!x) return r.refuse("its other bounds cannot be written");
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(*count));
  std::iota(offsets.begin(), offsets.end(), std::int64_t{0});
  const ValueId from = r.true_extent(cut.begin, DType::Int64, r.here);
  const ValueId index = r.here.node(OpKind::Add, {from, r.here.numbers(offsets)}, "index");
  r.text = "it begins at " + r.model.dims.print(cut.begin) + " of the true extent";
  const std::int64_t axis = r.refusal.axis;
  r.replace(OpKind::Gather, std::vector<ValueId>{x, index}, std::vector<IntAttr>{{names::axis, axis}});
  return true;
}

}  // namespace

bool last_index(RepairContext& r) {
  switch (r.c.kind) {
    case OpKind::Gather:
    case OpKind::GatherElements: return index_of_gather(r);
    case OpKind::Slice: return bounds_of_slice(r);
    default: return r.refuse("no repair is known for the index of this operator");
  }
}

}  // namespace graphopt::repairs
