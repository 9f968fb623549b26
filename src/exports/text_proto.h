// The text form of protobuf messages, for files that other programs read by a schema that is not linked here.
//
// What it writes is plain: a field per line, messages in braces, no repeated-field brackets but for numbers.
// Strings are escaped so that any bytes come back: printable ASCII as it is, the rest in octal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace graphopt {

class TextProto {
 public:
  void text(std::string_view name, std::string_view value);
  void number(std::string_view name, std::int64_t value);
  void word(std::string_view name, std::string_view value);  // an enumerator, true or false
  void numbers(std::string_view name, std::span<const std::int64_t> values);
  void open(std::string_view name);
  void close();

  const std::string& str() const { return out_; }

 private:
  void line(std::string_view name, std::string_view value);

  std::string out_;
  std::size_t depth_ = 0;
};

}  // namespace graphopt
