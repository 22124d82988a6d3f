// SPDX-License-Identifier: Apache-2.0
#include "engine/generation/text_request.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace anemone::engine {

Result<GenerateOptions> resolve_request(TextRequest request, const RequestDefaults& defaults,
                                        const Model& model, std::int64_t default_tokens) {
  SamplingRequest& sampling = request.sampling;
  if (!sampling.temperature) sampling.temperature = defaults.temperature;
  if (!sampling.seed) sampling.seed = defaults.seed;
  for (const auto& [id, bias] : sampling.logit_bias)
    if (id >= model.vocab_size())
      return invalid_argument("[logit_bias] expected ids below {}, got {}", model.vocab_size(), id);
  GenerateOptions out;
  ANEMONE_ASSIGN_OR_RETURN(out.sampling, resolve_sampling(sampling, *model.manifest().generation));
  out.max_new_tokens = request.max_tokens.value_or(defaults.max_tokens.value_or(default_tokens));
  const bool is_unlimited = out.max_new_tokens == GenerateOptions::kUntilFull;
  if (defaults.max_tokens && (is_unlimited || out.max_new_tokens > *defaults.max_tokens))
    out.max_new_tokens = *defaults.max_tokens;
  out.stop = std::move(request.stop);
  out.stop_repeat_ngram = request.stop_repeat_ngram;
  out.ignore_eos = request.ignore_eos;
  out.top_logprobs = request.top_logprobs;
  if (request.format) {
    ANEMONE_ASSIGN_OR_RETURN(out.constraint, model.constraints().make(*request.format));
  }
  return out;
}

}  // namespace anemone::engine
