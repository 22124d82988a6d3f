// SPDX-License-Identifier: Apache-2.0
// What may be wrong with the texts and ids that a client sends, as the errors that it gets.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/work_budget.h"
#include "engine/model/model.h"
#include "serve/openai/error.h"
#include "serve/openai/request.h"

namespace anemone::serve {

// A prompt that the model cannot take; `field` is where the client gave it.
std::optional<openai::ApiError> check_prompt(const engine::Model& model,
                                             std::span<const std::int32_t> ids, const char* field);

// Whatever is wrong with a prompt is wrong with the request.
openai::ApiError prompt_error(const Status& status, const char* field);

// Puts the tools of a chat where the model's template takes them. kUnsupported where it takes none.
Status place_tools(const engine::Model& model, openai::ChatRequest& request);

// The ids of a text, with the special tokens that the tokenizer adds, or the ids themselves, which
// are moved from. kUnsupported for a text and a model without a tokenizer.
Result<std::vector<std::int32_t>> prompt_ids(const engine::Model& model, openai::Prompt& prompt,
                                             WorkBudget& budget);

}  // namespace anemone::serve
