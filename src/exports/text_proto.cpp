#include "exports/text_proto.h"

namespace graphopt {
namespace {

std::string string_literal(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte >= 0x20 && byte < 0x7F) {
      out += c;
    } else {  // always three digits: a digit may follow
      out += '\\';
      for (const int shift : {6, 3, 0}) out += static_cast<char>('0' + (byte >> shift & 7));
    }
  }
  return out + '"';
}

}  // namespace

void TextProto::line(std::string_view name, std::string_view value) {
  out_.append(2 * depth_, ' ');
  out_ += name;
  out_ += value;
  out_ += '\n';
}

void TextProto::text(std::string_view name, std::string_view value) {
  line(name, ": " + string_literal(value));
}
void TextProto::number(std::string_view name, std::int64_t value) {
  line(name, ": " + std::to_string(value));
}
void TextProto::word(std::string_view name, std::string_view value) { line(name, ": " + std::string(value)); }

void TextProto::numbers(std::string_view name, std::span<const std::int64_t> values) {
  std::string list;
  for (const std::int64_t value : values) list += (list.empty() ? "" : ", ") + std::to_string(value);
  line(name, ": [" + list + "]");
}

void TextProto::open(std::string_view name) {
  line(name, " {");
  ++depth_;
}

void TextProto::close() {
  --depth_;
  line("}", "");
}

}  // namespace graphopt
