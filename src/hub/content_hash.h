// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "hub/repository.h"

namespace anemone::hub {

// The hash by which the hub names a file's content: SHA-256 of a large file's bytes; of others the
// SHA-1 of the git blob, which is "blob SIZE\0" and the bytes. For one thread.
class ContentHash {
 public:
  explicit ContentHash(const RemoteFile& file);
  ~ContentHash();
  ContentHash(const ContentHash&) = delete;
  ContentHash& operator=(const ContentHash&) = delete;

  void update(std::span<const std::byte> bytes);
  // Lower-case hex digits. Spends the object.
  std::string hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace anemone::hub
