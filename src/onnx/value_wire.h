// Values that ONNX stores in files of their own: a TensorProto, SequenceProto or OptionalProto is the whole
// file, as input_0.pb of ONNX's test data is.
//
// The bytes do not say which of the three they are, so who reads them has to know the type of the value. Read
// are tensors, sequences of tensors, and optionals of both; sparse tensors, maps and what nests deeper are
// refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/tensor.h"
#include "onnx/problems.h"

namespace graphopt {

enum class StoredKind : std::uint8_t { Tensor, Sequence, Optional };

struct StoredValue {
  enum class Content : std::uint8_t { Absent, Tensor, Sequence };  // Absent: an optional without a value
  Content content = Content::Absent;
  std::string_view name;        // may be empty
  std::vector<Tensor> tensors;  // of Tensor: one. Their payloads are `ready`, or `owned` has their texts
};

// Returns a fault where the bytes are no message of that kind. Views of `proto` are kept.
std::optional<Fault> read_stored_value(Bytes proto, StoredKind kind, StoredValue& out);

}  // namespace graphopt
