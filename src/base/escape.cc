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

}  // namespace

std::vector<std::string> escaped_pieces(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < text.size();) {
    std::uint32_t point = 0;
    const std::size_t length = decode_character(text, i, point);
    if (length == 0) {
      out.push_back(fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i++])));
      continue;
    }
    if (!is_control(point))
      out.emplace_back(text.substr(i, length));
    else if (point == '\n')
      out.emplace_back("\\n");
    else if (point == '\t')
      out.emplace_back("\\t");
    else
      out.push_back(point < 0x80 ? fmt::format("\\x{:02x}", point)
                                 : fmt::format("\\u{{{:x}}}", point));
    i += length;
  }
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const std::string& piece : escaped_pieces(text)) out += piece;
  return out;
}

std::string shortened(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return std::string(text);
  std::size_t end = most_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace anemone
