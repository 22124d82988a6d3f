// SPDX-License-Identifier: Apache-2.0
#include "hub/content_hash.h"

#include <fmt/format.h>
#include <string>

namespace anemone::hub {

Digest content_hash(const RemoteFile& file) {
  if (file.is_large) return Digest(Digest::Kind::kSha256);
  Digest digest(Digest::Kind::kSha1);
  std::string header = fmt::format("blob {}", file.size);
  header.push_back('\0');
  digest.update(header);
  return digest;
}

}  // namespace anemone::hub
