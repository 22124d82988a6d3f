// SPDX-License-Identifier: Apache-2.0
#include "engine/sampling/sampling_request.h"

#include <random>

namespace anemone::engine {

Result<SamplingOptions> resolve_sampling(const SamplingRequest& request, const Json& generation) {
  SamplingOptions out;
  if (!request.is_greedy) {
    ANEMONE_ASSIGN_OR_RETURN(out, sampling_from_generation(generation));
    if (request.temperature || request.top_k || request.top_p || request.min_p) out.greedy = false;
    if (request.temperature) out.temperature = *request.temperature;
    if (request.top_k) out.top_k = *request.top_k;
    if (request.top_p) out.top_p = *request.top_p;
    if (request.min_p) out.min_p = *request.min_p;
    if (!out.greedy) out.seed = request.seed ? *request.seed : std::random_device()();
  }
  LogitProcessorOptions& processors = out.processors;
  if (request.repetition_penalty) processors.repetition_penalty = *request.repetition_penalty;
  if (request.no_repeat_ngram) processors.no_repeat_ngram = *request.no_repeat_ngram;
  processors.presence_penalty = request.presence_penalty;
  processors.frequency_penalty = request.frequency_penalty;
  processors.logit_bias = request.logit_bias;
  ANEMONE_RETURN_IF_ERROR(check_sampling(out));
  return out;
}

}  // namespace anemone::engine
