// Reproducible numbers: the same key gives the same stream on every machine. Integer arithmetic and exact
// floating-point steps only.
#pragma once

#include <cstdint>
#include <string_view>

namespace graphopt {

class RandomStream {
 public:
  // Streams of different texts or seeds are independent (FNV-1a of the text is mixed into the state).
  RandomStream(std::string_view text, std::uint64_t seed) : state_(14695981039346656037u) {
    for (const char c : text) state_ = (state_ ^ static_cast<unsigned char>(c)) * 1099511628211u;
    state_ ^= seed * 0x9E3779B97F4A7C15u;
  }

  std::uint64_t bits() {  // splitmix64
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // [0, 1)

  // Mean 0, deviation 1, within 3.5: the centred sum of four 16-bit numbers.
  double normal() {
    const std::uint64_t b = bits();
    const std::uint64_t sum = (b & 0xFFFF) + ((b >> 16) & 0xFFFF) + ((b >> 32) & 0xFFFF) + (b >> 48);
    return (static_cast<double>(sum) - 131070.0) / 37837.0;
  }

  // Uniform in [low, high); low when that is empty.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    if (high <= low) return low;
    const auto span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + bits() % span);
  }

 private:
  std::uint64_t state_;
};

}  // namespace graphopt
