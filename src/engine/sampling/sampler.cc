// SPDX-License-Identifier: Apache-2.0
#include "engine/sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace anemone::engine {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators).
std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

// What is left out when logits are chosen by their distance from the highest must be too unlikely
// by more than the rounding of that distance.
constexpr double kSlack = 0.01;

}  // namespace

Status check_sampling(const SamplingOptions& options) {
  if (!std::isfinite(options.temperature) || options.temperature < 0)
    return invalid_argument("[temperature] expected a number >= 0, got {}", options.temperature);
  if (options.top_k < 0)
    return invalid_argument("[top_k] expected a number >= 0, got {}", options.top_k);
  if (!(options.top_p >= 0 && options.top_p <= 1))
    return invalid_argument("[top_p] expected a number between 0 and 1, got {}", options.top_p);
  if (!(options.min_p >= 0 && options.min_p <= 1))
    return invalid_argument("[min_p] expected a number between 0 and 1, got {}", options.min_p);
  return check_logit_processors(options.processors);
}

Result<SamplingOptions> sampling_from_generation(const Json& generation) {
  constexpr std::string_view kSubject = "generation";
  SamplingOptions options;
  ANEMONE_ASSIGN_OR_RETURN(const auto repetition,
                           json_number(generation, "repetition_penalty", kSubject));
  ANEMONE_ASSIGN_OR_RETURN(const auto ngram,
                           json_int(generation, "no_repeat_ngram_size", kSubject));
  options.processors.repetition_penalty = repetition.value_or(1);
  options.processors.no_repeat_ngram = ngram.value_or(0);
  ANEMONE_ASSIGN_OR_RETURN(const auto do_sample, json_bool(generation, "do_sample", kSubject));
  if (!do_sample.value_or(false)) {
    ANEMONE_RETURN_IF_ERROR(check_sampling(options));
    return options;
  }
  ANEMONE_ASSIGN_OR_RETURN(const auto temperature,
                           json_number(generation, "temperature", kSubject));
  ANEMONE_ASSIGN_OR_RETURN(const auto top_k, json_int(generation, "top_k", kSubject));
  ANEMONE_ASSIGN_OR_RETURN(const auto top_p, json_number(generation, "top_p", kSubject));
  options.greedy = false;
  options.temperature = temperature.value_or(1);
  options.top_k = top_k.value_or(50);
  options.top_p = top_p.value_or(1);
  ANEMONE_ASSIGN_OR_RETURN(const auto min_p, json_number(generation, "min_p", kSubject));
  options.min_p = min_p.value_or(0);
  ANEMONE_RETURN_IF_ERROR(check_sampling(options));
  return options;
}

Result<Sampler> Sampler::create(const SamplingOptions& options, std::int64_t id_limit,
                                std::span<const std::int32_t> prompt) {
  ANEMONE_RETURN_IF_ERROR(check_sampling(options));
  for (const auto& [id, bias] : options.processors.logit_bias)
    if (id_limit > 0 && id >= id_limit)
      return invalid_argument("[logit_bias] expected token ids below {}, got {}", id_limit, id);
  return Sampler(options, id_limit, prompt);
}

double Sampler::next_uniform() {
  const std::uint64_t bits = mix(mix(options_.seed + kGolden) + (++draws_) * kGolden);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

void Sampler::take_from(float bound) {
  // Minus infinity is the logit of tokens that are barred.
  row_.find(std::max(bound, std::numeric_limits<float>::lowest()), ids_);
  candidates_.clear();
  for (const std::int32_t id : ids_)
    candidates_.push_back({row_.logits()[static_cast<std::size_t>(id)], id});
}

void Sampler::take_within(double distance) {
  constexpr auto kLowest = static_cast<double>(std::numeric_limits<float>::lowest());
  const double bound =
      static_cast<double>(row_.highest()) - (distance + kSlack) * options_.temperature;
  take_from(static_cast<float>(std::max(bound, kLowest)));
}

void Sampler::take_top_k() {
  const auto k = static_cast<std::size_t>(options_.top_k);
  take_from(row_.bound(k));
  if (candidates_.size() <= k) return;
  scores_.clear();
  for (const Candidate& candidate : candidates_) scores_.push_back(candidate.logit);
  const auto kth = scores_.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(scores_.begin(), kth, scores_.end(), std::greater<>());
  std::erase_if(candidates_, [&](const Candidate& c) { return c.logit < *kth; });
}

// All that are left out, were each as likely as the least likely that is not, have less than
// 1 - top_p of the probability.
void Sampler::take_enough_for_top_p(double total) {
  const auto most = static_cast<double>(row_.logits().size());
  take_within(std::log(most / ((1 - options_.top_p) * total)));
}

void Sampler::keep_top_p(double total) {
  // A heap gives the most likely tokens one by one: few are needed of a large vocabulary.
  const auto below = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit < b.logit : a.id > b.id;
  };
  std::ranges::make_heap(candidates_, below);
  double sum = 0;
  auto kept = candidates_.end();
  while (kept != candidates_.begin() &&
         (kept == candidates_.end() || sum < options_.top_p * total)) {
    std::ranges::pop_heap(candidates_.begin(), kept, below);
    sum += weight((--kept)->id);
  }
  candidates_.erase(candidates_.begin(), kept);
  std::ranges::reverse(candidates_);
}

double Sampler::sum_candidates() const {
  double total = 0;
  for (const Candidate& candidate : candidates_) total += weight(candidate.id);
  return total;
}

std::int32_t Sampler::draw_from_all() {
  double left = next_uniform() * row_.sum_weights(options_.temperature, sums_);
  const auto ids = static_cast<std::int32_t>(row_.logits().size());
  constexpr auto kStretch = static_cast<std::int32_t>(LogitRow::kStretch);
  std::int32_t last = row_.first_highest();
  std::int32_t first = 0;
  for (const double sum : sums_) {
    const std::int32_t end = std::min(first + kStretch, ids);
    if (left < sum) {
      for (std::int32_t id = first; id < end; ++id) {
        const double share = weight(id);
        if (share > 0) last = id;
        left -= share;
        if (left < 0) return id;
      }
      // Rounding may leave a small remainder; it belongs to the last token that has any weight.
      return last;
    }
    left -= sum;
    first = end;
  }
  return last;
}

std::int32_t Sampler::draw_from_candidates() {
  double left = next_uniform() * sum_candidates();
  for (const Candidate& candidate : candidates_) {
    left -= weight(candidate.id);
    if (left < 0) return candidate.id;
  }
  for (std::size_t i = candidates_.size(); i-- > 0;)
    if (weight(candidates_[i].id) > 0) return candidates_[i].id;
  return row_.first_highest();
}

Result<std::int32_t> Sampler::sample(std::span<const float> logits) {
  logits = without_padding(logits);
  if (!options_.processors.is_off()) return process_and_pick(logits);
  row_.set(logits);
  return pick();
}

Result<std::int32_t> Sampler::sample(const LogitRow& row) {
  const std::span<const float> logits = without_padding(row.logits());
  if (!options_.processors.is_off()) return process_and_pick(logits);
  row_.set(row, logits.size());
  return pick();
}

Result<std::int32_t> Sampler::process_and_pick(std::span<const float> logits) {
  processed_.assign(logits.begin(), logits.end());
  processors_.apply(processed_);
  row_.set(processed_);
  auto id = pick();
  if (id.ok()) processors_.accept(*id);
  return id;
}

void Sampler::take(std::int32_t id) {
  if (!options_.is_greedy()) ++draws_;
  if (!options_.processors.is_off()) processors_.accept(id);
}

Result<std::int32_t> Sampler::pick() {
  const std::span<const float> logits = row_.logits();
  if (row_.has_nan())
    return corrupt("[logits] expected numbers, got NaN for token {}",
                   std::ranges::find_if(logits, [](float logit) { return std::isnan(logit); }) -
                       logits.begin());
  if (row_.highest() == -std::numeric_limits<float>::infinity())
    return invalid_argument(
        "[sampling] expected biases and penalties that leave one of {} tokens, got none left",
        logits.size());
  if (options_.is_greedy() || std::isinf(row_.highest())) return row_.first_highest();

  const bool has_top_k =
      options_.top_k > 0 && options_.top_k < static_cast<std::int64_t>(logits.size());
  const bool has_top_p = options_.top_p < 1;
  if (has_top_k) {
    take_top_k();
    if (has_top_p) keep_top_p(sum_candidates());
  } else if (has_top_p) {
    const double total = row_.sum_weights(options_.temperature, sums_);
    take_enough_for_top_p(total);
    keep_top_p(total);
  } else if (options_.min_p > 0) {
    take_within(-std::log(options_.min_p));
  } else {
    return draw_from_all();
  }
  // Weights are shares of the highest one, which is 1.
  std::erase_if(candidates_, [&](const Candidate& c) { return weight(c.id) < options_.min_p; });
  return draw_from_candidates();
}

}  // namespace anemone::engine
