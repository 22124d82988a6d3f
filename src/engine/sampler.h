// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/json.h"

namespace anemone::engine {

struct SamplingOptions {
  bool greedy = true;      // the highest logit; the other fields have no effect
  double temperature = 1;  // >= 0; 0 is greedy
  std::int64_t top_k = 0;  // 0: off
  double top_p = 1;        // 0 to 1; 1: off
  std::uint64_t seed = 0;

  bool is_greedy() const { return greedy || temperature == 0; }
};

// kInvalidArgument naming the option that is out of range.
Status check_sampling(const SamplingOptions& options);

// The sampling defaults of a generation_config.json: greedy unless do_sample is true, and then
// temperature 1, top_k 50, top_p 1 where the file is silent, as transformers has them. The seed is
// left at 0. kParseError for a wrong type, kInvalidArgument out of range.
Result<SamplingOptions> sampling_from_generation(const Json& generation);

// Picks the next token. The order is that of transformers:
//   1. logits / temperature
//   2. top-k: scores below the k-th highest are dropped; scores equal to it all stay
//   3. top-p: in order of falling probability (lower id first among equals) a token stays while the
//      sum of those before it is below top_p; the first always stays
//   4. one draw from what is left
// The random numbers come from a counter (SplitMix64 of seed and number of the draw), so equal
// seeds and logits give equal tokens on every platform. Greedy takes the lowest id among equals.
// NaN counts as minus infinity. Single-thread; create one a generation.
class Sampler {
 public:
  // Ids from `id_limit` on are never picked (padding rows of the vocabulary); 0: no limit.
  static Result<Sampler> create(const SamplingOptions& options, std::int64_t id_limit = 0);

  // kInternal when no logit is above minus infinity.
  Result<std::int32_t> sample(std::span<const float> logits);

 private:
  struct Candidate {
    double score = 0;  // (logit - highest logit) / temperature
    std::int32_t id = 0;
    double weight() const { return std::exp(score); }
  };

  Sampler(const SamplingOptions& options, std::int64_t id_limit)
      : options_(options), id_limit_(id_limit) {}
  void keep_top_k();
  // Leaves the candidates sorted; returns the sum of their weights.
  double keep_top_p();
  double next_uniform();  // [0, 1)

  SamplingOptions options_;
  std::int64_t id_limit_;
  std::uint64_t draws_ = 0;
  std::vector<Candidate> candidates_;
};

}  // namespace anemone::engine
