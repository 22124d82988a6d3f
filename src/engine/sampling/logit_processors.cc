// SPDX-License-Identifier: Apache-2.0
#include "engine/sampling/logit_processors.h"

#include <cmath>
#include <limits>

#include "base/error.h"

namespace anemone::engine {

Status check_logit_processors(const LogitProcessorOptions& options) {
  if (!std::isfinite(options.repetition_penalty) || options.repetition_penalty <= 0)
    return invalid_argument("[repetition_penalty] expected a number > 0, got {}",
                            options.repetition_penalty);
  if (!std::isfinite(options.presence_penalty))
    return invalid_argument("[presence_penalty] expected a number, got {}",
                            options.presence_penalty);
  if (!std::isfinite(options.frequency_penalty))
    return invalid_argument("[frequency_penalty] expected a number, got {}",
                            options.frequency_penalty);
  if (options.no_repeat_ngram < 0)
    return invalid_argument("[no_repeat_ngram] expected a number >= 0, got {}",
                            options.no_repeat_ngram);
  for (const auto& [id, bias] : options.logit_bias) {
    if (id < 0) return invalid_argument("[logit_bias] expected a token id, got {}", id);
    if (!std::isfinite(bias))
      return invalid_argument("[logit_bias] expected a number for token {}, got {}", id, bias);
  }
  return {};
}

LogitProcessors::LogitProcessors(const LogitProcessorOptions& options,
                                 std::span<const std::int32_t> prompt)
    : options_(options) {
  for (const std::int32_t id : prompt) see(id);
}

void LogitProcessors::see(std::int32_t id) {
  seen_.insert(id);
  if (options_.no_repeat_ngram == 0) return;
  const auto before = static_cast<std::size_t>(options_.no_repeat_ngram - 1);
  if (tokens_.size() >= before)
    followers_[{tokens_.end() - static_cast<std::ptrdiff_t>(before), tokens_.end()}].push_back(id);
  tokens_.push_back(id);
}

void LogitProcessors::accept(std::int32_t id) {
  ++generated_[id];
  see(id);
}

void LogitProcessors::apply(std::span<float> logits) const {
  const auto at = [&](std::int32_t id) -> float* {
    const auto index = static_cast<std::size_t>(id);
    return id >= 0 && index < logits.size() ? &logits[index] : nullptr;
  };
  for (const auto& [id, bias] : options_.logit_bias)
    if (float* logit = at(id)) *logit += bias;
  if (options_.repetition_penalty != 1) {
    const auto penalty = static_cast<float>(options_.repetition_penalty);
    for (const std::int32_t id : seen_)
      if (float* logit = at(id)) *logit = *logit < 0 ? *logit * penalty : *logit / penalty;
  }
  if (options_.presence_penalty != 0 || options_.frequency_penalty != 0) {
    for (const auto& [id, count] : generated_)
      if (float* logit = at(id))
        *logit -= static_cast<float>(options_.presence_penalty +
                                     options_.frequency_penalty * static_cast<double>(count));
  }
  if (options_.no_repeat_ngram > 0) {
    const auto before = static_cast<std::size_t>(options_.no_repeat_ngram - 1);
    if (tokens_.size() < before) return;
    const auto found =
        followers_.find({tokens_.end() - static_cast<std::ptrdiff_t>(before), tokens_.end()});
    if (found == followers_.end()) return;
    for (const std::int32_t id : found->second)
      if (float* logit = at(id)) *logit = -std::numeric_limits<float>::infinity();
  }
}

}  // namespace anemone::engine
