#include "mapping/labels.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

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

void Labels::grow() {
  const std::vector<Slot> before = std::move(slots_);
  slots_.assign(std::max<std::size_t>(1024, 2 * before.size()), {});
  shift_ = 64 - std::countr_zero(slots_.size());
  for (const Slot& slot : before)
    if (slot.number != kNone) find(slot.hash) = slot;
}

}  // namespace graphopt::mapping
