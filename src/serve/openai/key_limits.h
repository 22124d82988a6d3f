// SPDX-License-Identifier: Apache-2.0
// The API keys of a server, and how much the clients of each may ask for.
#pragma once

#include <anemone/status.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/openai/error.h"

namespace anemone::serve::openai {

// Most that either limit may be set to.
inline constexpr std::int64_t kMaxKeyLimit = 1'000'000;

struct KeyLimits {
  std::int64_t concurrency = 0;          // requests at a time; 0: any number
  std::int64_t rate = 0;                 // requests per rate_period; 0: any number
  std::chrono::seconds rate_period{60};  // of one second, minute or hour
  bool operator==(const KeyLimits&) const = default;
};

struct ApiKey {
  std::string key;
  KeyLimits limits = {};
};

// Sets one limit from its text in a key file: "concurrency=4", "rate=60/min" ("/s", "/h"), with
// numbers from 1 to kMaxKeyLimit. kInvalidArgument for anything else, and for a limit that is set
// already; the message does not show the text, which may be a part of a key.
Status set_limit(std::string_view text, KeyLimits& limits);

// What the requests of each key use of its limits. Its memory depends on the number of keys alone.
// Thread-safe.
class KeyUsage {
 public:
  using Clock = std::chrono::steady_clock;
  // Counts a request as running until this, and every copy of it, is destroyed, on any thread. It
  // may outlive the KeyUsage.
  using Admission = std::shared_ptr<void>;

  // A key that `before` has with the same limits goes on with its counts.
  explicit KeyUsage(std::vector<ApiKey> keys, const KeyUsage* before = nullptr);

  const std::vector<ApiKey>& keys() const { return keys_; }

  // Counts one more request of the key with this index. A request beyond a limit is not counted and
  // gets the error 429 with the seconds to wait. The rate is a bucket of `rate` requests, full at
  // first, that fills evenly in one period (the generic cell rate algorithm, ITU-T I.371): a key
  // that has rested may have them all at once. Threads that race may give values of `now` slightly
  // out of order. The admission stays null for a key without a limit of concurrency.
  std::optional<ApiError> admit(std::size_t key, Clock::time_point now, Admission& admission) const;

 private:
  struct Counter;
  const std::vector<ApiKey> keys_;
  std::vector<std::shared_ptr<Counter>> counters_;  // null for a key without limits
};

}  // namespace anemone::serve::openai
