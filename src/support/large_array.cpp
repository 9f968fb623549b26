#include "support/large_array.h"

#include <cstdlib>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace graphopt {

void* allocate_large_pages(std::size_t bytes) {
  void* p = std::aligned_alloc(kLargePage, bytes);
  if (!p) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
  (void)::madvise(p, bytes, MADV_HUGEPAGE);   // advice: where it is refused nothing is lost
#endif
  return p;
}

void free_large_pages(void* p) { std::free(p); }

}  // namespace graphopt
