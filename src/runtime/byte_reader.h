// Little-endian numbers and pieces of bytes, at places that may lie outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace graphopt {

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  std::size_t size() const { return bytes_.size(); }

  std::optional<std::string_view> piece(std::uint64_t at, std::uint64_t length) const {
    if (at > bytes_.size() || length > bytes_.size() - at) return std::nullopt;
    return bytes_.substr(at, length);
  }
  template <class T> std::optional<T> number(std::uint64_t at) const {
    const auto found = piece(at, sizeof(T));
    if (!found) return std::nullopt;
    T value = 0;
    std::memcpy(&value, found->data(), sizeof(T));
    return value;
  }

 private:
  std::string_view bytes_;
};

}  // namespace graphopt
