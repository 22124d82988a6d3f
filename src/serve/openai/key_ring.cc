// SPDX-License-Identifier: Apache-2.0
#include "serve/openai/key_ring.h"

#include <utility>

namespace anemone::serve::openai {

KeyRing::KeyRing(std::vector<ApiKey> keys, Reread<std::vector<ApiKey>> reread)
    : reread_(std::move(reread)), usage_(std::make_shared<const KeyUsage>(std::move(keys))) {}

std::shared_ptr<const KeyUsage> KeyRing::current() {
  const std::lock_guard lock(mutex_);
  if (reread_ == nullptr) return usage_;
  if (auto keys = reread_(); keys && !keys->empty())
    usage_ = std::make_shared<const KeyUsage>(*std::move(keys), usage_.get());
  return usage_;
}

}  // namespace anemone::serve::openai
