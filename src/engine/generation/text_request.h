// SPDX-License-Identifier: Apache-2.0
// From what a client says about a text to the options of its generation: the one place for all
// clients, who only fill the struct.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/constraint/response_format.h"
#include "engine/generation/generation.h"
#include "engine/model/model.h"
#include "engine/sampling/sampling_request.h"

namespace anemone::engine {

struct TextRequest {
  SamplingRequest sampling;
  std::optional<std::int64_t> max_tokens;  // GenerateOptions::kUntilFull: no limit
  std::vector<std::string> stop;
  std::int64_t stop_repeat_ngram = 0;
  bool ignore_eos = false;
  std::optional<std::int64_t> top_logprobs;
  std::optional<ResponseFormat> format;  // none: any text
};

// What the one who runs a server says about requests that say nothing.
struct RequestDefaults {
  std::optional<std::int64_t> max_tokens;  // also the most that a request gets
  std::optional<double> temperature;
  std::optional<std::uint64_t> seed;
};

// The request over the defaults over the model's; `default_tokens` is the length of a text that
// nobody limits. kInvalidArgument names the option that is out of range; the errors of
// Constraints::make() are those of the format. The callbacks are left to
// the caller.
Result<GenerateOptions> resolve_request(TextRequest request, const RequestDefaults& defaults,
                                        const Model& model, std::int64_t default_tokens);

}  // namespace anemone::engine
