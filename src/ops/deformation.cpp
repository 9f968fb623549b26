#include "ops/deformation.h"

#include "ops/facts_kernels.h"

namespace graphopt {

bool moves_type(std::int64_t opset, DType type) {
  constexpr OpKind kMoves[] = {OpKind::Reshape,   OpKind::Squeeze, OpKind::Unsqueeze,
                               OpKind::Transpose, OpKind::Concat,  OpKind::Split};
  return type != DType::String &&
         std::ranges::all_of(kMoves, [=](OpKind kind) { return has_kernel(kind, opset, type); });
}

}  // namespace graphopt
