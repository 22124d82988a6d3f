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

// Gives a name as errors show it, shortened() to 100 bytes: templates may have names of megabytes,
// and errors are kept.
std::string shown(std::string_view name);

// `characters` nullopt: white space.
std::string_view strip(std::string_view text, const std::optional<std::string>& characters,
                       bool left, bool right);
// What strip() costs at most (limits.h).
std::size_t strip_cost(std::string_view text, const std::optional<std::string>& characters);
// How often replace() finds `from`.
std::size_t count_places(std::string_view text, std::string_view from);
// Replaces `from` by `to` at most `most` times; a negative number replaces all.
std::string replace(std::string_view text, std::string_view from, std::string_view to, long most);
// The parts of a text, as views of it; nullopt for more than `limit`.
using Parts = std::optional<std::vector<std::string_view>>;
// str.split(): at runs of white space.
Parts split_words(std::string_view text, long most, std::size_t limit);
// str.split(separator); separator is not empty.
Parts split_at(std::string_view text, std::string_view separator, long most, std::size_t limit);
Parts split_at_from_right(std::string_view text, std::string_view separator, long most,
                          std::size_t limit);
Parts split_lines(std::string_view text, bool keep_ends, std::size_t limit);
// The first character in upper case, the others in lower case.
std::string capitalize(std::string_view text);
// capitalize() of each word; a character for which `is_boundary` holds starts a new one.
std::string title(std::string_view text, const std::function<bool(char32_t)>& is_boundary);

}  // namespace anemone::text::jinja
