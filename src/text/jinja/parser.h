// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <string_view>

#include "text/jinja/ast.h"

namespace anemone::text::jinja {

// Expressions and statements nested deeper than this are refused.
inline constexpr int kMaxTreeHeight = 200;

// Longer templates are refused: a tree takes a hundred times the memory of its text.
inline constexpr std::size_t kMaxTemplateBytes = 2U << 20;

// kParseError names the line. Unknown filters and tests are errors here, as in Jinja2; include,
// import and extends are kUnsupported: a chat template is one file.
Result<Block> parse_template(std::string_view source);

}  // namespace anemone::text::jinja
