// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <atomic>
#include <cstdint>

#include "base/work_budget.h"
#include "engine/sampling/logprobs.h"
#include "serve/openai/answer.h"
#include "text/tokenizer/tokenizer.h"

namespace anemone::serve {

// Turns ids and their log-probabilities into ScoredTokens. All calls for one text share a budget,
// which counts only the time that they take. Single-thread; the tokenizer and the flag outlive it.
class TokenScorer {
 public:
  TokenScorer(const text::Tokenizer& tokenizer, const std::atomic<bool>& cancel);

  // `logprobs` may be null. The error when the budget is used up.
  Result<openai::ScoredToken> score(std::int32_t id, const engine::TokenLogprobs* logprobs);

 private:
  Result<openai::ScoredToken> score_now(std::int32_t id, const engine::TokenLogprobs* logprobs);

  const text::Tokenizer& tokenizer_;
  WorkBudget work_;
};

}  // namespace anemone::serve
