// SPDX-License-Identifier: Apache-2.0
// Character classes and normal forms of Unicode: the data of utf8proc (Unicode 15.0 or later),
// corrected to the versions that Hugging Face's tokenizers use (unicode_versions.h).
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
// Where the white space begins that ends `text`; at least `floor`, which is the start of a
// character.
std::size_t trailing_space_begin(std::string_view text, std::size_t floor);

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };
// A quick test that may miss: true means that `text` is in the form already, as every text in ASCII
// is; false means nothing.
bool is_surely_normal(std::string_view text, NormalForm form);
// `text` must be valid UTF-8. Takes time in proportion to the text, but n log n for a run of n
// combining marks. Takes at most text.size() * normal_form_bytes(form) bytes of memory, the result
// included.
std::string normalize_unicode(std::string_view text, NormalForm form);
// The most bytes of memory that normalize_unicode() takes for each byte of its text.
std::size_t normal_form_bytes(NormalForm form);

// Full lower case of each character on its own (no final sigma): Rust's char::to_lowercase.
std::string to_lower(std::string_view text);
// Simple upper case of each character, with sharp s as "SS" as in Python.
std::string to_upper(std::string_view text);

}  // namespace anemone::text
