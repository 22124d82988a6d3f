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

struct Highest {
  std::size_t id = 0;  // the first one that has it
  float logit = -std::numeric_limits<float>::infinity();
  bool has_nan = false;  // then the rest means nothing
};

// A vocabulary is long, and every text of a step waits for this. So the loop keeps a maximum for
// each lane of a vector, and only the stretch that has the highest one is searched for its place.
Highest highest_of(std::span<const float> logits) {
  constexpr std::size_t kLanes = 16;
  constexpr std::size_t kStretch = 1024;
  Highest out;
  std::size_t begin = 0;  // of the stretch that has the highest one
  for (std::size_t first = 0; first < logits.size(); first += kStretch) {
    const std::span<const float> some =
        logits.subspan(first, std::min(kStretch, logits.size() - first));
    float highest[kLanes];
    std::ranges::fill(highest, -std::numeric_limits<float>::infinity());
    std::uint32_t is_nan[kLanes] = {};
    const auto add = [&](std::size_t lane, float logit) {
      highest[lane] = logit > highest[lane] ? logit : highest[lane];
      is_nan[lane] |= static_cast<std::uint32_t>(logit != logit);
    };
    std::size_t i = 0;
    for (; i + kLanes <= some.size(); i += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane) add(lane, some[i + lane]);
    for (; i < some.size(); ++i) add(0, some[i]);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      out.has_nan = out.has_nan || is_nan[lane] != 0;
      if (!(highest[lane] > out.logit)) continue;
      out.logit = highest[lane];
      begin = first;
    }
  }
  const auto rest = logits.subspan(begin);
  out.id = begin + static_cast<std::size_t>(std::ranges::find(rest, out.logit) - rest.begin());
  return out;
}

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

void Sampler::keep_top_k() {
  const auto k = static_cast<std::size_t>(options_.top_k);
  if (k == 0 || k >= candidates_.size()) return;
  const auto kth = candidates_.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(candidates_.begin(), kth, candidates_.end(),
                   [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  const double threshold = kth->score;
  std::erase_if(candidates_, [&](const Candidate& c) { return c.score < threshold; });
  // nth_element leaves an order that differs between standard libraries.
  std::ranges::sort(candidates_, {}, &Candidate::id);
}

void Sampler::keep_top_p() {
  double total = 0;
  for (const Candidate& candidate : candidates_) total += candidate.weight();
  // A heap gives the most likely tokens one by one: few are needed of a large vocabulary.
  const auto below = [](const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score < b.score : a.id > b.id;
  };
  std::ranges::make_heap(candidates_, below);
  std::vector<Candidate> kept;
  double sum = 0;
  while (!candidates_.empty() && (kept.empty() || sum < options_.top_p * total)) {
    std::ranges::pop_heap(candidates_, below);
    kept.push_back(candidates_.back());
    candidates_.pop_back();
    sum += kept.back().weight();
  }
  candidates_ = std::move(kept);
}

double Sampler::keep_min_p() {
  // Scores are distances from the highest, so the highest probability is that of score 0.
  if (options_.min_p > 0) {
    const double threshold = std::log(options_.min_p);
    std::erase_if(candidates_, [&](const Candidate& c) { return c.score < threshold; });
  }
  double total = 0;
  for (const Candidate& candidate : candidates_) total += candidate.weight();
  return total;
}

Result<std::int32_t> Sampler::sample(std::span<const float> logits) {
  logits = without_padding(logits);
  if (options_.processors.is_off()) return pick(logits);
  processed_.assign(logits.begin(), logits.end());
  processors_.apply(processed_);
  auto id = pick(processed_);
  if (id.ok()) processors_.accept(*id);
  return id;
}

void Sampler::take(std::int32_t id) {
  if (!options_.is_greedy()) ++draws_;
  if (!options_.processors.is_off()) processors_.accept(id);
}

Result<std::int32_t> Sampler::pick(std::span<const float> logits) {
  const auto [best_id, highest, has_nan] = highest_of(logits);
  if (has_nan)
    return corrupt("[logits] expected numbers, got NaN for token {}",
                   std::ranges::find_if(logits, [](float logit) { return std::isnan(logit); }) -
                       logits.begin());
  if (highest == -std::numeric_limits<float>::infinity())
    return invalid_argument(
        "[sampling] expected biases and penalties that leave one of {} tokens, got none left",
        logits.size());
  const auto best = static_cast<std::int32_t>(best_id);
  if (options_.is_greedy() || std::isinf(highest)) return best;

  candidates_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isinf(logits[i])) continue;
    // Taken from the highest first: no temperature can make it overflow.
    const double distance = static_cast<double>(logits[i]) - static_cast<double>(highest);
    candidates_.push_back({distance / options_.temperature, static_cast<std::int32_t>(i)});
  }
  keep_top_k();
  if (options_.top_p < 1) keep_top_p();
  const double total = keep_min_p();

  double left = next_uniform() * total;
  for (const Candidate& candidate : candidates_) {
    left -= candidate.weight();
    if (left < 0) return candidate.id;
  }
  // Rounding may leave a small remainder; it belongs to the last token that has any weight.
  for (std::size_t i = candidates_.size(); i-- > 0;)
    if (candidates_[i].weight() > 0) return candidates_[i].id;
  return best;
}

}  // namespace anemone::engine
