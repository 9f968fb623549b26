// Arrays that grow to hundreds of megabytes.
//
// Problem: a graph of 10^6 nodes is walked in an order that is not that of the memory. With pages of 4 KiB
// nearly each step misses the processor's TLB, and each page costs a fault when it is first written. When a
// plain array outgrows its memory, its elements are copied to pages that the system has to clear first.
// Method: from kLargeMemory bytes on, memory is aligned to large pages and the system is asked to use them
// (Linux: madvise, transparent huge pages). It grows by remapping its pages to larger address space (mremap):
// nothing is copied, nothing cleared twice. Where the system can do neither, these are ordinary arrays.
//
// Members have the meaning that they have in std::vector. Elements must be trivially copyable.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace graphopt {

inline constexpr std::size_t kLargePage = std::size_t{2} << 20;
inline constexpr std::size_t kLargeMemory = 2 * kLargePage;  // bytes

// Replaces the memory at p, `old_bytes` long (p may be null), by memory of `bytes` that starts with the first
// `used` bytes of the old contents. p is invalid afterwards. The result is aligned for every element type
// here. Throws std::bad_alloc, and then p stays valid. free_memory must be given the same `bytes`.
void* resize_memory(void* p, std::size_t old_bytes, std::size_t bytes, std::size_t used);
void free_memory(void* p, std::size_t bytes) noexcept;
inline constexpr std::size_t kMemoryAlignment = 64;

template <class T> class LargeArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T> &&
                alignof(T) <= kMemoryAlignment);

 public:
  LargeArray() = default;
  explicit LargeArray(std::size_t size) { resize(size); }
  LargeArray(LargeArray&& o) noexcept
      : data_(std::exchange(o.data_, nullptr)),
        size_(std::exchange(o.size_, 0)),
        capacity_(std::exchange(o.capacity_, 0)) {}
  LargeArray& operator=(LargeArray&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    std::swap(capacity_, o.capacity_);
    return *this;
  }
  ~LargeArray() { free_memory(data_, capacity_ * sizeof(T)); }

  LargeArray clone() const {
    LargeArray out;
    out.reserve(size_);
    out.append({data_, size_});
    return out;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    if (capacity > static_cast<std::size_t>(-1) / 2 / sizeof(T)) throw std::bad_array_new_length();
    data_ =
        static_cast<T*>(resize_memory(data_, capacity_ * sizeof(T), capacity * sizeof(T), size_ * sizeof(T)));
    capacity_ = capacity;
  }
  void resize(std::size_t size) {
    make_room(size);
    if (size > size_) std::uninitialized_value_construct(data_ + size_, data_ + size);
    size_ = size;
  }
  void push_back(const T& x) {
    const T copy = x;  // x may be an element of this array
    make_room(size_ + 1);
    std::construct_at(data_ + size_++, copy);
  }
  // Precondition: the elements are not part of this array, unless its capacity suffices.
  void append(std::span<const T> more) {
    make_room(size_ + more.size());
    std::uninitialized_copy(more.begin(), more.end(), data_ + size_);
    size_ += more.size();
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }

 private:
  void make_room(std::size_t size) {
    if (size > capacity_) [[unlikely]]
      reserve(std::max({size, 2 * capacity_, std::size_t{8}}));
  }

  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace graphopt
