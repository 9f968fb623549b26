// Keys of a linked list whose order can be asked for in O(1): "does a stand before b" compares two numbers.
//
// A new element gets a key between its neighbours'. Where there is no room left, the keys of a stretch around
// it are spread out again; the stretch doubles until it is roomy, so that many insertions in one place stay
// cheap on average.
#pragma once

#include <algorithm>
#include <cstdint>

namespace graphopt {

inline constexpr std::uint64_t kKeyGap = std::uint64_t{1} << 40;  // between neighbours, at first
inline constexpr std::uint64_t kKeyStep = std::uint64_t{1}
                                          << 24;  // elements are mostly put in front of the same one

// The key of an element between two others, 0 for the first one's `low`; `low` itself when there is no room.
constexpr std::uint64_t key_between(std::uint64_t low, std::uint64_t high) {
  return low + std::min((high - low) / 2, kKeyStep);
}

// Spreads the keys around element n. `prev` and `next` give a neighbour (or none), `key` a reference to the
// key.
template <class Element, class Prev, class Next, class Key>
void spread_keys(Element n, Prev prev, Next next, Key key) {
  Element from = n, to = n;
  std::uint64_t count = 1;
  for (std::uint64_t wanted = 32;; wanted *= 2) {
    while (count < wanted && (prev(from) || next(to))) {
      if (prev(from)) {
        from = prev(from);
        ++count;
      }
      if (next(to)) {
        to = next(to);
        ++count;
      }
    }
    const Element before = prev(from), behind = next(to);
    const std::uint64_t low = before ? key(before) : 0;
    const std::uint64_t each = behind ? (key(behind) - low) / (count + 1) : kKeyGap;
    if (behind && each < kKeyStep) continue;
    std::uint64_t at = low;
    for (Element m = from; m != behind; m = next(m)) key(m) = at += each;
    return;
  }
}

}  // namespace graphopt
