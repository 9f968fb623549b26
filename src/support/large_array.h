// Arrays that grow to hundreds of megabytes.
//
// Problem: a graph of 10^6 nodes is walked in an order that is not that of the memory. With pages of 4 KiB nearly each step misses
// the address cache of the processor, and each page costs a fault when it is first written.
// Method: from kLarge bytes on, memory aligned to large pages, which the system is asked to use (Linux: madvise, transparent
// huge pages). Where it has none, they are ordinary arrays.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace graphopt {

// Memory of so many bytes, a multiple of kLargePage; throws std::bad_alloc.
inline constexpr std::size_t kLargePage = std::size_t{2} << 20;
void* allocate_large_pages(std::size_t bytes);
void free_large_pages(void* p);

template <class T>
struct LargeArrayAllocator {
  using value_type = T;
  static constexpr std::size_t kLarge = 2 * kLargePage;   // bytes

  LargeArrayAllocator() = default;
  template <class U>
  LargeArrayAllocator(const LargeArrayAllocator<U>&) {}   // NOLINT(google-explicit-constructor): as allocators convert
  friend bool operator==(LargeArrayAllocator, LargeArrayAllocator) { return true; }

  T* allocate(std::size_t count) {
    if (count < kLarge / sizeof(T)) return std::allocator<T>{}.allocate(count);
    if (count > (static_cast<std::size_t>(-1) - kLargePage) / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(allocate_large_pages((count * sizeof(T) + kLargePage - 1) / kLargePage * kLargePage));
  }
  void deallocate(T* p, std::size_t count) {
    if (count < kLarge / sizeof(T)) std::allocator<T>{}.deallocate(p, count);
    else free_large_pages(p);
  }
};

template <class T>
using LargeArray = std::vector<T, LargeArrayAllocator<T>>;

}  // namespace graphopt
