// See memory_limit.h.
#include "support/memory_limit.h"

#include <sys/resource.h>

namespace graphopt {

std::optional<std::uint64_t> memory_limit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

}  // namespace graphopt
