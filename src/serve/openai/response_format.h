// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "base/json.h"
#include "engine/constraint/response_format.h"
#include "serve/json_fields.h"

namespace anemone::serve::openai {

// What a request says about the form of its answer; nullopt: any text. The fields are OpenAI's
// `response_format`, vLLM's `structured_outputs` (and its older guided_json, guided_regex,
// guided_choice, guided_grammar) and llama.cpp's `json_schema` and `grammar`; at most one of them.
// What is wrong with them is kept in `fields`; a schema is looked at later (Constraints).
std::optional<engine::ResponseFormat> read_response_format(JsonFields& fields);

// An answer in the stages of a manifest, which is looked at later, too. `name` is the field that it
// came with.
engine::ResponseFormat stages_of(const Json& manifest, std::string_view name);

}  // namespace anemone::serve::openai
