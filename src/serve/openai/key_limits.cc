// SPDX-License-Identifier: Apache-2.0
#include "serve/openai/key_limits.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/error.h"

namespace anemone::serve::openai {
namespace {

// 0 when the text is no number from 1 to kMaxKeyLimit.
std::int64_t number_of(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end && number >= 1 && number <= kMaxKeyLimit ? number : 0;
}

std::optional<std::chrono::seconds> period_of(std::string_view unit) {
  if (unit == "s") return std::chrono::seconds(1);
  if (unit == "min") return std::chrono::minutes(1);
  if (unit == "h") return std::chrono::hours(1);
  return std::nullopt;
}

std::string_view unit_of(std::chrono::seconds period) {
  if (period == std::chrono::seconds(1)) return "second";
  return period == std::chrono::minutes(1) ? "minute" : "hour";
}

ApiError refusal(std::string message, std::chrono::nanoseconds wait) {
  ApiError error = http_error(429, message);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
  error.retry_after_s = static_cast<int>(std::max<std::int64_t>(1, seconds));
  return error;
}

}  // namespace

Status set_limit(std::string_view text, KeyLimits& limits) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const std::string_view value = equals == text.npos ? std::string_view() : text.substr(equals + 1);
  if (name == "concurrency") {
    if (limits.concurrency != 0) return invalid_argument("[concurrency] expected one, got two");
    limits.concurrency = number_of(value);
    if (limits.concurrency != 0) return {};
    return invalid_argument("[concurrency] expected a whole number from 1 to {}", kMaxKeyLimit);
  }
  if (name == "rate") {
    if (limits.rate != 0) return invalid_argument("[rate] expected one, got two");
    const std::size_t slash = value.find('/');
    const auto period =
        period_of(slash == value.npos ? std::string_view() : value.substr(slash + 1));
    const std::int64_t rate = number_of(value.substr(0, slash));
    if (!period || rate == 0)
      return invalid_argument("[rate] expected N/s, N/min or N/h, with N from 1 to {}",
                              kMaxKeyLimit);
    limits.rate = rate;
    limits.rate_period = *period;
    return {};
  }
  return invalid_argument("[limits] expected concurrency=N or rate=N/min after a key, got another");
}

struct KeyUsage::Counter {
  explicit Counter(const KeyLimits& key_limits) : limits(key_limits) {}

  const KeyLimits limits;
  std::mutex mutex;
  std::int64_t running = 0;
  // When the bucket will be full again, or was.
  Clock::time_point full_at = Clock::time_point::min();
};

KeyUsage::KeyUsage(std::vector<ApiKey> keys, const KeyUsage* before) : keys_(std::move(keys)) {
  std::unordered_map<std::string_view, std::size_t> known;
  if (before != nullptr)
    for (std::size_t i = 0; i < before->keys_.size(); ++i) known.emplace(before->keys_[i].key, i);
  for (const ApiKey& key : keys_) {
    const auto same = known.find(key.key);
    if (key.limits == KeyLimits())
      counters_.push_back(nullptr);
    else if (same != known.end() && before->keys_[same->second].limits == key.limits)
      counters_.push_back(before->counters_[same->second]);
    else
      counters_.push_back(std::make_shared<Counter>(key.limits));
  }
}

std::optional<ApiError> KeyUsage::admit(std::size_t key, Clock::time_point now,
                                        Admission& admission) const {
  const std::shared_ptr<Counter>& counter = counters_[key];
  if (counter == nullptr) return std::nullopt;
  const KeyLimits& limits = counter->limits;
  {
    const std::lock_guard lock(counter->mutex);
    if (limits.concurrency != 0 && counter->running >= limits.concurrency)
      return refusal(fmt::format("[server] this key may have {} request{} at a time: try again "
                                 "later",
                                 limits.concurrency, limits.concurrency == 1 ? "" : "s"),
                     std::chrono::seconds(1));
    if (limits.rate != 0) {
      const std::chrono::nanoseconds period = limits.rate_period;
      const Clock::time_point full_at = std::max(counter->full_at, now) + period / limits.rate;
      if (full_at - now > period)
        return refusal(
            fmt::format("[server] this key may have {} request{} per {}: try again later",
                        limits.rate, limits.rate == 1 ? "" : "s", unit_of(limits.rate_period)),
            full_at - now - period);
      counter->full_at = full_at;
    }
    if (limits.concurrency == 0) return std::nullopt;
    ++counter->running;
  }
  // Also called where there is no memory for the pointer.
  const auto leave = [counter](Counter* own) {
    const std::lock_guard lock(own->mutex);
    --own->running;
  };
  admission = Admission(counter.get(), leave);
  return std::nullopt;
}

}  // namespace anemone::serve::openai
