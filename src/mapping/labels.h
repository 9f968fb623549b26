// Dense numbers for what operators and values look like, shared by both sides of a mapping: equal keys have
// equal labels, in whatever graph they are met.
//
// Problem: colours and value numbers are tuples of tuples; to keep them whole costs more than the graph.
// Method: a key is a hash of 128 bits over its words, and gets the next number when it is met first. Of 10^9
// keys two would have one hash with a chance below 10^-20.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

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
  First, Round, Pair, ConstantOperand, InputOperand, Absent,
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
    return numbers_.try_emplace(hash, static_cast<Index>(numbers_.size())).first->second;
  }
  Index of(const Key& key) { return of(key.hash()); }

 private:
  std::unordered_map<Hash128, Index, LowHash> numbers_;
};

}  // namespace graphopt::mapping
