// SPDX-License-Identifier: Apache-2.0
#include "hub/content_hash.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/check.h"

namespace anemone::hub {

struct ContentHash::Context {
  EVP_MD_CTX* digest = EVP_MD_CTX_new();
  Context() = default;
  ~Context() { EVP_MD_CTX_free(digest); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
};

ContentHash::ContentHash(const RemoteFile& file) : context_(std::make_unique<Context>()) {
  ANEMONE_CHECK(
      EVP_DigestInit_ex(context_->digest, file.is_large ? EVP_sha256() : EVP_sha1(), nullptr) == 1);
  if (file.is_large) return;
  const std::string header = fmt::format("blob {}", file.size);
  update(std::as_bytes(std::span(header.c_str(), header.size() + 1)));  // with its zero
}

ContentHash::~ContentHash() = default;

void ContentHash::update(std::span<const std::byte> bytes) {
  ANEMONE_CHECK(EVP_DigestUpdate(context_->digest, bytes.data(), bytes.size()) == 1);
}

std::string ContentHash::hex() {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  ANEMONE_CHECK(EVP_DigestFinal_ex(context_->digest, bytes, &size) == 1);
  std::string out;
  for (unsigned int i = 0; i < size; ++i) out += fmt::format("{:02x}", bytes[i]);
  return out;
}

}  // namespace anemone::hub
