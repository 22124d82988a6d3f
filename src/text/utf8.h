// SPDX-License-Identifier: Apache-2.0
// Decodes UTF-8 as Rust and WHATWG do: each maximal subpart of an ill-formed sequence (Unicode,
// section 3.9) becomes one U+FFFD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace anemone::text {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

struct CodePoint {
  char32_t value;  // U+FFFD when `valid` is false
  int length;      // bytes taken, >= 1
  bool valid;
};

// The code point at `offset` < text.size(). `length` of an ill-formed one is that of its maximal
// subpart.
CodePoint decode_code_point(std::string_view text, std::size_t offset);
void append_utf8(char32_t value, std::string& out);

bool is_valid_utf8(std::string_view text);
// `text` with each invalid sequence replaced by U+FFFD.
std::string replace_invalid_utf8(std::string_view text);

// Length of the longest prefix that does not end inside a sequence which more bytes could complete:
// what may be decoded now without knowing the bytes that follow.
std::size_t complete_utf8_prefix(std::string_view text);

// Start of the last character of the non-empty valid `text`.
std::size_t last_character(std::string_view text);

std::size_t count_code_points(std::string_view valid_text);

}  // namespace anemone::text
