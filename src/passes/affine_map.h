// The arithmetic of fold-affine: maps s * x + o with a number per channel, and weights that take them in.
//
// Everything is computed in double and rounded once, to the type of the result.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/model.h"

namespace graphopt {

// x => scale * x + offset. Each list has one number for all channels or one per channel; an empty scale is 1
// and an empty offset 0.
struct AffineMap {
  std::vector<double> scale, offset;
};

// Element i of such a list.
inline double channel(const std::vector<double>& list, std::int64_t i, double neutral) {
  return list.empty() ? neutral : list[list.size() == 1 ? 0 : static_cast<std::size_t>(i)];
}

// Returns the map of (x - mean) / sqrt(var + epsilon) * scale + bias. Lists have equal lengths.
AffineMap normalization(std::span<const double> scale, std::span<const double> bias,
                        std::span<const double> mean, std::span<const double> variance, double epsilon);

// Returns whether payloads of this type can be computed: float16, float and double.
bool can_scale(DType type);

// A scale of ones and an offset of zeros are left out. Returns false if a number is not finite.
bool simplify(AffineMap& map);

// The weight of a product, read as [batch, outer, inner, window]. With `group` groups the outer axis falls
// into as many blocks, and entry (o, i) stands for channel o of the outer side and channel
// o / (outer / group) * inner + i of the inner side.
//
//   Conv [M, C/g, k...]            outer: results    inner: operands
//   ConvTranspose [C, M/g, k...]   outer: operands   inner: results
//   Gemm, MatMul [..., K, N]       outer: operands   inner: results    (transB: as Conv)
struct ProductWeight {
  TensorId tensor;
  std::int64_t batch = 1, outer = 1, inner = 1, window = 1, group = 1;
  bool outer_is_result = false;

  std::int64_t results() const { return outer_is_result ? outer : inner * group; }
  std::int64_t operands() const { return outer_is_result ? inner * group : outer; }
};

// Returns the payload of the weight with each element multiplied by the scale of its result channel
// (`result`) or operand channel; nothing where an element is not finite or the weight cannot be read.
std::optional<std::string> scaled_payload(const Model& m, const ProductWeight& w,
                                          const std::vector<double>& scale, bool result);
// Returns for each result channel the sum of weight * offset over operand channels and window.
std::optional<std::vector<double>> summed_offset(const Model& m, const ProductWeight& w,
                                                 const std::vector<double>& offset);
// Returns the payload of these numbers, each rounded to the nearest of a floating type; nothing where one is
// not finite then.
std::optional<std::string> real_payload(DType type, std::span<const double> numbers);

}  // namespace graphopt
