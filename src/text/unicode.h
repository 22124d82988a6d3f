// SPDX-License-Identifier: Apache-2.0
// Character classes and normal forms of Unicode (data of utf8proc, version 14 or later).
#pragma once

#include <string>
#include <string_view>

namespace anemone::text {

// Property White_Space: Rust's char::is_whitespace, \s of Oniguruma and of Rust's regex.
bool is_white_space(char32_t value);
// General categories Nd, Nl, No: Rust's char::is_numeric.
bool is_numeric(char32_t value);
// \w of Rust's regex: Alphabetic, M, Nd, Pc, Join_Control.
bool is_word_character(char32_t value);

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };
// `text` must be valid UTF-8. Linear in the text, except for runs of combining marks: n log n.
std::string normalize_unicode(std::string_view text, NormalForm form);

// Full lower case of each character on its own (no final sigma): Rust's char::to_lowercase.
std::string to_lower(std::string_view text);
// Simple upper case of each character, with sharp s as "SS" as in Python.
std::string to_upper(std::string_view text);

}  // namespace anemone::text
