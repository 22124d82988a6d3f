// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/json.h"
#include "serve/json_fields.h"
#include "serve/openai/request.h"

namespace anemone::serve::openai {

// The fields that chat and text completions share; `least_tokens` is the lowest max_tokens.
Generation read_generation(JsonFields& fields, std::int64_t least_tokens);

// The tokens of a "logit_bias", in whichever form a protocol writes them. Each may have one bias,
// so that there are no more of them than tokens: they are gone through at every step.
class LogitBias {
 public:
  // The numbers are from -most to most.
  LogitBias(double most, std::vector<std::pair<std::int32_t, float>>& out)
      : most_(most), out_(out) {}

  // kInvalidArgument for a number beyond the limits, for what is no number, and for a token that
  // has a bias already.
  Status add(std::int32_t id, const Json& bias);

 private:
  const double most_;
  std::vector<std::pair<std::int32_t, float>>& out_;
  std::unordered_set<std::int32_t> ids_;
};

}  // namespace anemone::serve::openai
