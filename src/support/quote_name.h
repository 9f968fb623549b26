// A name of the user's in a message.
#pragma once

#include <string>
#include <string_view>

namespace graphopt {

// Returns 'name' in quotes; of a longer one the first 120 bytes and three dots.
inline std::string quote_name(std::string_view name) {
  constexpr std::size_t kLongest = 120;
  if (name.size() <= kLongest) return "'" + std::string(name) + "'";
  return "'" + std::string(name.substr(0, kLongest)) + "...'";
}

}  // namespace graphopt
