// Models as text: ONNX's own syntax, and protobuf's text format.
//
// Problem: text is for people, and neither printer says what it leaves out: ONNX text has no place for doc
// strings, protobuf's text none for the payload of a NaN. Method: what was printed is parsed again, and both
// models are compared; a model that text does not hold completely is refused with the first difference. For
// ONNX text two models are the same if they differ in the form of payloads alone (raw or typed), and in
// fields that are there with their default value; protobuf's text gives the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graphopt/error.h"
#include "onnx/wire.h"

namespace graphopt {

enum class TextForm : std::uint8_t {
  None,   // binary
  Onnx,   // .onnxtxt, .onnxtext
  Proto,  // .textproto, .txtpb, .pbtxt, .prototxt
};

// Returns the form of a file that is written under this name.
TextForm text_form(std::string_view path);

// Returns the text of a ModelProto, given in ranges of bytes, for the file `path`. ErrorKind::Output when the
// text would not be the same model.
Result<std::string> text_of(const std::vector<wire::ByteRange>& ranges, TextForm form,
                            const std::string& path);

// Returns true for text that begins with a field of a ModelProto in protobuf's text format.
bool looks_like_message_text(std::string_view text);
// Converts such text to binary form. Returns what is wrong with it; nothing when all is right.
std::optional<std::string> message_text_to_binary(std::string_view text, std::string& binary);

}  // namespace graphopt
