// Field numbers of the ONNX messages (onnx-ml.proto), so that the wire walk needs none of protobuf's
// generated code. tests/unit/onnx_fields_test.cpp compares them with it.
#pragma once

#include <cstdint>

namespace graphopt::field {

namespace model {
enum : std::uint32_t {
  kIrVersion = 1,
  kDocString = 6,
  kGraph = 7,
  kOpsetImport = 8,
  kMetadata = 14,
  kTrainingInfo = 20,
  kFunctions = 25,
  kConfiguration = 26,
};
}
namespace opset {
enum : std::uint32_t { kDomain = 1, kVersion = 2 };
}
namespace graph {
enum : std::uint32_t {
  kNode = 1,
  kName = 2,
  kInitializer = 5,
  kDocString = 10,
  kInput = 11,
  kOutput = 12,
  kValueInfo = 13,
  kQuantization = 14,
  kSparseInitializer = 15,
  kMetadata = 16,
};
}
namespace node {
enum : std::uint32_t {
  kInput = 1,
  kOutput = 2,
  kName = 3,
  kOpType = 4,
  kAttribute = 5,
  kDocString = 6,
  kDomain = 7,
  kOverload = 8,
  kMetadata = 9,
  kDevices = 10,
};
}
namespace attribute {
enum : std::uint32_t {
  kName = 1,
  kFloat = 2,
  kInt = 3,
  kString = 4,
  kTensor = 5,
  kGraph = 6,
  kFloats = 7,
  kInts = 8,
  kStrings = 9,
  kTensors = 10,
  kGraphs = 11,
  kDocString = 13,
  kTypeProto = 14,
  kTypeProtos = 15,
  kType = 20,
  kRef = 21,
  kSparse = 22,
  kSparses = 23,
};
}
namespace tensor {
enum : std::uint32_t {
  kDims = 1,
  kType = 2,
  kSegment = 3,
  kFloats = 4,
  kInt32s = 5,
  kStrings = 6,
  kInt64s = 7,
  kName = 8,
  kRaw = 9,
  kDoubles = 10,
  kUint64s = 11,
  kDocString = 12,
  kExternal = 13,
  kLocation = 14,
  kMetadata = 16,
};
}
namespace sparse {
enum : std::uint32_t { kValues = 1, kIndices = 2, kDims = 3 };
}
namespace stored_value {  // SequenceProto and OptionalProto, which have the same fields
enum : std::uint32_t {
  kName = 1,
  kType = 2,
  kTensor = 3,
  kSparse = 4,
  kSequence = 5,
  kMap = 6,
  kOptional = 7,
};
}
namespace value_info {
enum : std::uint32_t { kName = 1, kType = 2, kDocString = 3, kMetadata = 4 };
}
namespace type {
enum : std::uint32_t {
  kTensor = 1,
  kSequence = 4,
  kMap = 5,
  kDenotation = 6,
  kOpaque = 7,
  kSparse = 8,
  kOptional = 9
};
}
namespace tensor_type {  // TypeProto.Tensor and TypeProto.SparseTensor
enum : std::uint32_t { kElem = 1, kShape = 2 };
}
namespace map_type {
enum : std::uint32_t { kKey = 1, kValue = 2 };
}
namespace shape {
enum : std::uint32_t { kDim = 1 };
}
namespace dim {
enum : std::uint32_t { kValue = 1, kParam = 2, kDenotation = 3 };
}
namespace function {
enum : std::uint32_t {
  kName = 1,
  kInput = 4,
  kOutput = 5,
  kAttribute = 6,
  kNode = 7,
  kDocString = 8,
  kOpsetImport = 9,
  kDomain = 10,
  kAttributeProto = 11,
  kValueInfo = 12,
  kOverload = 13,
  kMetadata = 14,
};
}
namespace entry {  // StringStringEntryProto
enum : std::uint32_t { kKey = 1, kValue = 2 };
}
namespace annotation {  // TensorAnnotation
enum : std::uint32_t { kTensor = 1, kParameters = 2 };
}
namespace training {
enum : std::uint32_t { kInitialization = 1, kAlgorithm = 2, kInitializationBinding = 3, kUpdateBinding = 4 };
}
namespace configuration {  // DeviceConfigurationProto
enum : std::uint32_t { kName = 1, kDeviceCount = 2, kDevice = 3 };
}
namespace devices {  // NodeDeviceConfigurationProto, ShardingSpecProto
enum : std::uint32_t { kConfigurationId = 1, kShardingSpec = 2, kPipelineStage = 3, kShardedTensor = 1 };
}

}  // namespace graphopt::field
