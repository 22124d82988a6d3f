// SPDX-License-Identifier: Apache-2.0
// Character classes and normal forms of Unicode (data of utf8proc, version 14 or later).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace anemone::text {

// Property White_Space: Rust's char::is_whitespace, \s of Oniguruma and of Rust's regex.
bool is_white_space(char32_t value);
// General categories Nd, Nl, No: Rust's char::is_numeric.
bool is_numeric(char32_t value);
// \w of Rust's regex: Alphabetic, M, Nd, Pc, Join_Control.
bool is_word_character(char32_t value);

// The bytes of white space that valid UTF-8 `text` begins with.
std::size_t leading_space_bytes(std::string_view text);
// The begin of the white space at the end of text[floor..]; `floor` is the start of a character.
std::size_t trailing_space_begin(std::string_view text, std::size_t floor);

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };
// Whether `text` is in the form already, as far as a quick look tells: all texts in ASCII are.
bool is_surely_normal(std::string_view text, NormalForm form);
// `text` must be valid UTF-8. Linear in the text, except for runs of combining marks: n log n.
// Takes up to normal_form_bytes() of memory for one of the text, the result included.
std::string normalize_unicode(std::string_view text, NormalForm form);

std::size_t normal_form_bytes(NormalForm form);

// Full lower case of each character on its own (no final sigma): Rust's char::to_lowercase.
std::string to_lower(std::string_view text);
// Simple upper case of each character, with sharp s as "SS" as in Python.
std::string to_upper(std::string_view text);

}  // namespace anemone::text
