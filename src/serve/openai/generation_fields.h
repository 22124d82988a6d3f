// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "serve/json_fields.h"
#include "serve/openai/request.h"

namespace anemone::serve::openai {

// The fields that chat and text completions share; `least_tokens` is the lowest max_tokens.
Generation read_generation(JsonFields& fields, std::int64_t least_tokens);

}  // namespace anemone::serve::openai
