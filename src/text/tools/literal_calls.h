// SPDX-License-Identifier: Apache-2.0
// Calls whose arguments are literals of a notation other than JSON, as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace anemone::text {

// Names and the texts of the JSON objects of their arguments.
using LiteralCalls = std::vector<std::pair<std::string, std::string>>;

// [f(a="text", b=1), g()] as in Python, or the same calls as JSON objects. Values are numbers,
// strings, True, False, None (or as JSON has them), lists, tuples and dictionaries with string
// keys. nullopt for anything else, and beyond 32 levels of nesting.
std::optional<LiteralCalls> python_calls(std::string_view text);

// call:f{a:<|"|>text<|"|>,b:1}: values are also true, false, null, [lists] and {objects}. nullopt
// for anything else, and beyond 32 levels of nesting.
std::optional<LiteralCalls> gemma_calls(std::string_view text);

}  // namespace anemone::text
