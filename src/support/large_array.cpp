#include "support/large_array.h"

#include <cstdlib>
#include <cstring>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace graphopt {
namespace {

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

void* allocate(std::size_t bytes) {
  void* p = std::aligned_alloc(kMemoryAlignment, round_up(bytes, kMemoryAlignment));
  if (!p) throw std::bad_alloc();
  return p;
}

#if defined(__linux__)

// Reserves address space that begins at a large page; returns null on failure. `bytes` is a multiple of
// kLargePage.
void* map_pages(std::size_t bytes, int access) {
  void* const raw = ::mmap(nullptr, bytes + kLargePage, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(raw);
  const std::size_t before =
      round_up(reinterpret_cast<std::size_t>(raw), kLargePage) - reinterpret_cast<std::size_t>(raw);
  if (before > 0) ::munmap(first, before);
  ::munmap(first + before + bytes, kLargePage - before);
  return first + before;
}

void* allocate_pages(std::size_t bytes) {
  void* p = map_pages(bytes, PROT_READ | PROT_WRITE);
  if (!p) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
  (void)::madvise(p, bytes, MADV_HUGEPAGE);  // only advice: failure does no harm
#endif
  return p;
}

// Returns null where the system cannot move pages.
void* grow_pages(void* p, std::size_t old_bytes, std::size_t bytes) {
  void* const here = ::mremap(p, old_bytes, bytes, 0);
  if (here != MAP_FAILED) return here;
  // Address space aligned to large pages lets the system move large pages whole.
  void* const place = map_pages(bytes, PROT_NONE);
  if (!place) {  // not enough address space for both: any place will do
    void* const somewhere = ::mremap(p, old_bytes, bytes, MREMAP_MAYMOVE);
    return somewhere == MAP_FAILED ? nullptr : somewhere;
  }
  void* const there = ::mremap(p, old_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place);
  if (there != MAP_FAILED) return there;
  ::munmap(place, bytes);
  return nullptr;
}

void free_pages(void* p, std::size_t bytes) { ::munmap(p, bytes); }

#else

void* allocate_pages(std::size_t bytes) { return allocate(bytes); }
void* grow_pages(void*, std::size_t, std::size_t) { return nullptr; }
void free_pages(void* p, std::size_t) { std::free(p); }

#endif

}  // namespace

void* resize_memory(void* p, std::size_t old_bytes, std::size_t bytes, std::size_t used) {
  const bool was_large = old_bytes >= kLargeMemory, large = bytes >= kLargeMemory;
  if (was_large && large)
    if (void* grown = grow_pages(p, round_up(old_bytes, kLargePage), round_up(bytes, kLargePage)))
      return grown;
  void* const made = large ? allocate_pages(round_up(bytes, kLargePage)) : allocate(bytes);
  if (used > 0) std::memcpy(made, p, used);
  free_memory(p, old_bytes);
  return made;
}

void free_memory(void* p, std::size_t bytes) noexcept {
  if (bytes >= kLargeMemory) free_pages(p, round_up(bytes, kLargePage));
  else std::free(p);
}

}  // namespace graphopt
