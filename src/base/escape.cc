// SPDX-License-Identifier: Apache-2.0
#include "base/escape.h"

#include <cstdint>
#include <fmt/format.h>

namespace anemone {
namespace {

// Length of the UTF-8 character at `at`, 0 when it is none; `point` receives it.
std::size_t decode_character(std::string_view text, std::size_t at, std::uint32_t& point) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80             ? 1
                             : (first & 0xe0) == 0xc0 ? 2
                             : (first & 0xf0) == 0xe0 ? 3
                             : (first & 0xf8) == 0xf0 ? 4
                                                      : 0;
  if (length <= 1) {
    point = first;
    return length;
  }
  point = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    point = point << 6 | (byte(i) & 0x3f);
  }
  static constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = point >= 0xd800 && point < 0xe000;
  return point < kLeast[length] || point > 0x10ffff || is_surrogate ? 0 : length;
}

// Characters that move the cursor, break the line or turn the direction of writing.
bool is_control(std::uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0x200b && point <= 0x200f) ||
         (point >= 0x2028 && point <= 0x202e) || (point >= 0x2060 && point <= 0x2069) ||
         point == 0xfeff;
}

enum class EscapeForm { kLine, kLines, kJson };

// Appends the character or the escape at `at`, and returns its length in `text`.
std::size_t append_escaped(std::string_view text, std::size_t at, EscapeForm form,
                           std::string& out) {
  std::uint32_t point = 0;
  const std::size_t length = decode_character(text, at, point);
  const bool is_json = form == EscapeForm::kJson;
  if (length == 0) {
    // dump_json() leaves none in JSON.
    out += is_json ? "\\ufffd" : fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
    return 1;
  }
  const bool is_space = point == '\n' || point == '\t';
  if (!is_control(point) || (is_space && form != EscapeForm::kLine))
    out += text.substr(at, length);
  else if (is_json)
    out += fmt::format("\\u{:04x}", point);
  else if (point == '\n')
    out += "\\n";
  else if (point == '\t')
    out += "\\t";
  else
    out += point < 0x80 ? fmt::format("\\x{:02x}", point) : fmt::format("\\u{{{:x}}}", point);
  return length;
}

std::string escaped_as(std::string_view text, EscapeForm form) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) i += append_escaped(text, i, form, out);
  return out;
}

}  // namespace

std::string escaped(std::string_view text) {
  return escaped_as(text, EscapeForm::kLine);
}

std::string escaped_lines(std::string_view text) {
  return escaped_as(text, EscapeForm::kLines);
}

std::string escaped_json(std::string_view json) {
  return escaped_as(json, EscapeForm::kJson);
}

std::size_t printable_length(std::string_view text) {
  std::uint32_t point = 0;
  const std::size_t length = decode_character(text, 0, point);
  return length == 0 || is_control(point) ? 0 : length;
}

std::vector<std::string> escaped_pieces(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < text.size();)
    i += append_escaped(text, i, EscapeForm::kLine, out.emplace_back());
  return out;
}

std::string shortened(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace anemone
