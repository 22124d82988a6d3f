// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/constraint/response_format.h"
#include "text/tools/answer_syntax.h"
#include "text/tools/tool_set.h"

namespace anemone::engine {

// What the answer of a chat has to be: its reasoning, its content and its calls of tools.
struct AnswerForm {
  enum class Calls : std::uint8_t {
    kNone,      // the answer has no calls
    kAllowed,   // it may have some, of any form
    kStrict,    // it may have some, with valid names and arguments: can_be_strict()
    kRequired,  // it is at least one call, with a valid name and arguments
  };

  text::AnswerSyntax syntax;
  bool is_in_reasoning = false;          // the prompt has begun the reasoning
  std::optional<ResponseFormat> format;  // of the content; none: any text
  Calls calls = Calls::kNone;
  // Those that may be called; set unless `calls` is kNone.
  std::shared_ptr<const text::ToolSet> tools;
  bool is_parallel = true;  // false: at most one call

  // Whether anything but free text is asked for.
  bool is_constrained() const {
    return format.has_value() || calls == Calls::kStrict || calls == Calls::kRequired;
  }
};

}  // namespace anemone::engine
