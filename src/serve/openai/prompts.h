// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "serve/json_fields.h"
#include "serve/openai/request.h"

namespace anemone::serve::openai {

// A member that has to be there: a text, token ids, or a list of at most `most` of either.
std::vector<Prompt> read_prompts(JsonFields& fields, std::string_view key, std::size_t most);

}  // namespace anemone::serve::openai
