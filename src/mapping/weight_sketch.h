// Whether two graphs hold the same numbers, in whatever tensors.
//
// Problem: a GRU and its primitives have no operator in common, and the weights of one are cut, transposed
// and joined in the other, so that no constant is equal; yet they are one model. Method: of the different
// numbers in all floating constants of a graph those with the least hashes are kept, and the share of them
// that both graphs have is an estimate of the share of all numbers. Zero, one and minus one say nothing. One
// pass over the weights; done only where nothing else tells.
// Source: Broder, "On the resemblance and containment of documents", 1997.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "mapping/side.h"

namespace graphopt::mapping {

class WeightSketch {
 public:
  void add(const Side& side);

  // Returns the share of the numbers of either graph that both have, about; 0 where one has too few to say.
  static double resemblance(const WeightSketch& a, const WeightSketch& b);

 private:
  static constexpr std::size_t kKept = 512, kFewest = 16;
  void add(float number);
  std::vector<std::uint64_t> least_;  // a heap, the greatest first
  std::unordered_set<std::uint64_t> is_kept_;
};

}  // namespace graphopt::mapping
