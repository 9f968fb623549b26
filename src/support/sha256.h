// SHA-256 (FIPS 180-4) of bytes that come in pieces, by OpenSSL's libcrypto.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace graphopt {

class Sha256 {
 public:
  static constexpr std::size_t kHexDigits = 64;

  Sha256();
  void add(std::string_view bytes);
  // Returns 64 hexadecimal digits in lower case. The object must not be used afterwards.
  std::string hex();

 private:
  alignas(8) std::array<std::byte, 128> state_;  // libcrypto's; its header stays out of ours
};

std::string sha256_hex(std::string_view bytes);
// Returns true if the text is 64 hexadecimal digits in lower case.
bool is_sha256_hex(std::string_view text);

}  // namespace graphopt
