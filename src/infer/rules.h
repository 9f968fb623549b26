// The inference rules by family. Each is a function of one node; rules_table.cpp maps operators to rules.
#pragma once

#include "infer/context.h"

namespace graphopt::rules {

// States that result 0 has this element type, if one is known, and nothing of its dims.
inline void elem_only(NodeContext& c, DType elem) {
  if (elem != DType::Undefined) c.tensor(0, elem);
}

// rules_elementwise.cpp
void unary(NodeContext& c);        // result like operand 0
void unary_value(NodeContext& c);  // the same, with values: Neg, Abs, Floor, ...
void binary(NodeContext& c);       // Add, Sub, Mul, Div, Mod, Pow, BitShift, And, Or, ...
void prelu(NodeContext& c);
void compare(NodeContext& c);    // bool result
void predicate(NodeContext& c);  // IsNaN, IsInf: bool result like operand 0
void variadic(NodeContext& c);   // Sum, Mean, Min, Max
void where(NodeContext& c);
void cast(NodeContext& c);
void cast_like(NodeContext& c);
void clip(NodeContext& c);
void dropout(NodeContext& c);

// rules_shape.cpp
void constant(NodeContext& c);
void shape(NodeContext& c);
void size(NodeContext& c);
void constant_of_shape(NodeContext& c);
void range(NodeContext& c);
void expand(NodeContext& c);
void squeeze(NodeContext& c);
void unsqueeze(NodeContext& c);
void flatten(NodeContext& c);
void random_like(NodeContext& c);
void random_shape(NodeContext& c);
void eye_like(NodeContext& c);

// rules_reshape.cpp
void reshape(NodeContext& c);

// rules_movement.cpp
void concat(NodeContext& c);
void split(NodeContext& c);
void slice(NodeContext& c);
void gather(NodeContext& c);
void gather_elements(NodeContext& c);
void gather_nd(NodeContext& c);
void transpose(NodeContext& c);
void one_hot(NodeContext& c);
void non_zero(NodeContext& c);
void compress(NodeContext& c);
void unique(NodeContext& c);

// rules_extension.cpp
void tile(NodeContext& c);
void center_crop_pad(NodeContext& c);
void pad(NodeContext& c);
void depth_to_space(NodeContext& c);
void space_to_depth(NodeContext& c);

// rules_reduce.cpp
void reduce(NodeContext& c);
void arg_extreme(NodeContext& c);
void top_k(NodeContext& c);
void cum_sum(NodeContext& c);

// rules_conv_pool.cpp
void conv(NodeContext& c);
void conv_transpose(NodeContext& c);
void pool(NodeContext& c);
void global_pool(NodeContext& c);
void resize(NodeContext& c);
void roi_align(NodeContext& c);
void non_max_suppression(NodeContext& c);
void grid_sample(NodeContext& c);
void col2im(NodeContext& c);

// rules_matmul.cpp
void matmul(NodeContext& c);
void gemm(NodeContext& c);
void einsum(NodeContext& c);

// rules_attention.cpp
void attention(NodeContext& c);
void causal_conv(NodeContext& c);
void linear_attention(NodeContext& c);
void rotary_embedding(NodeContext& c);

// rules_norm.cpp
void batch_normalization(NodeContext& c);
void layer_normalization(NodeContext& c);
void group_normalization(NodeContext& c);
void classification_loss(NodeContext& c);
void instance_normalization(NodeContext& c);

// rules_rnn.cpp
void recurrent(NodeContext& c);

// rules_quant.cpp
void quantize_linear(NodeContext& c);
void dequantize_linear(NodeContext& c);
void dynamic_quantize_linear(NodeContext& c);

// rules_control.cpp
void if_node(NodeContext& c);
void loop(NodeContext& c);
void scan(NodeContext& c);
void function_call(NodeContext& c);

// rules_sequence.cpp
void sequence_construct(NodeContext& c);
void sequence_empty(NodeContext& c);
void sequence_insert(NodeContext& c);
void sequence_erase(NodeContext& c);
void sequence_at(NodeContext& c);
void sequence_length(NodeContext& c);
void split_to_sequence(NodeContext& c);
void concat_from_sequence(NodeContext& c);
void optional_make(NodeContext& c);
void optional_has_element(NodeContext& c);
void optional_get_element(NodeContext& c);

// rules_ml.cpp
void ml_scaler(NodeContext& c);
void ml_one_hot(NodeContext& c);
void ml_tree_classifier(NodeContext& c);
void ml_linear_classifier(NodeContext& c);
void ml_svm_classifier(NodeContext& c);
void ml_zip_map(NodeContext& c);
void opaque(NodeContext& c);  // an operator without a row in the fact table

// rules_contrib.cpp
void ms_like_first(NodeContext& c);
void ms_skip_norm(NodeContext& c);
void ms_matmul(NodeContext& c);
void ms_matmul_nbits(NodeContext& c);
void ms_attention(NodeContext& c);
void ms_multi_head_attention(NodeContext& c);
void ms_group_query_attention(NodeContext& c);
void ms_embed_layer_norm(NodeContext& c);
void ms_binary(NodeContext& c);
void ms_fused_gemm(NodeContext& c);

}  // namespace graphopt::rules
