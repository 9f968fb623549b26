#include "mapping/labels.h"

#include <algorithm>
#include <cstring>

namespace graphopt::mapping {

Key& Key::add(std::string_view text) {
  add(text.size());
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t count = std::min(text.size(), sizeof word);
    std::memcpy(&word, text.data(), count);
    add(word);
    text.remove_prefix(count);
  }
  return *this;
}

}  // namespace graphopt::mapping
