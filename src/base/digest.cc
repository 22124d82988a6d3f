// SPDX-License-Identifier: Apache-2.0
#include "base/digest.h"

#include <array>
#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/check.h"

namespace anemone {

struct Digest::Context {
  EVP_MD_CTX* handle = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(handle); }
};

Digest::Digest(Kind kind) : context_(std::make_unique<Context>()) {
  const EVP_MD* hash = kind == Kind::kSha256 ? EVP_sha256() : EVP_sha1();
  ANEMONE_CHECK(EVP_DigestInit_ex(context_->handle, hash, nullptr) == 1);
}
Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

void Digest::update(std::span<const std::byte> bytes) {
  ANEMONE_CHECK(EVP_DigestUpdate(context_->handle, bytes.data(), bytes.size()) == 1);
}

void Digest::update(std::string_view text) {
  update(std::as_bytes(std::span(text)));
}

std::string Digest::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  ANEMONE_CHECK(EVP_DigestFinal_ex(context_->handle, digest.data(), &size) == 1);
  std::string text;
  for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace anemone
