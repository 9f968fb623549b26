// The field numbers that the wire walk uses are those of onnx's own message classes.
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "graphopt/stages/load.h"
#include "onnx/fields.h"
#include "onnx/reader.h"

namespace graphopt {
namespace {

TEST(OnnxFields, NumbersAreThoseOfTheSchema) {
  using onnx::AttributeProto;
  using onnx::GraphProto;
  using onnx::NodeProto;
  using onnx::TensorProto;
  using onnx::TypeProto;
  const auto same = [](unsigned ours, int theirs) { EXPECT_EQ(static_cast<int>(ours), theirs); };
  same(field::model::kIrVersion, onnx::ModelProto::kIrVersionFieldNumber);
  same(field::model::kDocString, onnx::ModelProto::kDocStringFieldNumber);
  same(field::model::kMetadata, onnx::ModelProto::kMetadataPropsFieldNumber);
  same(field::model::kGraph, onnx::ModelProto::kGraphFieldNumber);
  same(field::model::kOpsetImport, onnx::ModelProto::kOpsetImportFieldNumber);
  same(field::model::kTrainingInfo, onnx::ModelProto::kTrainingInfoFieldNumber);
  same(field::model::kFunctions, onnx::ModelProto::kFunctionsFieldNumber);
  same(field::opset::kDomain, onnx::OperatorSetIdProto::kDomainFieldNumber);
  same(field::opset::kVersion, onnx::OperatorSetIdProto::kVersionFieldNumber);
  same(field::graph::kNode, GraphProto::kNodeFieldNumber);
  same(field::graph::kName, GraphProto::kNameFieldNumber);
  same(field::graph::kInitializer, GraphProto::kInitializerFieldNumber);
  same(field::graph::kDocString, GraphProto::kDocStringFieldNumber);
  same(field::graph::kInput, GraphProto::kInputFieldNumber);
  same(field::graph::kOutput, GraphProto::kOutputFieldNumber);
  same(field::graph::kValueInfo, GraphProto::kValueInfoFieldNumber);
  same(field::graph::kQuantization, GraphProto::kQuantizationAnnotationFieldNumber);
  same(field::graph::kSparseInitializer, GraphProto::kSparseInitializerFieldNumber);
  same(field::graph::kMetadata, GraphProto::kMetadataPropsFieldNumber);
  same(field::node::kInput, NodeProto::kInputFieldNumber);
  same(field::node::kOutput, NodeProto::kOutputFieldNumber);
  same(field::node::kName, NodeProto::kNameFieldNumber);
  same(field::node::kOpType, NodeProto::kOpTypeFieldNumber);
  same(field::node::kAttribute, NodeProto::kAttributeFieldNumber);
  same(field::node::kDocString, NodeProto::kDocStringFieldNumber);
  same(field::node::kDomain, NodeProto::kDomainFieldNumber);
  same(field::node::kOverload, NodeProto::kOverloadFieldNumber);
  same(field::node::kMetadata, NodeProto::kMetadataPropsFieldNumber);
  same(field::node::kDevices, NodeProto::kDeviceConfigurationsFieldNumber);
  same(field::attribute::kName, AttributeProto::kNameFieldNumber);
  same(field::attribute::kFloat, AttributeProto::kFFieldNumber);
  same(field::attribute::kInt, AttributeProto::kIFieldNumber);
  same(field::attribute::kString, AttributeProto::kSFieldNumber);
  same(field::attribute::kTensor, AttributeProto::kTFieldNumber);
  same(field::attribute::kGraph, AttributeProto::kGFieldNumber);
  same(field::attribute::kFloats, AttributeProto::kFloatsFieldNumber);
  same(field::attribute::kInts, AttributeProto::kIntsFieldNumber);
  same(field::attribute::kStrings, AttributeProto::kStringsFieldNumber);
  same(field::attribute::kTensors, AttributeProto::kTensorsFieldNumber);
  same(field::attribute::kGraphs, AttributeProto::kGraphsFieldNumber);
  same(field::attribute::kDocString, AttributeProto::kDocStringFieldNumber);
  same(field::attribute::kTypeProto, AttributeProto::kTpFieldNumber);
  same(field::attribute::kTypeProtos, AttributeProto::kTypeProtosFieldNumber);
  same(field::attribute::kType, AttributeProto::kTypeFieldNumber);
  same(field::attribute::kRef, AttributeProto::kRefAttrNameFieldNumber);
  same(field::attribute::kSparse, AttributeProto::kSparseTensorFieldNumber);
  same(field::attribute::kSparses, AttributeProto::kSparseTensorsFieldNumber);
  same(field::tensor::kDims, TensorProto::kDimsFieldNumber);
  same(field::tensor::kType, TensorProto::kDataTypeFieldNumber);
  same(field::tensor::kSegment, TensorProto::kSegmentFieldNumber);
  same(field::tensor::kFloats, TensorProto::kFloatDataFieldNumber);
  same(field::tensor::kInt32s, TensorProto::kInt32DataFieldNumber);
  same(field::tensor::kStrings, TensorProto::kStringDataFieldNumber);
  same(field::tensor::kInt64s, TensorProto::kInt64DataFieldNumber);
  same(field::tensor::kName, TensorProto::kNameFieldNumber);
  same(field::tensor::kRaw, TensorProto::kRawDataFieldNumber);
  same(field::tensor::kDoubles, TensorProto::kDoubleDataFieldNumber);
  same(field::tensor::kUint64s, TensorProto::kUint64DataFieldNumber);
  same(field::tensor::kDocString, TensorProto::kDocStringFieldNumber);
  same(field::tensor::kExternal, TensorProto::kExternalDataFieldNumber);
  same(field::tensor::kLocation, TensorProto::kDataLocationFieldNumber);
  same(field::tensor::kMetadata, TensorProto::kMetadataPropsFieldNumber);
  same(field::sparse::kValues, onnx::SparseTensorProto::kValuesFieldNumber);
  same(field::sparse::kIndices, onnx::SparseTensorProto::kIndicesFieldNumber);
  same(field::sparse::kDims, onnx::SparseTensorProto::kDimsFieldNumber);
  same(field::value_info::kName, onnx::ValueInfoProto::kNameFieldNumber);
  same(field::value_info::kType, onnx::ValueInfoProto::kTypeFieldNumber);
  same(field::value_info::kDocString, onnx::ValueInfoProto::kDocStringFieldNumber);
  same(field::value_info::kMetadata, onnx::ValueInfoProto::kMetadataPropsFieldNumber);
  same(field::type::kTensor, TypeProto::kTensorTypeFieldNumber);
  same(field::type::kSequence, TypeProto::kSequenceTypeFieldNumber);
  same(field::type::kMap, TypeProto::kMapTypeFieldNumber);
  same(field::type::kDenotation, TypeProto::kDenotationFieldNumber);
  same(field::type::kOpaque, TypeProto::kOpaqueTypeFieldNumber);
  same(field::type::kSparse, TypeProto::kSparseTensorTypeFieldNumber);
  same(field::type::kOptional, TypeProto::kOptionalTypeFieldNumber);
  same(1, onnx::TypeProto_Sequence::kElemTypeFieldNumber);
  same(1, onnx::TypeProto_Optional::kElemTypeFieldNumber);
  same(field::tensor_type::kElem, onnx::TypeProto_Tensor::kElemTypeFieldNumber);
  same(field::tensor_type::kShape, onnx::TypeProto_Tensor::kShapeFieldNumber);
  same(field::tensor_type::kElem, onnx::TypeProto_SparseTensor::kElemTypeFieldNumber);
  same(field::tensor_type::kShape, onnx::TypeProto_SparseTensor::kShapeFieldNumber);
  same(field::map_type::kKey, onnx::TypeProto_Map::kKeyTypeFieldNumber);
  same(field::map_type::kValue, onnx::TypeProto_Map::kValueTypeFieldNumber);
  same(field::shape::kDim, onnx::TensorShapeProto::kDimFieldNumber);
  same(field::dim::kValue, onnx::TensorShapeProto_Dimension::kDimValueFieldNumber);
  same(field::dim::kParam, onnx::TensorShapeProto_Dimension::kDimParamFieldNumber);
  same(field::dim::kDenotation, onnx::TensorShapeProto_Dimension::kDenotationFieldNumber);
  same(field::function::kName, onnx::FunctionProto::kNameFieldNumber);
  same(field::function::kInput, onnx::FunctionProto::kInputFieldNumber);
  same(field::function::kOutput, onnx::FunctionProto::kOutputFieldNumber);
  same(field::function::kAttribute, onnx::FunctionProto::kAttributeFieldNumber);
  same(field::function::kNode, onnx::FunctionProto::kNodeFieldNumber);
  same(field::function::kDocString, onnx::FunctionProto::kDocStringFieldNumber);
  same(field::function::kOpsetImport, onnx::FunctionProto::kOpsetImportFieldNumber);
  same(field::function::kDomain, onnx::FunctionProto::kDomainFieldNumber);
  same(field::function::kAttributeProto, onnx::FunctionProto::kAttributeProtoFieldNumber);
  same(field::function::kValueInfo, onnx::FunctionProto::kValueInfoFieldNumber);
  same(field::function::kOverload, onnx::FunctionProto::kOverloadFieldNumber);
  same(field::function::kMetadata, onnx::FunctionProto::kMetadataPropsFieldNumber);
  same(field::entry::kKey, onnx::StringStringEntryProto::kKeyFieldNumber);
  same(field::entry::kValue, onnx::StringStringEntryProto::kValueFieldNumber);
  same(field::annotation::kTensor, onnx::TensorAnnotation::kTensorNameFieldNumber);
  same(field::annotation::kParameters, onnx::TensorAnnotation::kQuantParameterTensorNamesFieldNumber);
  same(field::training::kInitialization, onnx::TrainingInfoProto::kInitializationFieldNumber);
  same(field::training::kAlgorithm, onnx::TrainingInfoProto::kAlgorithmFieldNumber);
  same(field::training::kInitializationBinding, onnx::TrainingInfoProto::kInitializationBindingFieldNumber);
  same(field::training::kUpdateBinding, onnx::TrainingInfoProto::kUpdateBindingFieldNumber);
  same(field::model::kConfiguration, onnx::ModelProto::kConfigurationFieldNumber);
  same(field::configuration::kName, onnx::DeviceConfigurationProto::kNameFieldNumber);
  same(field::configuration::kDeviceCount, onnx::DeviceConfigurationProto::kNumDevicesFieldNumber);
  same(field::configuration::kDevice, onnx::DeviceConfigurationProto::kDeviceFieldNumber);
  same(field::devices::kConfigurationId, onnx::NodeDeviceConfigurationProto::kConfigurationIdFieldNumber);
  same(field::devices::kPipelineStage, onnx::NodeDeviceConfigurationProto::kPipelineStageFieldNumber);
  same(field::devices::kShardingSpec, onnx::NodeDeviceConfigurationProto::kShardingSpecFieldNumber);
  same(field::devices::kShardedTensor, onnx::ShardingSpecProto::kTensorNameFieldNumber);
}

// A newer onnx makes this red: its new fields want a look.
TEST(OnnxFields, NewestVersionIsKnown) {
  EXPECT_EQ(kNewestIrVersion, static_cast<int>(onnx::Version::IR_VERSION));
}

}  // namespace
}  // namespace graphopt
