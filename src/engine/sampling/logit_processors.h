// SPDX-License-Identifier: Apache-2.0
// Changes of the logits that depend on the tokens so far, made before any token is dropped or
// drawn.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace anemone::engine {

struct LogitProcessorOptions {
  // Added to the logits of single tokens (OpenAI's logit_bias).
  std::vector<std::pair<std::int32_t, float>> logit_bias;
  // > 0; 1: off. A logit above 0 is divided by it, one below multiplied, once for each token that
  // the prompt or the text holds, however often (CTRL, arXiv 1909.05858; transformers'
  // RepetitionPenaltyLogitsProcessor. llama.cpp looks at the last 64 tokens instead).
  double repetition_penalty = 1;
  // Subtracted from the logit of each token that the text holds (not the prompt); the frequency
  // penalty is subtracted for each time that it does: OpenAI's definitions, which vLLM shares.
  // llama.cpp counts the prompt too.
  double presence_penalty = 0;
  double frequency_penalty = 0;
  // N > 0: a token that would complete a run of N tokens which prompt and text hold already is
  // never picked (transformers' no_repeat_ngram_size). 0: off.
  std::int64_t no_repeat_ngram = 0;

  bool is_off() const {
    return logit_bias.empty() && repetition_penalty == 1 && presence_penalty == 0 &&
           frequency_penalty == 0 && no_repeat_ngram == 0;
  }
};

// kInvalidArgument naming the option that is out of range.
Status check_logit_processors(const LogitProcessorOptions& options);

// Applies them in transformers' order: bias, repetition, presence and frequency, n-grams.
// Single-thread; one per generation.
class LogitProcessors {
 public:
  LogitProcessors(const LogitProcessorOptions& options, std::span<const std::int32_t> prompt);

  // Ids beyond the logits are ignored; NaN stays NaN.
  void apply(std::span<float> logits) const;
  // `id` is the next token of the text.
  void accept(std::int32_t id);

 private:
  void see(std::int32_t id);

  LogitProcessorOptions options_;
  std::unordered_map<std::int32_t, std::int64_t> generated_;  // how often the text holds a token
  std::unordered_set<std::int32_t> seen_;                     // of prompt and text
  std::vector<std::int32_t> tokens_;                          // prompt and text; only for n-grams
  // The tokens that followed each run of N - 1 tokens.
  std::map<std::vector<std::int32_t>, std::vector<std::int32_t>> followers_;
};

}  // namespace anemone::engine
