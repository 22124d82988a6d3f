// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/json.h"
#include "engine/sampling/logit_processors.h"
#include "engine/sampling/logprobs.h"
#include "engine/session/logit_row.h"

namespace anemone::engine {

struct SamplingOptions {
  bool greedy = true;      // the highest logit after the processors; what follows has no effect
  double temperature = 1;  // >= 0; 0 is greedy
  std::int64_t top_k = 0;  // 0: off
  double top_p = 1;        // 0 to 1; 1: off
  std::uint64_t seed = 0;
  double min_p = 0;  // 0 to 1; 0: off
  LogitProcessorOptions processors;

  bool is_greedy() const { return greedy || temperature == 0; }
};

// kInvalidArgument naming the option that is out of range.
Status check_sampling(const SamplingOptions& options);

// The sampling defaults of a generation_config.json: greedy unless do_sample is true, and then
// temperature 1, top_k 50, top_p 1 where the file is silent, as transformers has them; the
// repetition penalty and no_repeat_ngram_size hold for both. The seed is left at 0. kParseError for
// a wrong type, kInvalidArgument out of range.
Result<SamplingOptions> sampling_from_generation(const Json& generation);

// Picks the next token. The order is that of transformers:
//   1. the logit processors, for which the sampler keeps the tokens so far
//   2. logits / temperature
//   3. top-k: scores below the k-th highest are dropped; scores equal to it all stay
//   4. top-p: in order of falling probability (lower id first among equals) a token stays while the
//      sum of those before it is below top_p; the first always stays
//   5. min-p: tokens below min_p times the highest probability are dropped
//   6. one draw from what is left
// (llama.cpp has min-p and temperature the other way round by default: the temperature comes last.)
// The random numbers come from a counter (SplitMix64 of seed and number of the draw), so equal
// seeds and logits give equal tokens on every platform. Greedy takes the lowest id among equals.
// Single-thread; create one per generation.
class Sampler {
 public:
  // Ids from `id_limit` on are never picked (padding rows of the vocabulary); 0: no limit.
  // The prompt is what the processors count as tokens so far.
  static Result<Sampler> create(const SamplingOptions& options, std::int64_t id_limit = 0,
                                std::span<const std::int32_t> prompt = {});

  // The next token, which is part of the text from then on. kCorrupt when a logit is NaN (a session
  // gives none: logit_check.h), kInvalidArgument when the processors leave no token.
  Result<std::int32_t> sample(std::span<const float> logits);
  // The same for a row whose maxima are known: unless a processor changes the logits, they are not
  // looked for again.
  Result<std::int32_t> sample(const LogitRow& row);
  // A token that is part of the text without a choice. As many random numbers are drawn as if it
  // had been sampled.
  void take(std::int32_t id);
  // Log-probabilities of `id`, which was picked from these logits, and of the `top` most likely
  // tokens; padding rows do not count.
  TokenLogprobs logprobs(std::span<const float> logits, std::int32_t id, std::int64_t top) const {
    return token_logprobs(without_padding(logits), id, top);
  }

 private:
  struct Candidate {
    float logit = 0;
    std::int32_t id = 0;
  };

  Sampler(const SamplingOptions& options, std::int64_t id_limit,
          std::span<const std::int32_t> prompt)
      : options_(options), id_limit_(id_limit), processors_(options.processors, prompt) {}
  std::span<const float> without_padding(std::span<const float> logits) const {
    return id_limit_ > 0
               ? logits.first(std::min(logits.size(), static_cast<std::size_t>(id_limit_)))
               : logits;
  }
  Result<std::int32_t> process_and_pick(std::span<const float> logits);
  Result<std::int32_t> pick();  // of row_
  // These make the tokens candidates whose logits are at least `bound`; within `distance` of the
  // highest after the temperature, and somewhat more; that top-k leaves; that top-p may leave.
  void take_from(float bound);
  void take_within(double distance);
  void take_top_k();
  void take_enough_for_top_p(double total);
  // `total`: of the weights before top-p. Leaves the candidates sorted.
  void keep_top_p(double total);
  double weight(std::int32_t id) const {
    return static_cast<double>(row_.weight(id, options_.temperature));
  }
  double sum_candidates() const;
  std::int32_t draw_from_all();
  std::int32_t draw_from_candidates();
  double next_uniform();  // [0, 1)

  SamplingOptions options_;
  std::int64_t id_limit_;
  LogitProcessors processors_;
  std::vector<float> processed_;
  std::uint64_t draws_ = 0;
  LogitRow row_;
  std::vector<std::int32_t> ids_;
  std::vector<Candidate> candidates_;
  std::vector<float> scores_;
  std::vector<double> sums_;  // of the weights in each stretch of the row
};

}  // namespace anemone::engine
