// The rules of padding by family. Each decides about one node (context.h); rules_table.cpp maps the fact
// table's column to them. Every file says for its rules why they are sound.
#pragma once

#include "buckets/padding/context.h"

namespace graphopt::padding {

// rules_elementwise.cpp
bool elementwise(PaddingContext& c);
bool division(PaddingContext& c);
bool clip(PaddingContext& c);
bool cast(PaddingContext& c);
bool dropout(PaddingContext& c);
// Broadcasts operands; none where that relates two extents or layouts, after refuse().
std::optional<std::vector<LayoutId>> broadcast(PaddingContext& c,
                                               std::span<const PaddedValue* const> operands);
// The region of an operand that broadcasts to `region` of a result of rank r.
AxisMask operand_region(const PaddedValue& operand, std::size_t r, AxisMask region);

// rules_shape.cpp
bool extents(PaddingContext& c);
bool transpose(PaddingContext& c);
bool squeeze(PaddingContext& c);
bool unsqueeze(PaddingContext& c);
bool expand(PaddingContext& c);
bool constant_of_shape(PaddingContext& c);
bool range(PaddingContext& c);
bool tile(PaddingContext& c);
bool eye_like(PaddingContext& c);
bool trilu(PaddingContext& c);

// rules_reshape.cpp
bool reshape(PaddingContext& c);  // and Flatten

// rules_movement.cpp
bool concat(PaddingContext& c);
bool split(PaddingContext& c);
bool slice(PaddingContext& c);
// What a Slice says, as attributes or as operands; one entry per cut axis.
struct SliceBounds {
  std::vector<DimId> starts, ends;
  std::vector<std::int64_t> axes, steps;

  struct Cut {
    DimId begin, end;  // within 0 ... extent; none where the sign is not known
    bool begin_from_end = false;
  };
  Cut cut(PaddingContext& c, std::size_t k, DimId extent) const;
};
// Nothing where they are not known as extents.
std::optional<SliceBounds> slice_bounds(PaddingContext& c);
bool pad(PaddingContext& c);
bool depth_space(PaddingContext& c);
bool reverse_sequence(PaddingContext& c);
bool resize(PaddingContext& c);

// rules_apart.cpp
bool center_crop_pad(PaddingContext& c);
bool bit_cast(PaddingContext& c);
bool apart(PaddingContext& c);

// rules_index.cpp
bool gather(PaddingContext& c);
bool gather_elements(PaddingContext& c);
bool gather_nd(PaddingContext& c);
bool scatter(PaddingContext& c);
bool one_hot(PaddingContext& c);
bool non_zero(PaddingContext& c);

// rules_reduce.cpp
bool reduce(PaddingContext& c);
bool softmax(PaddingContext& c);
bool arg_extreme(PaddingContext& c);
bool top_k(PaddingContext& c);
bool cumulative(PaddingContext& c);

// rules_contract.cpp
bool matmul(PaddingContext& c);
bool gemm(PaddingContext& c);
bool einsum(PaddingContext& c);

// rules_window.cpp
bool convolution(PaddingContext& c);
bool transposed_convolution(PaddingContext& c);
bool pool(PaddingContext& c);
bool global_pool(PaddingContext& c);

// rules_norm.cpp
bool normalization(PaddingContext& c);
bool lp_normalization(PaddingContext& c);
bool batch_normalization(PaddingContext& c);
bool skip_normalization(PaddingContext& c);

// rules_loss.cpp
bool loss(PaddingContext& c);

// rules_sample.cpp
bool grid_sample(PaddingContext& c);
bool tensor_scatter(PaddingContext& c);

// rules_contrib.cpp: the forms of com.microsoft of products, normalizations and attention
bool packed_product(PaddingContext& c);
bool embedding(PaddingContext& c);
bool packed_attention(PaddingContext& c);

// rules_recurrent.cpp
bool recurrent(PaddingContext& c);

// rules_quantize.cpp
// Returns true if the operand may have more than one element.
bool has_several(PaddingContext& c, std::size_t operand);
bool quantize(PaddingContext& c);
bool dynamic_quantize(PaddingContext& c);

// rules_attention.cpp
bool attention(PaddingContext& c);
bool rotary_embedding(PaddingContext& c);

}  // namespace graphopt::padding
