// SPDX-License-Identifier: Apache-2.0
// Python's text operations that both methods and filters need. All texts are valid UTF-8.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anemone::text::jinja {

// `characters` nullopt: white space.
std::string strip(std::string_view text, const std::optional<std::string>& characters, bool left,
                  bool right);
// At most `most` replacements; negative: all.
std::string replace(std::string_view text, std::string_view from, std::string_view to, long most);
// str.split(): at runs of white space.
std::vector<std::string> split_words(std::string_view text, long most);
// str.split(separator); separator is not empty.
std::vector<std::string> split_at(std::string_view text, std::string_view separator, long most);
std::vector<std::string> split_at_from_right(std::string_view text, std::string_view separator,
                                             long most);
std::vector<std::string> split_lines(std::string_view text, bool keep_ends);
// The first character in upper case, the others in lower case.
std::string capitalize(std::string_view text);
// capitalize() of each word; a character for which `is_boundary` holds starts a new one.
std::string title(std::string_view text, const std::function<bool(char32_t)>& is_boundary);

}  // namespace anemone::text::jinja
