// Removes what can go from a list, in few attempts.
//
// Problem: a test takes a second and a list has a thousand units, of which five matter. Method: delta
// debugging. Runs of units are tried, at first the whole list, then halves of that length, down to single
// units, so that five of a thousand cost some hundred attempts. From the end: what comes later in a graph
// reads what comes before.
// Ends: each attempt either leaves the list alone or is behind the walk, and each length is walked once.
#pragma once

#include <algorithm>
#include <cstddef>

#include "reduce/session.h"

namespace graphopt {

// count() gives the number of units now; remove(begin, end) tries to do without some of them.
template <class Count, class Remove> void remove_chunks(const Session& s, Count count, Remove remove) {
  for (std::size_t length = count(); length > 0; length = length == 1 ? 0 : (length + 1) / 2) {
    std::size_t end = count();
    while (end > 0 && !s.ended()) {
      const std::size_t begin = end > length ? end - length : 0;
      remove(begin, end);
      end = std::min(begin, count());
    }
  }
}

}  // namespace graphopt
