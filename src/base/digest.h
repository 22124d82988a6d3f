// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace anemone {

// An incremental hash (OpenSSL). Single-thread.
class Digest {
 public:
  enum class Kind { kSha256, kSha1 };
  explicit Digest(Kind kind = Kind::kSha256);
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  // Lower-case hex digits: 64 of SHA-256, 40 of SHA-1. Spends the object.
  std::string hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace anemone
