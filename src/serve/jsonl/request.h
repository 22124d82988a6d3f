// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/json_release.h"
#include "base/work_budget.h"
#include "engine/generation/text_request.h"
#include "serve/model_choice.h"

namespace anemone::serve::jsonl {

inline constexpr std::size_t kMaxStops = 16;  // stop strings of a request

// One line, decoded. Pure: no model is needed.
struct Request : engine::TextRequest, ModelChoice {
  using Ids = std::vector<std::int32_t>;
  struct Text {
    std::string text;
  };
  struct Messages {
    explicit Messages(Json list) : messages(std::move(list)) {}
    Messages(Messages&&) = default;
    Messages& operator=(Messages&& other) noexcept {
      messages.swap(other.messages);
      return *this;
    }
    ~Messages() { release_json(messages); }
    Json messages;
  };
  // The request asks for the description of a model, not for a text.
  struct Describe {
    std::string model;
  };
  std::variant<Ids, Text, Messages, Describe> prompt;
  bool has_reset = true;
  bool is_streamed = false;
  bool is_token_form = false;  // {"tokens", "max_tokens"}, which has an answer of its own
};

// kParseError for what is no JSON, kInvalidArgument for a field that is wrong. The budget of the
// request may be null.
Result<Request> parse_request(std::string_view line, WorkBudget* budget = nullptr);

}  // namespace anemone::serve::jsonl
