// How many multiplications with addition a model's run takes, as a formula of its open extents.
//
// Problem: the work of a run grows with the lengths of its inputs, and not evenly: attention counts twice.
// Buckets that were observed are chosen by that work, and people ask for it. Method: per node, from extents
// alone and by the fact table: a product of matrices multiplies each element of the result with the extent
// that it sums over, a convolution with the elements of one filter. Nodes without a contraction count
// nothing. Nodes of bodies count once for each time that they are known to run: those of the main graph.
//
//   x: [batch, seq, 64]  w: [64, 128]    MatMul (x, w)   8192*batch*seq
#pragma once

#include <cstddef>
#include <span>

#include "infer/infer.h"
#include "ir/model.h"

namespace graphopt {

struct MultiplyAdds {
  DimId count;              // over the symbols of the inputs; none where it is not representable
  std::size_t unknown = 0;  // nodes that multiply, and whose extents have no formula
};

// Of the main graph, or of some of its nodes. Interns expressions in the model's pool; nothing else changes.
// Inference has run.
MultiplyAdds multiply_adds(Model& m, const Inference& inference);
MultiplyAdds multiply_adds(Model& m, const Inference& inference, std::span<const NodeId> nodes);

}  // namespace graphopt
