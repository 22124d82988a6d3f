// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace anemone::engine {

// Log-probabilities of the model's own distribution: the softmax of the logits as they came, before
// penalties, temperature and what is dropped (as vLLM and the OpenAI API report them).
struct TokenLogprobs {
  double logprob = 0;                                // of the token that was picked
  std::vector<std::pair<std::int32_t, double>> top;  // the most likely tokens, in that order
};

// `id` is a valid index; NaN counts as minus infinity. The result has at most `top` alternatives;
// the lower id comes first among equals.
TokenLogprobs token_logprobs(std::span<const float> logits, std::int32_t id, std::int64_t top);

}  // namespace anemone::engine
