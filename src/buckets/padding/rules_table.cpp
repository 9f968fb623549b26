// Maps the fact table's column `pad` to rules.
#include "buckets/padding/rules.h"

namespace graphopt {

PaddingRule padding_rule(PadRule rule) {
  switch (rule) {
    case PadRule::Elementwise: return padding::elementwise;
    case PadRule::Division: return padding::division;
    case PadRule::Clip: return padding::clip;
    case PadRule::Cast: return padding::cast;
    case PadRule::Dropout: return padding::dropout;
    case PadRule::Extents: return padding::extents;
    case PadRule::Transpose: return padding::transpose;
    case PadRule::Squeeze: return padding::squeeze;
    case PadRule::Unsqueeze: return padding::unsqueeze;
    case PadRule::Expand: return padding::expand;
    case PadRule::ConstantOfShape: return padding::constant_of_shape;
    case PadRule::Range: return padding::range;
    case PadRule::Tile: return padding::tile;
    case PadRule::EyeLike: return padding::eye_like;
    case PadRule::Trilu: return padding::trilu;
    case PadRule::Reshape: return padding::reshape;
    case PadRule::Concat: return padding::concat;
    case PadRule::Split: return padding::split;
    case PadRule::Slice: return padding::slice;
    case PadRule::Pad: return padding::pad;
    case PadRule::DepthSpace: return padding::depth_space;
    case PadRule::ReverseSequence: return padding::reverse_sequence;
    case PadRule::Resize: return padding::resize;
    case PadRule::CenterCropPad: return padding::center_crop_pad;
    case PadRule::BitCast: return padding::bit_cast;
    case PadRule::Gather: return padding::gather;
    case PadRule::GatherElements: return padding::gather_elements;
    case PadRule::GatherND: return padding::gather_nd;
    case PadRule::Scatter: return padding::scatter;
    case PadRule::TensorScatter: return padding::tensor_scatter;
    case PadRule::OneHot: return padding::one_hot;
    case PadRule::NonZero: return padding::non_zero;
    case PadRule::GridSample: return padding::grid_sample;
    case PadRule::Reduce: return padding::reduce;
    case PadRule::Softmax: return padding::softmax;
    case PadRule::ArgExtreme: return padding::arg_extreme;
    case PadRule::TopK: return padding::top_k;
    case PadRule::Cumulative: return padding::cumulative;
    case PadRule::MatMul: return padding::matmul;
    case PadRule::Gemm: return padding::gemm;
    case PadRule::Einsum: return padding::einsum;
    case PadRule::Convolution: return padding::convolution;
    case PadRule::TransposedConvolution: return padding::transposed_convolution;
    case PadRule::Pool: return padding::pool;
    case PadRule::GlobalPool: return padding::global_pool;
    case PadRule::Normalization: return padding::normalization;
    case PadRule::SkipNormalization: return padding::skip_normalization;
    case PadRule::LpNormalization: return padding::lp_normalization;
    case PadRule::BatchNormalization: return padding::batch_normalization;
    case PadRule::Recurrent: return padding::recurrent;
    case PadRule::Quantize: return padding::quantize;
    case PadRule::DynamicQuantize: return padding::dynamic_quantize;
    case PadRule::Attention: return padding::attention;
    case PadRule::RotaryEmbedding: return padding::rotary_embedding;
    case PadRule::Loss: return padding::loss;
    case PadRule::Apart: return padding::apart;
    case PadRule::Opaque: return nullptr;
  }
  return nullptr;
}

}  // namespace graphopt
