// Constant tensors: immutable, shared, never copied before something reads them.
//
// A payload is a view of the packed little-endian form ("raw" form: what TensorProto.raw_data holds): into
// the mapped model file, into a mapped external data file, or into bytes that the tensor owns. Files may also
// hold payloads in typed fields (float_data, int32_data, ...); these are unpacked on first use through
// `decode`.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/types.h"

namespace graphopt {

using Bytes = std::string_view;  // a view of bytes whose owner outlives it

struct Hash128 {
  std::uint64_t low = 0, high = 0;
  friend auto operator<=>(const Hash128&, const Hash128&) = default;
};

// A payload that is not in raw form yet.
struct Unpacked {
  std::string raw;                   // for all types but String
  std::vector<std::string> strings;  // for String
};

struct Tensor {
  DType dtype = DType::Undefined;
  std::vector<std::int64_t> dims;  // each >= 0; their product fits in int64 (checked on load)
  std::int64_t elements = 1;       // product of dims

  Bytes raw;  // valid when `ready`; empty for String
  std::shared_ptr<const Unpacked>
      owned;  // keeps raw alive when it does not point into a map; strings live here
  bool ready = false;

  // Its origin. proto: the TensorProto in the file, which is written back unchanged.
  Bytes proto;
  bool external = false;  // its payload is in an external data file (location etc. in proto)
  // Unpacks proto into the given place; returns false when the payload is broken. Set by the reader when
  // !ready.
  bool (*decode)(Bytes proto, Unpacked& out) = nullptr;

  std::optional<Hash128> hash;  // of dtype, dims and payload; computed on first use
};

}  // namespace graphopt
