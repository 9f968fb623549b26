// The part of the operator table that no schema states: classes, purity, operands that may be swapped, pad
// rules. The expected lists were written by hand from the operators' ONNX texts.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>

#include "ops/facts.h"

namespace graphopt {
namespace {

using Names = std::set<std::string>;

std::string label(const OpFacts& row) {
  return (row.domain.empty() ? "" : std::string(row.domain) + "/") + std::string(row.name);
}

// The newest row of an operator that still exists.
const OpFacts* newest(OpKind kind) {
  const OpFacts* found = nullptr;
  for (const OpFacts& row : all_facts())
    if (row.kind == kind && !row.deprecated) found = &row;
  return found;
}

Names labels_where(bool (*holds)(const OpFacts&)) {
  Names names;
  for (const OpFacts& row : all_facts())
    if (!row.name.empty() && holds(row)) names.insert(label(row));
  return names;
}

struct ClassList {
  OpClass cls;
  const char* operators;  // Name, or Name@first-opset when that is not 1
};

// All operators of ai.onnx up to opset 26, by class.
constexpr ClassList kLists[] = {
    {OpClass::Unary,
     "Abs Acos@7 Acosh@9 Asin@7 Asinh@9 Atan@7 Atanh@9 BitCast@26 BitwiseNot@18 Cast CastLike@15 Ceil "
     "Celu@12 Cos@7 Cosh@9 Elu Erf@9 Exp Floor Gelu@20 HardSigmoid HardSwish@14 Identity IsInf@10 "
     "IsNaN@9 LeakyRelu Log Mish@18 Neg Not Reciprocal Relu Round@11 Selu Shrink@9 Sigmoid Sign@9 Sin@7 "
     "Sinh@9 Softplus Softsign Sqrt Swish@24 Tan@7 Tanh ThresholdedRelu@10"},
    {OpClass::Nary,
     "Add And BitShift@11 BitwiseAnd@18 BitwiseOr@18 BitwiseXor@18 Div Equal Greater GreaterOrEqual@12 "
     "Less LessOrEqual@12 Max Mean Min Mod@10 Mul Or PRelu Pow Sub Sum Where@9 Xor"},
    {OpClass::Conditional, "BatchNormalization Clip DequantizeLinear@10 Dropout QuantizeLinear@10"},
    {OpClass::Merge, "Concat ConcatFromSequence@11"},
    {OpClass::Split, "Split SplitToSequence@11"},
    {OpClass::Deformation, "Flatten Reshape Squeeze Unsqueeze"},
    {OpClass::Order, "Transpose DepthToSpace SpaceToDepth"},
    {OpClass::Heavy,
     "Conv ConvInteger@10 ConvTranspose DeformConv@19 Gemm GroupNormalization@18 InstanceNormalization "
     "LayerNormalization@17 MatMul MatMulInteger@10 QLinearConv@10 QLinearMatMul@10 RMSNormalization@23"},
    {OpClass::Anchor,
     "AffineGrid@20 ArgMax ArgMin Attention@23 AveragePool Col2Im@18 CumProd@26 CumSum@11 DFT@17 Det@11 "
     "DynamicQuantizeLinear@11 Einsum@12 GRU GlobalAveragePool GlobalLpPool GlobalMaxPool GridSample@16 "
     "Hardmax LRN LSTM LogSoftmax LpNormalization LpPool MaxPool MaxRoiPool MaxUnpool@9 "
     "MeanVarianceNormalization@9 MelWeightMatrix@17 NegativeLogLikelihoodLoss@12 RNN ReduceL1 ReduceL2 "
     "ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare "
     "Resize@10 RoiAlign@10 RotaryEmbedding@23 STFT@17 Softmax SoftmaxCrossEntropyLoss@12 TopK Upsample"},
    {OpClass::Movement,
     "CenterCropPad@18 Expand@8 Gather GatherElements@11 GatherND@11 OneHot@9 Pad ReverseSequence@10 "
     "Scatter@9 ScatterElements@11 ScatterND@11 Slice TensorScatter@24 Tile Trilu@14"},
    {OpClass::Barrier,
     "If Loop Scan@8 SequenceMap@17 Bernoulli@15 Multinomial@7 RandomNormal RandomNormalLike "
     "RandomUniform RandomUniformLike BlackmanWindow@17 Constant ConstantOfShape@9 EyeLike@9 "
     "HammingWindow@17 HannWindow@17 Range@11 Shape Size Compress@9 NonMaxSuppression@10 NonZero@9 "
     "Unique@11 Optional@15 OptionalGetElement@15 OptionalHasElement@15 SequenceAt@11 "
     "SequenceConstruct@11 SequenceEmpty@11 SequenceErase@11 SequenceInsert@11 SequenceLength@11 "
     "ImageDecoder@20 RegexFullMatch@20 StringConcat@20 StringNormalizer@10 StringSplit@20 "
     "TfIdfVectorizer@9"},
};

TEST(FactsClasses, EveryOperatorOfOpsets1To26StandsInItsClass) {
  std::map<std::string, OpClass> listed;
  for (const ClassList& list : kLists) {
    std::istringstream words(list.operators);
    for (std::string word; words >> word;) {
      const std::size_t at = word.find('@');
      const std::string name = word.substr(0, at);
      const int first = at == std::string::npos ? 1 : std::stoi(word.substr(at + 1));
      EXPECT_TRUE(listed.emplace(name, list.cls).second) << name << " stands in two lists";
      const OpKind kind = op_kind("", name);
      ASSERT_NE(kind, OpKind::Opaque) << name;
      EXPECT_EQ(newest(kind)->cls, list.cls) << name;
      EXPECT_NE(facts(kind, first).kind, OpKind::Opaque) << name << " is there at " << first;
      EXPECT_EQ(facts(kind, first - 1).kind, OpKind::Opaque) << name << " is not there before " << first;
    }
  }
  EXPECT_EQ(listed.size(), 200U);
  // What stands in no list came later, or is not ONNX's.
  Names others;
  for (const OpFacts& row : all_facts())
    if (!row.name.empty() && row.domain.empty() && !listed.contains(std::string(row.name)))
      others.insert(std::string(row.name));
  EXPECT_EQ(others,
            (Names{"CausalConvWithState", "LinearAttention", "SimplifiedLayerNormalization", "SwiGLU"}));
  EXPECT_EQ(facts(OpKind::SwiGLU, 28).cls, OpClass::Nary);
  EXPECT_EQ(facts(OpKind::LinearAttention, 27).cls, OpClass::Anchor);
  EXPECT_EQ(facts(OpKind::CausalConvWithState, 27).cls, OpClass::Heavy);
}

TEST(FactsClasses, OlderRowsHaveTheClassOfTheNewest) {
  for (const OpFacts& row : all_facts()) {
    if (row.deprecated) {
      EXPECT_EQ(row.cls, OpClass::Barrier) << label(row);
      EXPECT_EQ(row.purity, Purity::Unknown) << label(row);
    } else if (row.kind == OpKind::Split && row.since == 1) {
      EXPECT_EQ(row.cls, OpClass::Barrier);  // its text gives the axis no default
    } else {
      EXPECT_EQ(row.cls, newest(row.kind)->cls) << label(row) << "@" << row.since;
    }
  }
}

TEST(FactsClasses, LookUpOfWhatIsNotThere) {
  EXPECT_EQ(op_kind("", "NoSuchOperator"), OpKind::Opaque);
  EXPECT_EQ(op_kind("", ""), OpKind::Opaque);
  EXPECT_EQ(op_kind("", "conv"), OpKind::Opaque);
  EXPECT_EQ(op_kind("", "Con"), OpKind::Opaque);
  EXPECT_EQ(op_kind("", "Convo"), OpKind::Opaque);
  EXPECT_EQ(op_kind("", "Scaler"), OpKind::Opaque);  // of ai.onnx.ml
  EXPECT_EQ(op_kind("", "Zzz"), OpKind::Opaque);     // after the last name
  EXPECT_EQ(op_kind("", "AAA"), OpKind::Opaque);     // before the first
  EXPECT_EQ(op_kind("ai.onnx.ml", "Conv"), OpKind::Opaque);
  EXPECT_EQ(op_kind("my.domain", "Conv"), OpKind::Opaque);
  EXPECT_EQ(op_kind("com.microsoft", "Zzz"), OpKind::Opaque);
  EXPECT_EQ(op_kind("com.microsoft.experimental", "Attention"), OpKind::Opaque);

  EXPECT_EQ(&facts(OpKind::Opaque, 17), &facts(OpKind::Conv, 0));
  EXPECT_EQ(facts(OpKind::Conv, -5).kind, OpKind::Opaque);
  EXPECT_EQ(facts(OpKind::Conv, kNewestOpset + 1).kind, OpKind::Opaque);  // may mean something else there
  EXPECT_EQ(facts(OpKind::Count, 17).kind, OpKind::Opaque);
  EXPECT_EQ(facts(static_cast<OpKind>(65535), 17).kind, OpKind::Opaque);
  EXPECT_EQ(op_name(OpKind::Count), "");
  EXPECT_EQ(op_name(OpKind::Opaque), "");

  const OpFacts& opaque = facts(OpKind::Opaque, 1);
  EXPECT_EQ(opaque.cls, OpClass::Barrier);
  EXPECT_EQ(opaque.purity, Purity::Unknown);
  EXPECT_EQ(opaque.max_inputs, 255);
  EXPECT_TRUE(opaque.shape_from_values);
  EXPECT_EQ(facts(OpKind::FunctionCall, 3).kind, OpKind::FunctionCall);
  EXPECT_EQ(find_attribute(facts(OpKind::Conv, 22), "strides")->type, AttrType::Ints);
  EXPECT_EQ(find_attribute(facts(OpKind::Conv, 22), "stride"), nullptr);
}

TEST(FactsClasses, EveryKindIsFoundByItsName) {
  for (std::size_t k = kUnnamedKinds; k < kOpKindCount; ++k) {
    const auto kind = static_cast<OpKind>(k);
    EXPECT_EQ(op_kind(op_domain(kind), op_name(kind)), kind) << op_name(kind);
    ASSERT_NE(newest(kind), nullptr) << op_name(kind);
    EXPECT_EQ(newest(kind)->name, op_name(kind));
  }
  EXPECT_EQ(op_kind("", "Border"), OpKind::Opaque);  // no name in a file means it
  EXPECT_EQ(op_kind("", "Conv"), OpKind::Conv);
  EXPECT_EQ(op_kind("ai.onnx", "Conv"), OpKind::Conv);
  EXPECT_EQ(op_kind("", "Abs"), OpKind::Abs);
  EXPECT_EQ(op_kind("", "Xor"), OpKind::Xor);
  EXPECT_EQ(op_kind("ai.onnx.ml", "ZipMap"), OpKind::MlZipMap);
  EXPECT_EQ(op_kind("com.microsoft", "Attention"), OpKind::MsAttention);
  EXPECT_EQ(op_kind("", "Attention"), OpKind::Attention);
  EXPECT_EQ(op_kind("com.microsoft", "WordConvEmbedding"), OpKind::MsWordConvEmbedding);
  EXPECT_EQ(op_kind("", "SimplifiedLayerNormalization"), OpKind::MsSimplifiedLayerNormalization);
  EXPECT_EQ(op_kind("com.microsoft", "SimplifiedLayerNormalization"), OpKind::MsSimplifiedLayerNormalization);
  EXPECT_EQ(facts(OpKind::MsSimplifiedLayerNormalization, 17).cls, OpClass::Heavy);
}

TEST(FactsClasses, OnlyThesePairsOfOperandsMayBeSwapped) {
  const Names commutative = labels_where([](const OpFacts& r) { return r.commutative; });
  EXPECT_EQ(commutative,
            (Names{"Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Mul", "Or", "Xor"}));
  for (const OpFacts& row : all_facts())
    if (row.commutative) {
      // before opset 7 the first operand gives the shape
      EXPECT_EQ(row.broadcast, Broadcast::Multi) << label(row);
      EXPECT_EQ(row.max_inputs, 2) << label(row);
    }
}

TEST(FactsClasses, Purity) {
  EXPECT_EQ(labels_where([](const OpFacts& r) { return r.purity == Purity::Random; }),
            (Names{"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
                   "RandomUniformLike", "com.microsoft/BiasDropout", "com.microsoft/Sampling"}));
  EXPECT_EQ(facts(OpKind::Dropout, 10).purity, Purity::Pure);    // nothing can make it train
  EXPECT_EQ(facts(OpKind::Dropout, 6).purity, Purity::Random);   // is_test = 0 by default
  EXPECT_EQ(facts(OpKind::Dropout, 12).purity, Purity::Random);  // training_mode
  EXPECT_EQ(
      labels_where([](const OpFacts& r) { return r.purity == Purity::ControlFlow; }),
      (Names{"If", "Loop", "Scan", "SequenceMap", "ai.onnx.preview/FlexAttention", "com.microsoft/BeamSearch",
             "com.microsoft/GreedySearch", "com.microsoft/WhisperBeamSearch"}));
  for (const OpFacts& row : all_facts()) {  // a body makes an operator at least that
    bool body = false;
    for (const AttrFact& a : row.attributes) body = body || a.type == AttrType::Graph;
    if (body) {
      EXPECT_NE(row.purity, Purity::Pure) << label(row);
    }
    if (row.purity == Purity::Unknown && row.domain.empty() && !row.name.empty()) {
      EXPECT_TRUE(row.deprecated) << label(row);
    }
  }
}

TEST(FactsClasses, BroadcastingChangesWithTheOpset) {
  EXPECT_EQ(facts(OpKind::Add, 6).broadcast, Broadcast::LegacyAxis);
  EXPECT_EQ(facts(OpKind::Add, 7).broadcast, Broadcast::Multi);
  EXPECT_EQ(facts(OpKind::Max, 7).broadcast, Broadcast::None);
  EXPECT_EQ(facts(OpKind::Max, 8).broadcast, Broadcast::Multi);
  EXPECT_EQ(facts(OpKind::Sum, 7).broadcast, Broadcast::None);
  EXPECT_EQ(facts(OpKind::Mean, 8).broadcast, Broadcast::Multi);
  EXPECT_EQ(facts(OpKind::PRelu, 6).broadcast, Broadcast::LegacyAxis);
  EXPECT_EQ(facts(OpKind::PRelu, 7).broadcast, Broadcast::OneWay);
  EXPECT_EQ(facts(OpKind::Clip, 10).broadcast, Broadcast::None);
  EXPECT_EQ(facts(OpKind::Clip, 11).broadcast, Broadcast::FixedScalars);
  EXPECT_EQ(facts(OpKind::SwiGLU, 28).broadcast, Broadcast::None);
  for (const OpFacts& row : all_facts()) {
    if (row.cls != OpClass::Nary || !row.domain.empty() || row.since < 8 || row.kind == OpKind::SwiGLU)
      continue;
    EXPECT_NE(row.broadcast, Broadcast::None) << label(row);
  }
}

TEST(FactsClasses, ShapeOperandsAreWhatOutputDimsDependOn) {
  const Names by_data = labels_where([](const OpFacts& r) {
    for (const Role role : r.roles)
      if (role == Role::Shape) return false;
    return r.shape_from_values && !r.deprecated;
  });
  EXPECT_EQ(by_data,
            (Names{"Compress", "If", "ImageDecoder", "Loop", "NonMaxSuppression", "NonZero", "SequenceAt",
                   "StringNormalizer", "StringSplit", "Unique", "ai.onnx.ml/CastMap",
                   "com.microsoft/RemovePadding", "com.microsoft/Tokenizer", "com.microsoft/Unique"}));
  for (const OpFacts& row : all_facts())
    for (const Role role : row.roles) EXPECT_TRUE(role != Role::Shape || row.shape_from_values) << label(row);
  EXPECT_FALSE(facts(OpKind::Reshape, 1).shape_from_values);
  EXPECT_TRUE(facts(OpKind::Reshape, 5).shape_from_values);
  EXPECT_FALSE(facts(OpKind::ReduceSum, 11).shape_from_values);
  EXPECT_TRUE(facts(OpKind::ReduceSum, 13).shape_from_values);
  EXPECT_FALSE(facts(OpKind::Gather, 13).shape_from_values);
  EXPECT_FALSE(facts(OpKind::CumSum, 14).shape_from_values);
  EXPECT_FALSE(facts(OpKind::Shape, 21).shape_from_values);  // dims, not values
}

TEST(FactsClasses, RolesOfOperands) {
  const OpFacts& conv = facts(OpKind::Conv, 22);
  EXPECT_EQ(role_of(conv, 0), Role::Data);
  EXPECT_EQ(role_of(conv, 1), Role::Weight);
  const OpFacts& loop = facts(OpKind::Loop, 21);
  EXPECT_EQ(role_of(loop, 1), Role::Control);
  EXPECT_EQ(role_of(loop, 2), Role::Data);
  EXPECT_EQ(role_of(loop, 900), Role::Data);
  EXPECT_EQ(role_of(facts(OpKind::Concat, 13), 77), Role::Data);
  EXPECT_EQ(role_of(facts(OpKind::Slice, 13), 4), Role::Shape);
  EXPECT_EQ(role_of(facts(OpKind::Gather, 13), 1), Role::Index);
  EXPECT_EQ(role_of(facts(OpKind::Clip, 13), 2), Role::Param);
  EXPECT_EQ(role_of(facts(OpKind::CastLike, 21), 1), Role::TypeOnly);
  EXPECT_EQ(role_of(facts(OpKind::Constant, 21), 0), Role::Data);  // there is none
}

TEST(FactsClasses, AxesThatCountFromTheEnd) {
  const auto negative = [](OpKind kind, int opset) { return facts(kind, opset).axis.negative; };
  for (const OpKind kind :
       {OpKind::Concat, OpKind::Flatten, OpKind::ReduceSum, OpKind::ReduceMax, OpKind::Slice, OpKind::Softmax,
        OpKind::Split, OpKind::Squeeze, OpKind::Unsqueeze, OpKind::ArgMax}) {
    EXPECT_FALSE(negative(kind, 10)) << op_name(kind);
    EXPECT_TRUE(negative(kind, 11)) << op_name(kind);
  }
  EXPECT_TRUE(negative(OpKind::Gather, 1));
  EXPECT_EQ(facts(OpKind::Softmax, 12).axis.fallback, 1);
  EXPECT_EQ(facts(OpKind::Softmax, 13).axis.fallback, -1);
  EXPECT_EQ(facts(OpKind::Concat, 1).axis.fallback, 1);  // in words: "Default value is 1"
  EXPECT_EQ(facts(OpKind::DFT, 20).axis.fallback, -2);
  EXPECT_EQ(facts(OpKind::DFT, 17).axis.fallback, 1);
  EXPECT_TRUE(facts(OpKind::Squeeze, 1).axis.absent_means_all);
  EXPECT_FALSE(facts(OpKind::Unsqueeze, 11).axis.absent_means_all);
  EXPECT_FALSE(facts(OpKind::MeanVarianceNormalization, 13).axis.absent_means_all);  // 0, 2, 3
}

TEST(FactsClasses, PadRulesFollowTheClass) {
  for (const OpFacts& row : all_facts()) {
    const bool elementwise = row.cls == OpClass::Unary || row.cls == OpClass::Nary;
    const bool mixes = row.cls == OpClass::Heavy || row.cls == OpClass::Movement || row.cls == OpClass::Merge;
    const bool by_element = row.pad == PadRule::Elementwise || row.pad == PadRule::Division ||
                            row.pad == PadRule::Clip || row.pad == PadRule::Cast ||
                            row.pad == PadRule::BitCast || row.pad == PadRule::Dropout;
    EXPECT_TRUE(!elementwise || by_element || row.pad == PadRule::Opaque) << label(row);
    EXPECT_TRUE(!mixes || row.pad != PadRule::Elementwise) << label(row);
    // The rule refuses its caches, which it writes in place.
    const bool has_cache = row.kind == OpKind::MsAttention;
    EXPECT_TRUE(row.purity != Purity::Unknown || row.pad == PadRule::Opaque || has_cache) << label(row);
  }
  EXPECT_EQ(labels_where([](const OpFacts& r) { return r.pad == PadRule::Extents; }),
            (Names{"Shape", "Size"}));
  EXPECT_EQ(labels_where([](const OpFacts& r) { return r.pad == PadRule::Division; }), (Names{"Div", "Mod"}));
  EXPECT_EQ(facts(OpKind::MatMul, 13).pad, PadRule::MatMul);
  EXPECT_EQ(facts(OpKind::ReduceMean, 18).pad, PadRule::Reduce);
  EXPECT_EQ(facts(OpKind::LayerNormalization, 17).pad, PadRule::Normalization);
  EXPECT_EQ(facts(OpKind::If, 21).pad, PadRule::Opaque);
}

TEST(FactsClasses, EveryRowSaysWhy) {
  for (const OpFacts& row : all_facts()) {
    EXPECT_FALSE(row.because.empty()) << label(row);
    EXPECT_LE(row.because.size(), 100U) << label(row);
    EXPECT_LE(row.min_inputs, row.max_inputs) << label(row);
    EXPECT_LE(row.min_outputs, row.max_outputs) << label(row);
    EXPECT_LE(row.roles.size(), row.max_inputs) << label(row);
  }
}

}  // namespace
}  // namespace graphopt
