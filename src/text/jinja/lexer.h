// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace anemone::text::jinja {

enum class TokenKind {
  kText,           // between tags, after trimming
  kVariableBegin,  // {{
  kVariableEnd,    // }}
  kBlockBegin,     // {%
  kBlockEnd,       // %}
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd
};

struct Token {
  TokenKind kind;
  std::string text;  // name, operator, content of a string or of a text
  Value value;       // of a number
  int line;
};

// Cuts a template with trim_blocks and lstrip_blocks on, as Hugging Face renders chat templates;
// the last newline is dropped, line ends become \n, comments vanish and raw blocks are text.
// kParseError names the line. Linear.
Result<std::vector<Token>> tokenize_template(std::string_view source);

}  // namespace anemone::text::jinja
