// Finds the id of a record that was interned: open addressing with linear probing over 32-bit ids.
//
// Problem: pools of names, types, dims and shapes store each record once and have to find it again. They hold
// up to millions of records, so a cache miss per lookup counts.
// Method: the owner keeps the records, hashes them and compares them. A slot holds an id and 32 bits of the
// hash, so records are read only where these bits agree, and the table grows without reading any. A table
// never has more than 2^32 slots, so the kept bits are enough to place an entry anew. At most three quarters
// of the slots are used: 11 to 22 bytes for an entry. No order of the slots ever shows: ids are given by the
// owner, and equal records have one id.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace graphopt {

class InternIndex {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;  // no id

  // `slots`: how many the table gets with its first entry; rounded up to a power of two.
  explicit InternIndex(std::size_t slots = 16) : first_slots_(std::bit_ceil(slots < 4 ? 4 : slots)) {}

  // Returns the id of this hash for which equal(id) holds; kNone if there is none.
  template <class Equal> std::uint32_t find(std::uint64_t hash, Equal equal) const {
    return slots_.empty() ? kNone : slots_[probe(tag_of(hash), equal)].id;
  }

  // Returns that id; if there is none, adds the one that make() returns. make() must not use this index.
  template <class Equal, class Make> std::uint32_t find_or_add(std::uint64_t hash, Equal equal, Make make) {
    if (slots_.empty()) slots_.resize(first_slots_);
    const std::uint32_t tag = tag_of(hash);
    std::size_t at = probe(tag, equal);
    if (slots_[at].id != kNone) return slots_[at].id;
    if (used_ + 1 > slots_.size() / 4 * 3) {
      grow();
      at = free_slot(slots_, tag);
    }
    ++used_;
    slots_[at] = {make(), tag};
    return slots_[at].id;
  }

 private:
  struct Slot {
    std::uint32_t id = kNone, tag = 0;
  };

  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash ^ hash >> 32); }

  // The slot with an equal id, or the free one where it belongs.
  template <class Equal> std::size_t probe(std::uint32_t tag, Equal& equal) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = tag & mask;; at = (at + 1) & mask) {
      const Slot& slot = slots_[at];
      if (slot.id == kNone || (slot.tag == tag && equal(slot.id))) return at;
    }
  }
  static std::size_t free_slot(const std::vector<Slot>& slots, std::uint32_t tag) {
    const std::size_t mask = slots.size() - 1;
    std::size_t at = tag & mask;
    while (slots[at].id != kNone) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Slot> larger(slots_.size() * 2);
    for (const Slot& slot : slots_)
      if (slot.id != kNone) larger[free_slot(larger, slot.tag)] = slot;
    slots_ = std::move(larger);
  }

  std::size_t first_slots_;
  std::size_t used_ = 0;
  std::vector<Slot> slots_;  // a power of two; empty before the first entry
};

}  // namespace graphopt
