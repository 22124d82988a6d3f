// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/text_tools.h"

#include <algorithm>

#include "base/escape.h"
#include "text/jinja/limits.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace anemone::text::jinja {
namespace {

// Python's str.isspace: White_Space and the separators 1C to 1F.
bool is_space(char32_t value) {
  return is_white_space(value) || (value >= 0x1C && value <= 0x1F);
}

std::vector<char32_t> code_points(std::string_view text) {
  std::vector<char32_t> points;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_code_point(text, i);
    points.push_back(point.value);
    i += static_cast<std::size_t>(point.length);
  }
  return points;
}

bool is_line_end(char32_t value) {
  return (value >= 0xA && value <= 0xD) || (value >= 0x1C && value <= 0x1E) || value == 0x85 ||
         value == 0x2028 || value == 0x2029;
}

}  // namespace

std::string shown(std::string_view name) {
  constexpr std::size_t kMaxBytes = 100;
  return shortened(name, kMaxBytes);
}

std::string_view strip(std::string_view text, const std::optional<std::string>& characters,
                       bool left, bool right) {
  const std::vector<char32_t> set = code_points(characters.value_or(""));
  const auto is_member = [&](char32_t value) {
    return characters ? std::find(set.begin(), set.end(), value) != set.end() : is_space(value);
  };
  if (left) {
    while (!text.empty()) {
      const CodePoint point = decode_code_point(text, 0);
      if (!is_member(point.value)) break;
      text.remove_prefix(static_cast<std::size_t>(point.length));
    }
  }
  while (right && !text.empty()) {
    std::size_t at = text.size() - 1;
    while (at > 0 && (text[at] & 0xC0) == 0x80) --at;
    if (!is_member(decode_code_point(text, at).value)) break;
    text = text.substr(0, at);
  }
  return text;
}

std::size_t strip_cost(std::string_view text, const std::optional<std::string>& characters) {
  const std::size_t set = characters ? characters->size() : 0;
  return set * cost::kCharacter + text.size() * (cost::kCharacter + set);
}

std::size_t count_places(std::string_view text, std::string_view from) {
  if (from.empty()) return count_code_points(text) + 1;
  std::size_t count = 0;
  for (auto at = text.find(from); at != text.npos; at = text.find(from, at + from.size())) ++count;
  return count;
}

std::string replace(std::string_view text, std::string_view from, std::string_view to, long most) {
  std::string out;
  std::size_t at = 0;
  for (long count = 0; most < 0 || count < most; ++count) {
    if (from.empty()) {
      // Python puts `to` before each character and at the end.
      out += to;
      if (at >= text.size()) break;
      const auto length = static_cast<std::size_t>(decode_code_point(text, at).length);
      out += text.substr(at, length);
      at += length;
      continue;
    }
    const auto found = text.find(from, at);
    if (found == text.npos) break;
    out += text.substr(at, found - at);
    out += to;
    at = found + from.size();
  }
  out += text.substr(at);
  return out;
}

Parts split_words(std::string_view text, long most, std::size_t limit) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  const auto skip = [&](bool space) {
    while (at < text.size()) {
      const CodePoint point = decode_code_point(text, at);
      if (is_space(point.value) != space) break;
      at += static_cast<std::size_t>(point.length);
    }
  };
  for (skip(true); at < text.size(); skip(true)) {
    if (words.size() >= limit) return std::nullopt;
    const std::size_t begin = at;
    if (most >= 0 && static_cast<long>(words.size()) >= most) {
      words.push_back(text.substr(begin));
      break;
    }
    skip(false);
    words.push_back(text.substr(begin, at - begin));
  }
  return words;
}

Parts split_at(std::string_view text, std::string_view separator, long most, std::size_t limit) {
  std::vector<std::string_view> parts;
  std::size_t at = 0;
  while (most < 0 || static_cast<long>(parts.size()) < most) {
    if (parts.size() >= limit) return std::nullopt;
    const auto found = text.find(separator, at);
    if (found == text.npos) break;
    parts.push_back(text.substr(at, found - at));
    at = found + separator.size();
  }
  parts.push_back(text.substr(at));
  return parts;
}

Parts split_at_from_right(std::string_view text, std::string_view separator, long most,
                          std::size_t limit) {
  std::vector<std::string_view> parts;
  while (most < 0 || static_cast<long>(parts.size()) < most) {
    if (parts.size() >= limit) return std::nullopt;
    const auto found = text.rfind(separator);
    if (found == text.npos) break;
    parts.push_back(text.substr(found + separator.size()));
    text = text.substr(0, found);
  }
  parts.push_back(text);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

Parts split_lines(std::string_view text, bool keep_ends, std::size_t limit) {
  std::vector<std::string_view> lines;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_code_point(text, i);
    const std::size_t end = i;
    i += static_cast<std::size_t>(point.length);
    if (!is_line_end(point.value)) continue;
    if (lines.size() >= limit) return std::nullopt;
    if (point.value == '\r' && i < text.size() && text[i] == '\n') ++i;
    lines.push_back(text.substr(begin, (keep_ends ? i : end) - begin));
    begin = i;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

std::string capitalize(std::string_view text) {
  if (text.empty()) return {};
  const auto first = static_cast<std::size_t>(decode_code_point(text, 0).length);
  return to_upper(text.substr(0, first)) + to_lower(text.substr(first));
}

std::string title(std::string_view text, const std::function<bool(char32_t)>& is_boundary) {
  std::string out;
  bool start = true;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_code_point(text, i);
    const std::string_view character = text.substr(i, static_cast<std::size_t>(point.length));
    i += character.size();
    out += start ? to_upper(character) : to_lower(character);
    start = is_boundary(point.value);
  }
  return out;
}

}  // namespace anemone::text::jinja
