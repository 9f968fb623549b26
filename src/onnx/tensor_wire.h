// TensorProto: from bytes to a Tensor whose payload is not copied, and back.
#pragma once

#include <optional>
#include <string_view>

#include "ir/tensor.h"
#include "onnx/external.h"
#include "onnx/wire.h"

namespace graphopt {

// Reads a TensorProto and checks that its payload has the length that dims and type require. The name is a
// view of proto. A fault without text was already reported.
std::optional<Fault> read_tensor(Bytes proto, ExternalFiles& external, Tensor& out, std::string_view& name);
// Reads only its name.
std::string_view tensor_name(Bytes proto);

// The place of a tensor's payload in a data file.
struct DataRange {
  std::string_view location;
  std::uint64_t offset = 0, length = 0;
};

// How to write a tensor.
struct TensorForm {
  std::string_view name;
  bool has_name = false;
  Bytes raw;  // the payload, when it is written into the message as raw_data
  const std::vector<std::string>* strings = nullptr;  // the payload of a string tensor
  const DataRange* range = nullptr;                   // the payload is in a data file instead
  bool new_payload = false;  // raw, strings or range is used; else the payload fields of proto are kept
};

// Writes the content of a TensorProto (no tag), backward. Fields of t.proto that `form` does not determine
// are kept.
void write_tensor(wire::BackwardWriter& w, const Tensor& t, const TensorForm& form);

}  // namespace graphopt
