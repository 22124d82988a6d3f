// SPDX-License-Identifier: Apache-2.0
#include "serve/token_scorer.h"

#include <string>
#include <utility>

#include "base/error.h"
#include "text/text_work.h"

namespace anemone::serve {

TokenScorer::TokenScorer(const text::Tokenizer& tokenizer, const std::atomic<bool>& cancel)
    : tokenizer_(tokenizer), work_("answer", text::kAnswerLimits, &cancel) {
  work_.pause();
}

Result<openai::ScoredToken> TokenScorer::score(std::int32_t id,
                                               const engine::TokenLogprobs* logprobs) {
  work_.resume();
  auto out = score_now(id, logprobs);
  work_.pause();
  return out;
}

Result<openai::ScoredToken> TokenScorer::score_now(std::int32_t id,
                                                   const engine::TokenLogprobs* logprobs) {
  openai::ScoredToken out;
  ANEMONE_ASSIGN_OR_RETURN(out.bytes, tokenizer_.token_bytes(id, work_));
  if (logprobs == nullptr) return out;
  out.logprob = logprobs->logprob;
  for (const auto& [other, logprob] : logprobs->top) {
    ANEMONE_ASSIGN_OR_RETURN(std::string bytes, tokenizer_.token_bytes(other, work_));
    out.top.emplace_back(std::move(bytes), logprob);
  }
  return out;
}

}  // namespace anemone::serve
