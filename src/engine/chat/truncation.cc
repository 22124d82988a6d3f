// SPDX-License-Identifier: Apache-2.0
#include "engine/chat/truncation.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/escape.h"
#include "engine/session/sequence.h"

namespace anemone::engine {
namespace {

bool has_role(const Json& message, const char* role) {
  const Json* value = json_member(message, "role");
  return value != nullptr && *value == role;
}

// The first `head` messages, and those from `begin` on.
Json without_turns(const Json& messages, std::size_t head, std::size_t begin) {
  Json out = Json::array();
  for (std::size_t i = 0; i < messages.size(); ++i)
    if (i < head || i >= begin) out.push_back(messages[i]);
  return out;
}

}  // namespace

Result<Truncation> parse_truncation(std::string_view name) {
  if (name == "error" || name == "disabled") return Truncation::kError;
  if (name == "drop_oldest" || name == "auto") return Truncation::kDropOldest;
  if (name == "sliding") return Truncation::kSliding;
  return invalid_argument("[truncation] expected error, drop_oldest or sliding, got \"{}\"",
                          shortened(name, 60));
}

std::int64_t prompt_limit(const Model& model, std::optional<std::int64_t> max_tokens) {
  const std::int64_t context = model.context();
  const bool is_limited = max_tokens && *max_tokens >= 0;
  return context - std::min(is_limited ? *max_tokens : context / 4, context / 2);
}

Result<FittedPrompt> fit_chat_prompt(const Model& model, const Json& messages,
                                     const Json& variables, std::int64_t limit,
                                     WorkBudget* budget) {
  FittedPrompt out;
  ChatPrompt& prompt = out;
  ANEMONE_ASSIGN_OR_RETURN(prompt, make_chat_prompt(model, messages, variables, budget));
  const std::int64_t whole = std::ssize(out.ids);
  if (whole <= limit) return out;

  std::size_t head = 0;
  while (head < messages.size() && has_role(messages[head], "system")) ++head;
  std::vector<std::size_t> begins;  // of the turns after the first one
  for (std::size_t i = head + 1; i < messages.size(); ++i)
    if (has_role(messages[i], "user")) begins.push_back(i);
  if (begins.empty()) return out;
  // Fewer turns are fewer tokens, so the first begin that fits is searched by halves; where none
  // does, the last one is left.
  std::size_t low = 0, high = begins.size() - 1;
  std::optional<std::size_t> rendered;
  while (rendered != high || low < high) {
    const std::size_t middle = (low + high) / 2;
    ANEMONE_ASSIGN_OR_RETURN(
        prompt,
        make_chat_prompt(model, without_turns(messages, head, begins[middle]), variables, budget));
    rendered = middle;
    if (std::ssize(out.ids) <= limit)
      high = middle;
    else
      low = std::min(middle + 1, high);
  }
  out.dropped = std::max<std::int64_t>(0, whole - std::ssize(out.ids));
  out.dropped_turns = static_cast<std::int64_t>(high) + 1;
  return out;
}

Result<FittedPrompt> slide_prompt(const Model& model, std::vector<std::int32_t> ids,
                                  std::int64_t limit) {
  FittedPrompt out;
  out.dropped = std::max<std::int64_t>(0, std::ssize(ids) - limit);
  if (out.dropped > 0) {
    // A model that has only seen texts with a begin-of-text token needs it.
    ANEMONE_ASSIGN_OR_RETURN(const auto around,
                             model.tokenizer()->encode("", {.add_special = true}));
    const auto kept = std::min(common_prefix(around, ids), limit - 1);
    ids.erase(ids.begin() + kept, ids.begin() + kept + out.dropped);
  }
  out.ids = std::move(ids);
  return out;
}

}  // namespace anemone::engine
