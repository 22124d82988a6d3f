// SPDX-License-Identifier: Apache-2.0
#include "base/terminal.h"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

#include "base/environment.h"
#include "base/escape.h"

namespace anemone {
namespace {

constexpr int kDefaultColumns = 80;
constexpr std::string_view kCut = "...";
// The first character that terminals draw in two columns (Hangul); few after it take one.
constexpr unsigned kFirstWide = 0x1100;

ColorMode color_mode = ColorMode::kAuto;

// The code point of a character in valid UTF-8.
unsigned code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (first < 0x80) return first;
  unsigned value = first & (first >= 0xf0 ? 0x07U : first >= 0xe0 ? 0x0fU : 0x1fU);
  for (const char byte : character.substr(1))
    value = value << 6U | (static_cast<unsigned char>(byte) & 0x3fU);
  return value;
}

std::string_view sequence_of(Style style) {
  switch (style) {
    case Style::kBold:
      return "1";
    case Style::kDim:
      return "2";
    case Style::kError:
      return "1;31";
    case Style::kGood:
      return "32";
    case Style::kAccent:
      return "36";
  }
  return "0";
}

}  // namespace

bool write_text(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::optional<int> terminal_columns(int descriptor) {
  if (::isatty(descriptor) != 1) return std::nullopt;
  return stated_columns(descriptor).value_or(kDefaultColumns);
}

std::optional<int> stated_columns(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

int columns_of(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    // A byte that is no character is one column of its own.
    const std::size_t length = std::max<std::size_t>(1, printable_length(text));
    columns += code_point(text.substr(0, length)) >= kFirstWide ? 2 : 1;
    text.remove_prefix(length);
  }
  return columns;
}

std::string fitted(std::string_view text, int columns) {
  const std::vector<std::string> pieces = escaped_pieces(text);
  int all = 0;
  for (const std::string& piece : pieces) all += columns_of(piece);
  const bool is_cut = all > columns;
  const int room = is_cut ? columns - static_cast<int>(kCut.size()) : columns;
  std::string out;
  int used = 0;
  for (const std::string& piece : pieces) {
    used += columns_of(piece);
    if (used > room) break;
    out += piece;
  }
  if (is_cut && columns >= static_cast<int>(kCut.size())) out += kCut;
  return out;
}

void set_color_mode(ColorMode mode) {
  color_mode = mode;
}

bool has_color(int descriptor) {
  if (color_mode != ColorMode::kAuto) return color_mode == ColorMode::kAlways;
  return ::isatty(descriptor) == 1 && !environment_variable("NO_COLOR") &&
         environment_variable("TERM").value_or("dumb") != "dumb";
}

std::string styled(std::string_view text, Style style, int descriptor) {
  if (!has_color(descriptor)) return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", sequence_of(style), text);
}

}  // namespace anemone
