// Keys of a linked list that give its order in O(1): "is a before b" compares two numbers.
//
// A new element gets a key between its neighbours'. Where no key is left, the keys of a range around it are
// spread out again; the range doubles until it is sparse enough, so that many insertions in one place have a
// small amortized cost.
#pragma once

#include <algorithm>
#include <cstdint>

namespace graphopt {

inline constexpr std::uint64_t kKeyGap = std::uint64_t{1} << 40;  // between neighbours, at first
inline constexpr std::uint64_t kKeyStep = std::uint64_t{1}
                                          << 24;  // elements are mostly inserted before the same one

// Returns a key between two others (0 is the `low` of the first element), or `low` when none is left.
constexpr std::uint64_t key_between(std::uint64_t low, std::uint64_t high) {
  return low + std::min((high - low) / 2, kKeyStep);
}

// Spreads the keys around element n. `prev` and `next` return a neighbour (or none), `key` a reference to the
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
    const Element before = prev(from), after = next(to);
    const std::uint64_t low = before ? key(before) : 0;
    const std::uint64_t each = after ? (key(after) - low) / (count + 1) : kKeyGap;
    if (after && each < kKeyStep) continue;
    std::uint64_t at = low;
    for (Element m = from; m != after; m = next(m)) key(m) = at += each;
    return;
  }
}

}  // namespace graphopt
