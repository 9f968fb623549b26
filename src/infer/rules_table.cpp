// Maps operators to inference rules. Operators without a rule of our own are inferred by onnx's functions.
//
// The map is not a column of the fact table (src/ops/facts_*.inc), because that layer must not include
// inference; it is checked here that no operator has two rules.
#include <array>

#include "infer/rules.h"

namespace graphopt {
namespace {

using K = OpKind;
using Table = std::array<InferenceRule, kOpKindCount>;

template <class... Kinds> constexpr void put(Table& t, InferenceRule rule, Kinds... kinds) {
  const auto set = [&](OpKind kind) {
    InferenceRule& entry = t[static_cast<std::size_t>(kind)];
    if (entry != nullptr) throw "two rules for one operator";  // refused at compile time
    entry = rule;
  };
  (set(kinds), ...);
}

constexpr Table make_table() {
  Table t{};
  put(t, rules::opaque, K::Opaque);
  put(t, rules::function_call, K::FunctionCall);
  put(t, rules::unary, K::Acos, K::Acosh, K::Asin, K::Asinh, K::Atan, K::Atanh, K::BitwiseNot, K::Celu,
      K::Cos, K::Cosh, K::Elu, K::Erf, K::Exp, K::Gelu, K::HardSigmoid, K::HardSwish, K::Hardmax, K::LRN,
      K::LeakyRelu, K::Log, K::LogSoftmax, K::LpNormalization, K::MeanVarianceNormalization, K::Mish,
      K::Reciprocal, K::Selu, K::Shrink, K::Sigmoid, K::Sin, K::Sinh, K::Softmax, K::Softplus, K::Softsign,
      K::Swish, K::Tan, K::Tanh, K::ThresholdedRelu, K::Trilu, K::ScatterElements, K::ScatterND, K::Scatter,
      K::ReverseSequence);
  put(t, rules::prelu, K::PRelu);
  put(t, rules::group_normalization, K::GroupNormalization);
  put(t, rules::unary_value, K::Border, K::Identity, K::Neg, K::Abs, K::Floor, K::Ceil, K::Round, K::Sign,
      K::Not, K::Sqrt, K::Relu);
  put(t, rules::binary, K::Add, K::Sub, K::Mul, K::Div, K::Mod, K::Pow, K::And, K::Or, K::Xor, K::BitShift,
      K::BitwiseAnd, K::BitwiseOr, K::BitwiseXor);
  put(t, rules::compare, K::Equal, K::Less, K::LessOrEqual, K::Greater, K::GreaterOrEqual);
  put(t, rules::predicate, K::IsNaN, K::IsInf);
  put(t, rules::variadic, K::Sum, K::Mean, K::Min, K::Max);
  put(t, rules::where, K::Where);
  put(t, rules::cast, K::Cast);
  put(t, rules::cast_like, K::CastLike);
  put(t, rules::clip, K::Clip);
  put(t, rules::dropout, K::Dropout);
  put(t, rules::constant, K::Constant);
  put(t, rules::shape, K::Shape);
  put(t, rules::size, K::Size);
  put(t, rules::constant_of_shape, K::ConstantOfShape);
  put(t, rules::range, K::Range);
  put(t, rules::reshape, K::Reshape);
  put(t, rules::expand, K::Expand);
  put(t, rules::squeeze, K::Squeeze);
  put(t, rules::unsqueeze, K::Unsqueeze);
  put(t, rules::flatten, K::Flatten);
  put(t, rules::random_like, K::RandomNormalLike, K::RandomUniformLike, K::Bernoulli);
  put(t, rules::random_shape, K::RandomNormal, K::RandomUniform);
  put(t, rules::eye_like, K::EyeLike);
  put(t, rules::concat, K::Concat);
  put(t, rules::split, K::Split);
  put(t, rules::slice, K::Slice);
  put(t, rules::gather, K::Gather);
  put(t, rules::gather_elements, K::GatherElements);
  put(t, rules::gather_nd, K::GatherND);
  put(t, rules::transpose, K::Transpose);
  put(t, rules::tile, K::Tile);
  put(t, rules::center_crop_pad, K::CenterCropPad);
  put(t, rules::pad, K::Pad);
  put(t, rules::depth_to_space, K::DepthToSpace);
  put(t, rules::space_to_depth, K::SpaceToDepth);
  put(t, rules::one_hot, K::OneHot);
  put(t, rules::non_zero, K::NonZero);
  put(t, rules::compress, K::Compress);
  put(t, rules::unique, K::Unique);
  put(t, rules::reduce, K::ReduceL1, K::ReduceL2, K::ReduceLogSum, K::ReduceLogSumExp, K::ReduceMax,
      K::ReduceMean, K::ReduceMin, K::ReduceProd, K::ReduceSum, K::ReduceSumSquare);
  put(t, rules::arg_extreme, K::ArgMax, K::ArgMin);
  put(t, rules::top_k, K::TopK);
  put(t, rules::cum_sum, K::CumSum, K::CumProd);
  put(t, rules::conv, K::Conv, K::ConvInteger, K::QLinearConv);
  put(t, rules::conv_transpose, K::ConvTranspose);
  put(t, rules::pool, K::AveragePool, K::MaxPool, K::LpPool);
  put(t, rules::global_pool, K::GlobalAveragePool, K::GlobalLpPool, K::GlobalMaxPool);
  put(t, rules::resize, K::Resize, K::Upsample);
  put(t, rules::roi_align, K::RoiAlign);
  put(t, rules::non_max_suppression, K::NonMaxSuppression);
  put(t, rules::grid_sample, K::GridSample);
  put(t, rules::col2im, K::Col2Im);
  put(t, rules::matmul, K::MatMul, K::MatMulInteger);
  put(t, rules::gemm, K::Gemm);
  put(t, rules::einsum, K::Einsum);
  put(t, rules::attention, K::Attention);
  put(t, rules::causal_conv, K::CausalConvWithState);
  put(t, rules::linear_attention, K::LinearAttention);
  put(t, rules::rotary_embedding, K::RotaryEmbedding);
  put(t, rules::batch_normalization, K::BatchNormalization);
  put(t, rules::layer_normalization, K::LayerNormalization, K::RMSNormalization);
  put(t, rules::instance_normalization, K::InstanceNormalization);
  put(t, rules::classification_loss, K::SoftmaxCrossEntropyLoss, K::NegativeLogLikelihoodLoss);
  put(t, rules::recurrent, K::LSTM, K::GRU, K::RNN);
  put(t, rules::quantize_linear, K::QuantizeLinear);
  put(t, rules::dequantize_linear, K::DequantizeLinear);
  put(t, rules::dynamic_quantize_linear, K::DynamicQuantizeLinear);
  put(t, rules::if_node, K::If);
  put(t, rules::loop, K::Loop);
  put(t, rules::scan, K::Scan);
  put(t, rules::sequence_construct, K::SequenceConstruct);
  put(t, rules::sequence_empty, K::SequenceEmpty);
  put(t, rules::sequence_insert, K::SequenceInsert);
  put(t, rules::sequence_erase, K::SequenceErase);
  put(t, rules::sequence_at, K::SequenceAt);
  put(t, rules::sequence_length, K::SequenceLength);
  put(t, rules::split_to_sequence, K::SplitToSequence);
  put(t, rules::concat_from_sequence, K::ConcatFromSequence);
  put(t, rules::optional_make, K::Optional);
  put(t, rules::optional_has_element, K::OptionalHasElement);
  put(t, rules::optional_get_element, K::OptionalGetElement);
  put(t, rules::ml_scaler, K::MlScaler, K::MlNormalizer);
  put(t, rules::ml_one_hot, K::MlOneHotEncoder);
  put(t, rules::ml_tree_classifier, K::MlTreeEnsembleClassifier);
  put(t, rules::ml_linear_classifier, K::MlLinearClassifier);
  put(t, rules::ml_svm_classifier, K::MlSVMClassifier);
  put(t, rules::ml_zip_map, K::MlZipMap);
  put(t, rules::ms_like_first, K::MsBiasGelu, K::MsFastGelu, K::MsGelu, K::MsQuickGelu, K::MsBiasSoftmax,
      K::MsRotaryEmbedding, K::MsGroupNorm);
  put(t, rules::ms_skip_norm, K::MsSkipLayerNormalization, K::MsSkipSimplifiedLayerNormalization);
  put(t, rules::layer_normalization, K::MsSimplifiedLayerNormalization);
  put(t, rules::ms_binary, K::MsBiasAdd);
  put(t, rules::ms_matmul, K::MsFusedMatMul, K::MsTransposeMatMul);
  put(t, rules::ms_matmul_nbits, K::MsMatMulNBits, K::MsMatMulBnb4);
  put(t, rules::ms_attention, K::MsAttention);
  put(t, rules::ms_multi_head_attention, K::MsMultiHeadAttention);
  put(t, rules::ms_group_query_attention, K::MsGroupQueryAttention);
  put(t, rules::ms_embed_layer_norm, K::MsEmbedLayerNormalization);
  put(t, rules::ms_fused_gemm, K::MsFusedGemm);
  put(t, rules::conv, K::MsFusedConv);
  put(t, rules::quantize_linear, K::MsQuantizeLinear);
  put(t, rules::dequantize_linear, K::MsDequantizeLinear);
  return t;
}

constexpr Table kTable = make_table();

}  // namespace

InferenceRule rule_for(OpKind kind) { return kTable[static_cast<std::size_t>(kind)]; }

}  // namespace graphopt
