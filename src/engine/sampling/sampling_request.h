// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "engine/sampling/sampler.h"

namespace anemone::engine {

// The sampling options that a command line or a client's request sets. An absent option gets the
// model's default.
struct SamplingRequest {
  bool is_greedy = false;  // the model's sampling defaults do not apply either
  std::optional<double> temperature;
  std::optional<std::int64_t> top_k;
  std::optional<double> top_p;
  std::optional<double> min_p;
  std::optional<double> repetition_penalty;
  std::optional<std::int64_t> no_repeat_ngram;
  double presence_penalty = 0;
  double frequency_penalty = 0;
  std::vector<std::pair<std::int32_t, float>> logit_bias;
  std::optional<std::uint64_t> seed;
};

// The options of a request, and where it is silent, those of `generation`, the checkpoint's
// generation_config.json (sampling_from_generation()). A greedy request takes nothing from the
// latter. A request that sets temperature, top-k, top-p or min-p is a request to sample, even if
// the checkpoint's default is greedy (a temperature of 0 is greedy all the same:
// SamplingOptions::is_greedy()). Sampling without a seed gets a random one. kInvalidArgument names
// the option that is out of range.
Result<SamplingOptions> resolve_sampling(const SamplingRequest& request, const Json& generation);

}  // namespace anemone::engine
