// The digests that NIST publishes with FIPS 180-4.
#include "support/sha256.h"

#include <gtest/gtest.h>

namespace graphopt {
namespace {

TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, TakesBytesInPiecesOfAnySize) {
  const std::string whole(1'000'000, 'a');
  Sha256 hash;
  for (std::size_t at = 0, size = 0; at < whole.size(); at += size, size = size * 2 + 1)
    hash.add(std::string_view(whole).substr(at, size));
  EXPECT_EQ(hash.hex(), sha256_hex(whole));
}

TEST(Sha256, KnowsItsOwnForm) {
  EXPECT_TRUE(is_sha256_hex(sha256_hex("")));
  EXPECT_FALSE(is_sha256_hex(sha256_hex("").substr(1)));
  EXPECT_FALSE(is_sha256_hex(std::string(64, 'A')));
}

}  // namespace
}  // namespace graphopt
