// Normalizations: the first result has the operand's type, further ones are statistics.
#include "infer/rules.h"

namespace graphopt::rules {

void batch_normalization(NodeContext& c) {
  if (c.rank(0) > 1)
    for (std::size_t i = 1; i < 5 && i < c.input_count(); ++i)
      if (c.rank(i) == 1) c.same(c.shape(0)[1], c.shape(i)[0]);
  c.set(0, c.type_id(0));
  for (std::size_t i = 1; i < c.output_count(); ++i) {
    const std::size_t like = i == 1 || i == 3 ? 3 : 4;  // mean, variance
    if (c.has(like)) c.set(i, c.type_id(like));
  }
}

void layer_normalization(NodeContext& c) {
  c.set(0, c.type_id(0));
  if (c.output_count() < 2) return;
  const std::int64_t stash = c.attr_int(names::stash_type, 1);
  const DType elem = stash > 0 && stash < 256 ? static_cast<DType>(stash) : DType::Float;
  const auto axis = c.ranked(0) ? NodeContext::axis(c.attr_int(names::axis, -1), c.rank(0)) : std::nullopt;
  for (std::size_t i = 1; i < c.output_count(); ++i) {
    if (!axis) {
      c.tensor(i, elem);
      continue;
    }
    Dims d(c.shape(0).begin(), c.shape(0).end());
    for (std::size_t k = *axis; k < d.size(); ++k) d[k] = c.constant(1);
    c.tensor(i, elem, d);
  }
}

// ONNX Runtime computes it by the standard's function body, whose last Reshape takes a 0 for "as before": the
// number of groups, where there are no channels.
void group_normalization(NodeContext& c) {
  if (c.rank(0) < 2 || c.dims.equal(c.shape(0)[1], c.constant(0)) == Tri::No) return c.set(0, c.type_id(0));
  Dims d(c.shape(0).begin(), c.shape(0).end());
  d[1] = {};
  c.tensor(0, c.elem(0), d);
}

// Without a reduction the loss has the dims of the labels. The standard wants those of the scores without the
// classes to be the same; ONNX Runtime does not compare them.
void classification_loss(NodeContext& c) {
  c.set(1, c.type_id(0));  // the logarithms of the probabilities
  const DType elem = c.elem(0);
  if (elem == DType::Undefined) return;
  if (c.attr_string(names::reduction, "mean") != "none") return c.tensor(0, elem, {});
  if (!c.ranked(1) || c.rank(0) != c.rank(1) + 1) return c.tensor(0, elem);
  Dims d(c.shape(1).begin(), c.shape(1).end());
  for (std::size_t i = 0; i < d.size(); ++i)
    if (c.dims.equal(d[i], c.shape(0)[i == 0 ? 0 : i + 1]) != Tri::Yes) d[i] = {};
  c.tensor(0, elem, d);
}

void instance_normalization(NodeContext& c) { c.set(0, c.type_id(0)); }

}  // namespace graphopt::rules
