// ONNX text syntax, read by onnx's own parser, and protobuf's text format (text_form.h); the result goes
// through the same reader as any file.
#include "onnx/text.h"

#include <onnx/defs/parser.h>

#include <algorithm>
#include <exception>
#include <optional>

#include "onnx/other_formats.h"
#include "onnx/text_form.h"

namespace graphopt {
namespace {

constexpr std::size_t kMostBrackets = 256;  // onnx's parser recurses once per bracket

// Returns the deepest nesting of brackets outside strings and comments.
std::size_t nesting(std::string_view text) {
  std::size_t depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      else if (c == '"') in_string = false;
      continue;
    }
    switch (c) {
      case '"': in_string = true; break;
      case '#': i = std::min(text.find('\n', i), text.size()); break;
      case '(':
      case '[':
      case '{': deepest = std::max(deepest, ++depth); break;
      case ')':
      case ']':
      case '}':
        if (depth > 0) --depth;
        break;
      default: break;
    }
  }
  return deepest;
}

}  // namespace

bool looks_like_text(std::string_view bytes) {
  // Possible first characters of text: white space, '<', '#', or a graph's name when it has no header.
  if (bytes.empty()) return false;
  const char first = bytes.front();
  const bool mark =
      first == '<' || first == '#' || first == ' ' || first == '\t' || first == '\n' || first == '\r';
  const bool letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_';
  if (!mark && !letter) return false;
  // Binary models contain control characters early on, whatever unknown field they begin with.
  return std::ranges::all_of(bytes.substr(0, 512), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 || c == '\n' || c == '\t' || c == '\r';
  });
}

bool text_to_binary(std::string_view text, Problems& problems, std::string& binary) {
  const char* const remedy = "see https://onnx.ai/onnx/repo-docs/Syntax.html for the syntax";
  if (nesting(text) > kMostBrackets) {
    problems.add({}, "the text has brackets nested deeper than " + std::to_string(kMostBrackets) + " levels",
                 "nest less, or use the binary form");
    return false;
  }
  if (looks_like_message_text(text)) {
    const std::optional<std::string> wrong = message_text_to_binary(text, binary);
    if (!wrong) return true;
    problems.add({}, "it begins like a model in protobuf's text format, but is not right: " + *wrong,
                 "repair it, or give the binary form");
    return false;
  }
  std::string what;
  try {  // onnx's parser returns a status, but number conversions inside it throw
    onnx::ModelProto model;
    onnx::OnnxParser parser(text);
    const onnx::Common::Status status = parser.Parse(model);
    if (status.IsOK() && parser.EndOfInput()) {
      if (model.SerializeToString(&binary)) return true;
      what = "the model is too large for the binary form";
    } else {
      what = status.IsOK() ? "there is more text after the model" : status.ErrorMessage();
    }
  } catch (const std::exception& e) {
    what = std::string("a number in it does not fit its type (") + e.what() + ")";
  }
  if (is_other_format(text, problems)) return false;
  problems.add({}, "it begins like ONNX text, but is not right: " + what, remedy);
  return false;
}

}  // namespace graphopt
