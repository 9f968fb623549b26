// What is known of constants, once for all analyses of a model.
//
// Problem: a search for padding analyses a model many times. The ranges of weights, and what nodes make of
// constants alone, are the same each time; reading all weights again takes longer than all else.
// Method: both are kept, by tensor and by node.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "buckets/padding/content.h"
#include "ir/model.h"

namespace graphopt {

class ConstantFacts {
 public:
  // Returns the range of a constant's elements; anything for types without numbers. Linear in the elements
  // the first time.
  const Content& content(const Model& m, TensorId t);
  // Returns the results of a node all of whose operands are these constants (none for an absent one), as
  // tensors of the model; none for a result that is not used. Nothing where it is not folded.
  const std::optional<std::vector<TensorId>>& folded(Model& m, NodeId n, std::span<const TensorId> operands);

 private:
  std::map<TensorId, Content> contents_;
  std::map<NodeId, std::optional<std::vector<TensorId>>> folded_;
};

}  // namespace graphopt
