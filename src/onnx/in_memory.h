// Models written into memory, where they fit into one message.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "graphopt/error.h"
#include "ir/model.h"
#include "ir/part.h"
#include "onnx/message_writer.h"
#include "onnx/writer.h"

namespace graphopt {

// The largest message that protobuf takes, and so a range of memory that ONNX Runtime loads.
inline constexpr std::uint64_t kLargestInMemory = std::numeric_limits<std::int32_t>::max();

// Returns the message in one piece; nothing when it exceeds `largest` bytes.
std::optional<std::string> in_one_piece(MessageWriter& writer, std::uint64_t largest);

// Returns the bytes of a part of a model as a model of its own, with these types. References to external data
// that hold from `folder` on stay; other such data come into the bytes. ErrorKind::Input when they exceed the
// size of one message.
Result<std::string> part_in_memory(const Model& model, std::span<const TypeOverride> types,
                                   const std::string& folder, const ModelPart& part);

}  // namespace graphopt
