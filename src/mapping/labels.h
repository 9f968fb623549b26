// Dense numbers for what operators and values look like, shared by both sides of a mapping: equal keys have
// equal labels, in whatever graph they are met.
//
// Problem: colours and value numbers are tuples of tuples; to keep them whole costs more than the graph.
// Method: a key is a hash of 128 bits over its words, and gets the next number when it is met first. Of 10^9
// keys two would have one hash with a chance below 10^-20. The table is flat, since half the time of mapping
// large graphs went into looking for numbers: one probe is one line of the cache most of the time. A key that
// only goes into another key needs no number: its hash is added.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/tensor.h"
#include "support/hash_chains.h"

namespace graphopt::mapping {

using Index = std::uint32_t;
inline constexpr Index kNone = ~Index{0};

// The two sides of a mapping: 0 is A, 1 is B.
inline constexpr std::array<std::size_t, 2> kSides{0, 1};

// What a key is of: keys of two kinds are never equal.
enum class KeyKind : std::uint64_t {
  // clang-format off
  // Of a side:
  Type, Family, Attribute, Attributes, Dims, Shape, Payload,
  // Of value numbers:
  Forward, Backward, Both, Nothing, Made, Constant, Input,
  // Of colours:
  First, Round, Colour, Pair, ConstantOperand, InputOperand, Absent,
  // Of readers that are known, and of constants that say which they are:
  OutputReader, PairReader, StrongConstant, Name,
  // clang-format on
};

// A key in the making: the order of its words counts.
class Key {
 public:
  explicit Key(KeyKind kind)
      : low_(mix_hash(0x51, static_cast<std::uint64_t>(kind))),
        high_(mix_hash(0xA7, static_cast<std::uint64_t>(kind))) {}
  Key& add(std::uint64_t word) {
    low_ = mix_hash(low_, word);
    high_ = mix_hash(high_, word ^ 0x9e3779b97f4a7c15U);
    return *this;
  }
  Key& add(std::string_view text);
  Key& add(const Hash128& h) { return add(h.low).add(h.high); }
  Hash128 hash() const { return {low_, high_}; }

 private:
  std::uint64_t low_, high_;
};

struct LowHash {
  std::size_t operator()(const Hash128& h) const { return static_cast<std::size_t>(h.low); }
};

class Labels {
 public:
  Index of(const Hash128& hash) {
    if (2 * count_ >= slots_.size()) grow();
    Slot& slot = find(hash);
    if (slot.number == kNone) slot = {hash, count_++};
    return slot.number;
  }
  Index of(const Key& key) { return of(key.hash()); }

 private:
  struct Slot {
    Hash128 hash;
    Index number = kNone;
  };

  // The slot of that hash, or the free one where it belongs. The highest bits of a product are the best
  // mixed.
  Slot& find(const Hash128& hash) {
    std::size_t at = static_cast<std::size_t>(hash.low >> shift_);
    while (slots_[at].number != kNone && slots_[at].hash != hash) at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  void grow();

  std::vector<Slot> slots_;  // a power of two of them, at most half of them taken
  int shift_ = 64;
  Index count_ = 0;
};

}  // namespace graphopt::mapping
