// Fields of protobuf messages, appended to a string: for messages that are built from their first field on
// and kept as bytes in the IR. Whole models are written backward (wire.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "onnx/fields.h"
#include "onnx/wire.h"

namespace graphopt::wire {

inline std::uint64_t tag_of(std::uint32_t number, Kind kind = Kind::Length) {
  return std::uint64_t{number} << 3 | static_cast<std::uint64_t>(kind);
}

inline void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 128; value >>= 7) out += static_cast<char>((value & 127) | 128);
  out += static_cast<char>(value);
}

inline void append_field(std::string& out, std::uint32_t number, std::string_view content) {
  append_varint(out, tag_of(number));
  append_varint(out, content.size());
  out += content;
}

// Of a field with a number below 16 and so many bytes of content.
inline std::size_t field_size(std::size_t content) {
  std::size_t length = 1;
  for (std::size_t rest = content; rest >= 128; rest >>= 7) ++length;
  return 1 + length + content;
}

// Returns true if the writer has this field of a changed node in the IR (node_writer.cpp): the bytes that the
// node keeps need not have it.
inline bool in_ir(const Field& f) {
  namespace nf = field::node;
  return f.kind == Kind::Length && (f.number == nf::kInput || f.number == nf::kOutput ||
                                    f.number == nf::kOpType || f.number == nf::kAttribute);
}

}  // namespace graphopt::wire
