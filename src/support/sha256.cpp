// libcrypto has two interfaces to a digest. The general one (EVP) looks its algorithms up in providers: it
// can fail, reads the system's configuration, and links 4.4 MB of the library. These functions can do none of
// that and link 20 KB with the same assembly; OpenSSL 3 calls them deprecated in favour of the general ones.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "support/sha256.h"

#include <openssl/sha.h>

#include <new>

namespace graphopt {
namespace {

SHA256_CTX* context(std::byte* state) { return std::launder(reinterpret_cast<SHA256_CTX*>(state)); }

}  // namespace

Sha256::Sha256() : state_{} {
  static_assert(sizeof(SHA256_CTX) <= sizeof state_ && alignof(SHA256_CTX) <= 8);
  SHA256_Init(new (state_.data()) SHA256_CTX);
}

void Sha256::add(std::string_view bytes) {
  SHA256_Update(context(state_.data()), bytes.data(), bytes.size());
}

std::string Sha256::hex() {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256_Final(digest.data(), context(state_.data()));
  std::string out;
  out.reserve(kHexDigits);
  for (const unsigned char byte : digest) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.hex();
}

bool is_sha256_hex(std::string_view text) {
  return text.size() == Sha256::kHexDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace graphopt
