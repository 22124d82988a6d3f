// SPDX-License-Identifier: Apache-2.0
// One line of the --stdin-jsonl forms of `tokenize` and `chat-template`. It never fails: an error
// of a request is answered with {"error": "..."}.
#pragma once

#include "base/json.h"
#include "text/chat/chat_template.h"
#include "text/tokenizer/tokenizer.h"

namespace anemone::text {

// {"text", "add_special": false, "parse_special": true} -> {"ids", "text": the decoded ids}.
Json tokenize_line(const Tokenizer& tokenizer, const Json& request);

// {"messages", "tools", "add_generation_prompt": false, "kwargs": {...}, "now":
// "2025-01-15T12:34:56"}
// -> {"text"}. The members of kwargs become variables of the template.
Json render_line(const ChatTemplate& chat_template, const Json& request);

}  // namespace anemone::text
