// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <array>
#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/check.h"

namespace anemone {

struct Sha256::Context {
  EVP_MD_CTX* handle = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(handle); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  ANEMONE_CHECK(EVP_DigestInit_ex(context_->handle, EVP_sha256(), nullptr) == 1);
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::byte> bytes) {
  ANEMONE_CHECK(EVP_DigestUpdate(context_->handle, bytes.data(), bytes.size()) == 1);
}

void Sha256::update(std::string_view text) {
  update(std::as_bytes(std::span(text)));
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  ANEMONE_CHECK(EVP_DigestFinal_ex(context_->handle, digest.data(), &size) == 1);
  std::string text;
  for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace anemone
