// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "serve/openai/key_limits.h"
#include "serve/reread.h"

namespace anemone::serve::openai {

// The API keys of a server, which may change while it runs. Thread-safe.
class KeyRing {
 public:
  // `reread` may be null: the keys stay. It is called by one thread at a time.
  KeyRing(std::vector<ApiKey> keys, Reread<std::vector<ApiKey>> reread);

  // The keys that hold now, and what their requests use of their limits. A key that stays goes on
  // with its counts. A server that has keys never has none later, which would open it to all.
  std::shared_ptr<const KeyUsage> current();

 private:
  const Reread<std::vector<ApiKey>> reread_;
  std::mutex mutex_;
  std::shared_ptr<const KeyUsage> usage_;
};

}  // namespace anemone::serve::openai
