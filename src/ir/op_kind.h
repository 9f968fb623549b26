// The operators that graphopt knows, as numbers: passes and analyses compare these, never names.
//
// Within a group the kinds are in the byte order of names, so that op_kind() can search them (checked by the
// compiler, src/ops/facts.cpp). Numbers are not written to any file: a new operator may be inserted where its
// name belongs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace graphopt {

enum class OpKind : std::uint16_t {
  Opaque = 0,        // an operator without a row in the table
  FunctionCall = 1,  // a call of a function that the model itself defines
  Border = 2,        // in no file: stands between nodes of two devices while passes run

  // ai.onnx, opsets 1 to 28
  // clang-format off
  Abs, Acos, Acosh, Add, AffineGrid, And, ArgMax, ArgMin, Asin, Asinh, Atan, Atanh, Attention, AveragePool,
  BatchNormalization, Bernoulli, BitCast, BitShift, BitwiseAnd, BitwiseNot, BitwiseOr, BitwiseXor,
  BlackmanWindow, Cast, CastLike, CausalConvWithState, Ceil, Celu, CenterCropPad, Clip, Col2Im, Compress,
  Concat, ConcatFromSequence, Constant, ConstantOfShape, Conv, ConvInteger, ConvTranspose, Cos, Cosh, CumProd,
  CumSum, DFT, DeformConv, DepthToSpace, DequantizeLinear, Det, Div, Dropout, DynamicQuantizeLinear, Einsum,
  Elu, Equal, Erf, Exp, Expand, EyeLike, Flatten, Floor, GRU, Gather, GatherElements, GatherND, Gelu, Gemm,
  GlobalAveragePool, GlobalLpPool, GlobalMaxPool, Greater, GreaterOrEqual, GridSample, GroupNormalization,
  HammingWindow, HannWindow, HardSigmoid, HardSwish, Hardmax, Identity, If, ImageDecoder,
  InstanceNormalization, IsInf, IsNaN, LRN, LSTM, LayerNormalization, LeakyRelu, Less, LessOrEqual,
  LinearAttention, Log, LogSoftmax, Loop, LpNormalization, LpPool, MatMul, MatMulInteger, Max, MaxPool,
  MaxRoiPool, MaxUnpool, Mean, MeanVarianceNormalization, MelWeightMatrix, Min, Mish, Mod, Mul, Multinomial,
  Neg, NegativeLogLikelihoodLoss, NonMaxSuppression, NonZero, Not, OneHot, Optional, OptionalGetElement,
  OptionalHasElement, Or, PRelu, Pad, Pow, QLinearConv, QLinearMatMul, QuantizeLinear, RMSNormalization, RNN,
  RandomNormal, RandomNormalLike, RandomUniform, RandomUniformLike, Range, Reciprocal, ReduceL1, ReduceL2,
  ReduceLogSum, ReduceLogSumExp, ReduceMax, ReduceMean, ReduceMin, ReduceProd, ReduceSum, ReduceSumSquare,
  RegexFullMatch, Relu, Reshape, Resize, ReverseSequence, RoiAlign, RotaryEmbedding, Round, STFT, Scan,
  Scatter, ScatterElements, ScatterND, Selu, SequenceAt, SequenceConstruct, SequenceEmpty, SequenceErase,
  SequenceInsert, SequenceLength, SequenceMap, Shape, Shrink, Sigmoid, Sign, Sin, Sinh, Size, Slice, Softmax,
  SoftmaxCrossEntropyLoss, Softplus, Softsign, SpaceToDepth, Split, SplitToSequence, Sqrt, Squeeze,
  StringConcat, StringNormalizer, StringSplit, Sub, Sum, SwiGLU, Swish, Tan, Tanh, TensorScatter,
  TfIdfVectorizer, ThresholdedRelu, Tile, TopK, Transpose, Trilu, Unique, Unsqueeze, Upsample, Where, Xor,

  // ai.onnx.ml
  MlArrayFeatureExtractor, MlBinarizer, MlCastMap, MlCategoryMapper, MlDictVectorizer, MlFeatureVectorizer,
  MlImputer, MlLabelEncoder, MlLinearClassifier, MlLinearRegressor, MlNormalizer, MlOneHotEncoder,
  MlSVMClassifier, MlSVMRegressor, MlScaler, MlTreeEnsemble, MlTreeEnsembleClassifier,
  MlTreeEnsembleRegressor, MlZipMap,

  // ai.onnx.preview
  PreviewFlexAttention,

  // ai.onnx.preview.training
  PreviewTrainingAdagrad, PreviewTrainingAdam, PreviewTrainingGradient, PreviewTrainingMomentum,

  // com.microsoft (in files of ONNX Runtime SimplifiedLayerNormalization is also in the default domain)
  MsAttention, MsBeamSearch, MsBiasAdd, MsBiasDropout, MsBiasGelu, MsBiasSoftmax, MsBiasSplitGelu,
  MsComplexMul, MsComplexMulConj, MsConvTransposeWithDynamicPads, MsCropAndResize,
  MsDecoderMaskedMultiHeadAttention, MsDecoderMaskedSelfAttention, MsDequantizeLinear, MsDynamicQuantizeLSTM,
  MsDynamicQuantizeMatMul, MsEPContext, MsEmbedLayerNormalization, MsExpandDims, MsFastGelu, MsFusedConv,
  MsFusedGemm, MsFusedMatMul, MsFusedMatMulActivation, MsGatedRelativePositionBias, MsGatherBlockQuantized,
  MsGatherND, MsGelu, MsGemmFastGelu, MsGreedySearch, MsGridSample, MsGroupNorm, MsGroupQueryAttention,
  MsInverse, MsIrfft, MsIsAllFinite, MsLongformerAttention, MsMatMulBnb4, MsMatMulFpQ4, MsMatMulInteger16,
  MsMatMulIntegerToFloat, MsMatMulNBits, MsMaxpoolWithMask, MsMoE, MsMulInteger, MsMultiHeadAttention,
  MsMurmurHash3, MsNGramRepeatBlock, MsNhwcConv, MsNhwcFusedConv, MsNhwcMaxPool, MsPackedAttention,
  MsPackedMultiHeadAttention, MsPad, MsPagedAttention, MsQAttention, MsQEmbedLayerNormalization, MsQGemm,
  MsQLinearAdd, MsQLinearAveragePool, MsQLinearConcat, MsQLinearConv, MsQLinearGlobalAveragePool,
  MsQLinearLeakyRelu, MsQLinearMul, MsQLinearReduceMean, MsQLinearSigmoid, MsQLinearSoftmax, MsQLinearWhere,
  MsQMoE, MsQuantizeLinear, MsQuickGelu, MsRange, MsReduceSumInteger, MsRelativePositionBias, MsRemovePadding,
  MsRestorePadding, MsRfft, MsRotaryEmbedding, MsSampleOp, MsSampling, MsSimplifiedLayerNormalization,
  MsSkipGroupNorm, MsSkipLayerNormalization, MsSkipSimplifiedLayerNormalization, MsSparseAttention,
  MsTokenizer, MsTransposeMatMul, MsTrilu, MsUnfoldTensor, MsUnique, MsWhisperBeamSearch, MsWordConvEmbedding,
  // clang-format on

  Count
};

inline constexpr std::size_t kOpKindCount = static_cast<std::size_t>(OpKind::Count);
inline constexpr std::size_t kUnnamedKinds = 3;  // the first ones, which no name in a file means

}  // namespace graphopt
