// LSTM, GRU and RNN over padded steps without lengths: sequence_lens says where each sequence ends.
//
// Backwards a recurrence then begins at the true end, and its final state is that of the last true step.
// Exact: in a run on true data each length is the number of steps, which is what an absent operand means.
// Sequences that only fill the batch up get the same length, which is within the padded steps.
//
//   y, h = GRU (x, w, r)    =>    y, h = GRU (x, w, r, , Expand (Cast (true_len_t), [batch]))
#include "buckets/repair/rules.h"

namespace graphopt::repairs {

bool lengths(RepairContext& r) {
  const PaddedValue& x = r.c.in(0);
  const DimId steps = r.c.extent(0, 0), batch = r.c.extent(0, 1);
  if (r.here.opset() < 8) return r.refuse("opset " + std::to_string(r.here.opset()) + " has no Expand");
  if (r.model.dims.range(steps).high > (std::int64_t{1} << 31) - 1) return r.refuse("lengths are int32");
  if (std::string why = r.no_extent(steps); !why.empty()) return r.refuse(why);
  if (std::string why = r.extents.obstacle(batch, ExtentOf::ThisRun); !why.empty()) return r.refuse(why);
  const ValueId one = r.true_extent(steps, DType::Int32, r.here);
  const ValueId size = r.extents.value(batch, ExtentOf::ThisRun);
  const ValueId shape = r.here.built(
      "batch", [&](const Site& s) { return add_unsqueeze(s, size, std::vector<std::int64_t>{0}); });
  const ValueId all = r.here.node(OpKind::Expand, {one, shape}, "lengths");
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < std::max<std::size_t>(r.c.input_count(), 5); ++i)
    operands.push_back(i == 4 ? all : r.model.input(r.n, i));
  r.text = "its sequences end at the true end of " + r.c.axis_text(x, 1);
  r.model.set_operands(r.n, operands);
  return true;
}

}  // namespace graphopt::repairs
