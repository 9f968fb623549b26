// A multimap from 64-bit hashes to small records, for tables that are filled and searched once: open hashing
// with chains in one array, no allocation per entry. The caller compares the records, since hashes may
// collide.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace graphopt {

template <class T> class HashChains {
 public:
  // Forgets all entries; room for about `expected` of them without growing.
  void reset(std::size_t expected) {
    entries_.clear();
    heads_.assign(std::bit_ceil(expected + expected / 2 + 8), kEnd);
  }

  void insert(std::uint64_t hash, T value) {
    if (entries_.size() >= heads_.size()) grow();
    std::uint32_t& head = heads_[slot(hash)];
    entries_.push_back({hash, head, std::move(value)});
    head = static_cast<std::uint32_t>(entries_.size() - 1);
  }

  // Returns the oldest entry of that hash for which `fits` returns true; null when there is none.
  template <class F> const T* find(std::uint64_t hash, F fits) const {
    const T* oldest = nullptr;
    for (std::uint32_t i = heads_.empty() ? kEnd : heads_[slot(hash)]; i != kEnd; i = entries_[i].next)
      if (entries_[i].hash == hash && fits(entries_[i].value)) oldest = &entries_[i].value;
    return oldest;
  }

 private:
  static constexpr std::uint32_t kEnd = 0xFFFFFFFFu;
  struct Entry {
    std::uint64_t hash;
    std::uint32_t next;
    T value;
  };

  std::size_t slot(std::uint64_t hash) const {
    return static_cast<std::size_t>(hash ^ (hash >> 32)) & (heads_.size() - 1);
  }
  void grow() {
    heads_.assign(heads_.empty() ? 16 : heads_.size() * 2, kEnd);
    for (std::uint32_t i = 0; i < entries_.size(); ++i) {
      std::uint32_t& head = heads_[slot(entries_[i].hash)];
      entries_[i].next = head;
      head = i;
    }
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> heads_;
};

// Mixes one more number into a hash.
constexpr std::uint64_t mix_hash(std::uint64_t h, std::uint64_t x) {
  h ^= x + 0x9E3779B97F4A7C15u + (h << 6) + (h >> 2);
  return h * 0xBF58476D1CE4E5B9u;
}

}  // namespace graphopt
