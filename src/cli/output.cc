// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <cerrno>
#include <cstdio>
#include <fmt/format.h>
#include <iterator>
#include <vector>

#include "base/error.h"

namespace anemone::cli {
namespace {

constexpr std::size_t kMaxLine = 400;
constexpr std::string_view kPrefix = "anemone: ";
constexpr std::string_view kGap = " ... ";

bool is_closed = false;

// Length of the UTF-8 character at `at`, 0 when it is none; `point` receives it.
std::size_t decode(std::string_view text, std::size_t at, std::uint32_t& point) {
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

// The text in pieces that must not be cut: a character, or an escape.
std::vector<std::string> pieces_of(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < text.size();) {
    std::uint32_t point = 0;
    const std::size_t length = decode(text, i, point);
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

}  // namespace

bool stdout_is_closed() {
  return is_closed;
}

Status print_out(std::string_view text) {
  if (is_closed) return io_error("[stdout] is closed");
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return {};
  is_closed = errno == EPIPE;
  return errno_error("stdout", "write");
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const std::string& piece : pieces_of(text)) out += piece;
  return out;
}

std::string error_line(std::string_view message) {
  // Far more than fits; keeps a huge message from costing anything.
  constexpr std::size_t kMostRead = 1 << 16;
  std::vector<std::string> pieces = pieces_of(message.substr(0, kMostRead));
  std::size_t size = kPrefix.size();
  for (const std::string& piece : pieces) size += piece.size();
  std::string line(kPrefix);
  if (size <= kMaxLine) {
    for (const std::string& piece : pieces) line += piece;
    return line + '\n';
  }
  // The subject stands at the start and the place at the end, so the middle goes.
  const std::size_t room = kMaxLine - kPrefix.size() - kGap.size();
  std::string tail;
  std::size_t last = pieces.size();
  while (last > 0 && tail.size() + pieces[last - 1].size() <= room / 3)
    tail.insert(0, pieces[--last]);
  std::size_t first = 0;
  std::string head;
  while (first < last && head.size() + pieces[first].size() <= room - tail.size())
    head += pieces[first++];
  return line.append(head).append(kGap).append(tail) + '\n';
}

}  // namespace anemone::cli
