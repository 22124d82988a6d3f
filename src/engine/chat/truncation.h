// SPDX-License-Identifier: Apache-2.0
// What becomes of a prompt that is longer than the context.
#pragma once

#include <anemone/status.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/work_budget.h"
#include "engine/chat/conversation.h"
#include "engine/model/model.h"

namespace anemone::engine {

enum class Truncation {
  kError,       // nothing: the request fails
  kDropOldest,  // the oldest turns of a chat go; the system messages at its beginning stay
  kSliding,     // the first tokens go, but for those that the tokenizer puts before every text
};
// "error", "drop_oldest", "sliding", and what OpenAI calls the first two: "disabled", "auto".
// kInvalidArgument for another name.
Result<Truncation> parse_truncation(std::string_view name);

struct FittedPrompt : ChatPrompt {
  std::int64_t dropped = 0;        // tokens that the whole prompt has and this one has not
  std::int64_t dropped_turns = 0;  // by fit_chat_prompt()
};

// The longest prompt that leaves room for an answer: of `max_tokens` where they are said, else of a
// quarter of the context; at most of half of it.
std::int64_t prompt_limit(const Model& model, std::optional<std::int64_t> max_tokens);

// The prompt of as many of the last turns as fit into `limit` tokens; a turn begins with a message
// of the user. The last turn stays, whether it fits or not. The errors are those of chat_prompt().
// It renders the chat a few times (a binary search), all of which the budget pays for.
Result<FittedPrompt> fit_chat_prompt(const Model& model, const Json& messages,
                                     const Json& variables, std::int64_t limit, WorkBudget* budget);

// The prompt without as many of its first tokens as are beyond `limit`. The model has a tokenizer.
Result<FittedPrompt> slide_prompt(const Model& model, std::vector<std::int32_t> ids,
                                  std::int64_t limit);

}  // namespace anemone::engine
