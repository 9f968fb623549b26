#include "support/dot_text.h"

namespace graphopt {

std::string escaped_for_dot(std::string_view text) {
  constexpr std::size_t kLongest = 60;  // characters
  std::string out;
  for (const char c : text.substr(0, kLongest)) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7F ? '?' : c;
  }
  return text.size() > kLongest ? out + "..." : out;
}

}  // namespace graphopt
