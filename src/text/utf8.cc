// SPDX-License-Identifier: Apache-2.0
#include "text/utf8.h"

#include <algorithm>
#include <simdjson.h>

namespace anemone::text {
namespace {

struct Lead {
  int length;            // 0: cannot start a sequence
  unsigned char lowest;  // range of the second byte
  unsigned char highest;
  char32_t bits;  // of the code point, in this byte
};

Lead classify(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0, byte};
  if (byte >= 0xC2 && byte <= 0xDF) return {2, 0x80, 0xBF, byte & 0x1FU};
  if (byte == 0xE0) return {3, 0xA0, 0xBF, 0};
  if (byte == 0xED) return {3, 0x80, 0x9F, 0xD};
  if (byte >= 0xE1 && byte <= 0xEF) return {3, 0x80, 0xBF, byte & 0xFU};
  if (byte == 0xF0) return {4, 0x90, 0xBF, 0};
  if (byte >= 0xF1 && byte <= 0xF3) return {4, 0x80, 0xBF, byte & 0x7U};
  if (byte == 0xF4) return {4, 0x80, 0x8F, 4};
  return {0, 0, 0, 0};
}

unsigned char byte_at(std::string_view text, std::size_t offset) {
  return static_cast<unsigned char>(text[offset]);
}

}  // namespace

CodePoint decode_code_point(std::string_view text, std::size_t offset) {
  const Lead lead = classify(byte_at(text, offset));
  if (lead.length == 1) return {lead.bits, 1, true};
  if (lead.length == 0) return {0xFFFD, 1, false};
  char32_t value = lead.bits;
  for (int i = 1; i < lead.length; ++i) {
    const std::size_t at = offset + static_cast<std::size_t>(i);
    if (at >= text.size()) return {0xFFFD, i, false};
    const unsigned char byte = byte_at(text, at);
    const unsigned char lowest = i == 1 ? lead.lowest : 0x80;
    const unsigned char highest = i == 1 ? lead.highest : 0xBF;
    if (byte < lowest || byte > highest) return {0xFFFD, i, false};
    value = value << 6 | (byte & 0x3FU);
  }
  return {value, lead.length, true};
}

void append_utf8(char32_t value, std::string& out) {
  if (value < 0x80) {
    out.push_back(static_cast<char>(value));
  } else if (value < 0x800) {
    out.push_back(static_cast<char>(0xC0 | value >> 6));
    out.push_back(static_cast<char>(0x80 | (value & 0x3F)));
  } else if (value < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | value >> 12));
    out.push_back(static_cast<char>(0x80 | (value >> 6 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (value & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xF0 | value >> 18));
    out.push_back(static_cast<char>(0x80 | (value >> 12 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (value >> 6 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (value & 0x3F)));
  }
}

bool is_valid_utf8(std::string_view text) {
  return simdjson::validate_utf8(text.data(), text.size());
}

std::string replace_invalid_utf8(std::string_view text) {
  if (is_valid_utf8(text)) return std::string(text);
  std::string out;
  out.reserve(text.size() + 16);
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_code_point(text, i);
    const auto length = static_cast<std::size_t>(point.length);
    out += point.valid ? text.substr(i, length) : kReplacementCharacter;
    i += length;
  }
  return out;
}

std::size_t complete_utf8_prefix(std::string_view text) {
  // Only the last three bytes can belong to an unfinished sequence.
  const std::size_t first = text.size() > 3 ? text.size() - 3 : 0;
  for (std::size_t i = text.size(); i > first;) {
    --i;
    const unsigned char byte = byte_at(text, i);
    if ((byte & 0xC0) == 0x80) continue;
    const Lead lead = classify(byte);
    if (lead.length <= 1) return text.size();
    const CodePoint point = decode_code_point(text, i);
    const bool reaches_end = i + static_cast<std::size_t>(point.length) == text.size();
    return !point.valid && reaches_end ? i : text.size();
  }
  return text.size();
}

std::size_t last_character(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (text[at] & 0xC0) == 0x80) --at;
  return at;
}

std::size_t count_code_points(std::string_view valid_text) {
  return static_cast<std::size_t>(std::count_if(valid_text.begin(), valid_text.end(),
                                                [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace anemone::text
