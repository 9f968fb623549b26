// RNN, GRU, LSTM: X (length, batch, input), W, R; Y (length, directions, batch, hidden), Y_h, Y_c. With
// layout 1 batch comes first everywhere.
#include "infer/rules.h"

namespace graphopt::rules {

void recurrent(NodeContext& c) {
  const DType elem = c.elem(0);
  if (elem == DType::Undefined) return;
  const bool batch_first = c.attr_int(names::layout, 0) != 0;
  const auto direction = c.attr_string(names::direction, "forward");
  const DimId directions = c.constant(direction == "bidirectional" ? 2 : 1);
  DimId length, batch, hidden;
  if (c.rank(0) == 3) {
    length = c.shape(0)[batch_first ? 1 : 0];
    batch = c.shape(0)[batch_first ? 0 : 1];
    if (c.rank(1) == 3) c.same(c.shape(0)[2], c.shape(1)[2]);
  }
  if (const auto size = c.maybe_int(names::hidden_size); size && *size > 0) hidden = c.constant(*size);
  else if (c.rank(2) == 3) hidden = c.shape(2)[2];
  if (c.has_output(0)) {
    const Dims d =
        batch_first ? Dims{batch, length, directions, hidden} : Dims{length, directions, batch, hidden};
    if (c.opset() >= 7 || c.attr_int(names::output_sequence, 0) != 0 || c.kind == OpKind::RNN)
      c.tensor(0, elem, d);
    else c.tensor(0, elem);
  }
  const Dims d = batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  for (std::size_t i = 1; i < c.output_count(); ++i) c.tensor(i, elem, d);
}

}  // namespace graphopt::rules
