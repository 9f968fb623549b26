// Inputs and outputs of a runtime: tensors, sequences, maps, optionals.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/types.h"

namespace graphopt {

struct HostValue {
  enum class Kind : std::uint8_t { Absent, Tensor, Sequence, Map };  // Absent: an empty optional

  Kind kind = Kind::Absent;
  DType dtype = DType::Undefined;    // Tensor
  std::vector<std::int64_t> dims;    // Tensor
  std::string raw;                   // Tensor, but not String: packed little-endian elements
  std::vector<std::string> strings;  // Tensor of String
  std::vector<HostValue> items;      // Sequence: its elements; Map: keys and values, two tensors of rank 1
};

}  // namespace graphopt
