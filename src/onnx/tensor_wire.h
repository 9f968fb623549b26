// TensorProto: from bytes to a Tensor whose payload stays where it is, and back.
#pragma once

#include <optional>
#include <string_view>

#include "ir/tensor.h"
#include "onnx/external.h"
#include "onnx/wire.h"

namespace graphopt {

// Reads a TensorProto and checks that its payload is as long as its dims and type say. The name is a view of
// proto. A fault without text was reported already.
std::optional<Fault> read_tensor(Bytes proto, ExternalFiles& external, Tensor& out, std::string_view& name);
// Just its name.
std::string_view tensor_name(Bytes proto);

// Where the payload of a tensor goes that is written to a data file.
struct DataRange {
  std::string location;
  std::uint64_t offset = 0, length = 0;
};

// How to write a tensor.
struct TensorForm {
  std::string_view name;
  bool has_name = false;
  Bytes raw;  // the payload, when it is to stand in the message as raw_data
  const std::vector<std::string>* strings = nullptr;  // the payload of a string tensor
  const DataRange* range = nullptr;                   // the payload is there instead
  bool new_payload = false;  // raw, strings or range hold; else the payload fields of proto are kept
};

// The content of a TensorProto (no tag), written backward. Fields of t.proto that the form does not decide
// are kept.
void write_tensor(wire::BackwardWriter& w, const Tensor& t, const TensorForm& form);

}  // namespace graphopt
