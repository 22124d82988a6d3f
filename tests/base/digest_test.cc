// SPDX-License-Identifier: Apache-2.0
#include "base/digest.h"

#include <gtest/gtest.h>
#include <string>
#include <utility>

namespace anemone {
namespace {

std::string hash(std::string_view text, Digest::Kind kind = Digest::Kind::kSha256) {
  Digest digest(kind);
  digest.update(text);
  return digest.hex();
}

// Example values of FIPS 180-4.
TEST(Digest, MatchesThePublishedValues) {
  EXPECT_EQ(hash(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(hash("abc", Digest::Kind::kSha1), "a9993e364706816aba3e25717850c26c9cd0d89d");
}

TEST(Digest, PiecesGiveTheHashOfTheWhole) {
  const std::string text = "The quick brown fox jumps over the lazy dog";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Digest sha;
    sha.update(text.substr(0, cut));
    Digest moved = std::move(sha);
    moved.update(text.substr(cut));
    EXPECT_EQ(moved.hex(), hash(text));
  }
}

}  // namespace
}  // namespace anemone
