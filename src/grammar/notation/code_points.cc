// SPDX-License-Identifier: Apache-2.0
#include "grammar/notation/code_points.h"

#include <algorithm>
#include <fmt/format.h>

#include "text/utf8.h"

namespace anemone::grammar {
namespace {

constexpr char32_t kLast = 0x10FFFF;
constexpr char32_t kFirstSurrogate = 0xD800;
constexpr char32_t kLastSurrogate = 0xDFFF;
constexpr char32_t kLastOfLength[] = {0x7F, 0x7FF, 0xFFFF, kLast};

std::string utf8(char32_t value) {
  std::string out;
  text::append_utf8(value, out);
  return out;
}

// Adds sequences of byte ranges for code points whose encodings have `length` bytes. A range whose
// last bytes are not all free is cut where the bytes before them change.
void add_utf8_range(GrammarBuilder& builder, char32_t low, char32_t high, int length,
                    std::vector<NodeId>& out) {
  for (int free_bytes = 1; free_bytes < length; ++free_bytes) {
    const char32_t free_bits = (char32_t{1} << (6 * free_bytes)) - 1;
    if ((low & ~free_bits) == (high & ~free_bits)) continue;
    if ((low & free_bits) != 0) {
      add_utf8_range(builder, low, low | free_bits, length, out);
      add_utf8_range(builder, (low | free_bits) + 1, high, length, out);
      return;
    }
    if ((high & free_bits) != free_bits) {
      add_utf8_range(builder, low, (high & ~free_bits) - 1, length, out);
      add_utf8_range(builder, high & ~free_bits, high, length, out);
      return;
    }
  }
  const std::string first = utf8(low);
  const std::string last = utf8(high);
  std::vector<NodeId> parts;
  for (std::size_t i = 0; i < first.size(); ++i)
    parts.push_back(builder.bytes(
        ByteSet::range(static_cast<unsigned char>(first[i]), static_cast<unsigned char>(last[i]))));
  out.push_back(builder.sequence(parts));
}

std::string json_escape(char32_t value) {
  switch (value) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return fmt::format("\\u{:04x}", static_cast<unsigned>(value));
  }
}

}  // namespace

CodePointSet escaped_in_json() {
  CodePointSet set;
  set.add(0, 0x1F);
  set.add('"', '"');
  set.add('\\', '\\');
  return set;
}

CodePointSet CodePointSet::all() {
  CodePointSet set;
  set.add(0, kLast);
  return set;
}

void CodePointSet::add(char32_t low, char32_t high) {
  high = std::min(high, kLast);
  if (low < kFirstSurrogate) add_range(low, std::min<char32_t>(high, kFirstSurrogate - 1));
  add_range(std::max<char32_t>(low, kLastSurrogate + 1), high);
}

void CodePointSet::add_range(char32_t low, char32_t high) {
  if (low > high) return;
  // Those that overlap the new one or touch it become one with it.
  auto first =
      std::lower_bound(ranges_.begin(), ranges_.end(), low, [](const auto& range, char32_t value) {
        return range.second < value && value - range.second > 1;
      });
  auto last = first;
  for (; last != ranges_.end() && (last->first <= high || last->first - high == 1); ++last) {
    low = std::min(low, last->first);
    high = std::max(high, last->second);
  }
  ranges_.insert(ranges_.erase(first, last), {low, high});
}

void CodePointSet::add(const CodePointSet& other) {
  for (const auto& [low, high] : other.ranges_) add(low, high);
}

CodePointSet CodePointSet::inverted() const {
  CodePointSet out;
  char32_t next = 0;
  for (const auto& [low, high] : ranges_) {
    if (low > next) out.add(next, low - 1);
    next = high + 1;
  }
  if (next <= kLast) out.add(next, kLast);
  return out;
}

CodePointSet CodePointSet::without(const CodePointSet& other) const {
  CodePointSet outside = inverted();
  outside.add(other);
  return outside.inverted();
}

bool CodePointSet::has(char32_t value) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [value](const auto& range) {
    return range.first <= value && value <= range.second;
  });
}

NodeId one_of(GrammarBuilder& builder, const CodePointSet& set, TextForm form) {
  std::vector<NodeId> alternatives;
  ByteSet one_byte;
  CodePointSet plain = set;
  if (form == TextForm::kWithoutMarks) {
    CodePointSet mark;
    mark.add('<', '<');
    plain = set.without(mark);
  } else if (form == TextForm::kJsonString) {
    std::vector<std::string> escapes;

    const CodePointSet escaped = escaped_in_json();
    plain = set.without(escaped);
    for (const auto& [first, last] : escaped.ranges())
      for (char32_t value = first; value <= last; ++value)
        if (set.has(value)) escapes.push_back(json_escape(value));
    if (!escapes.empty()) alternatives.push_back(builder.literals(std::move(escapes)));
  }
  for (const auto& [low, high] : plain.ranges()) {
    char32_t begin = low;
    for (int length = 1; length <= 4; ++length) {
      const char32_t end = std::min(high, kLastOfLength[length - 1]);
      if (begin > end) continue;
      if (length == 1)
        one_byte.add(static_cast<unsigned>(begin), static_cast<unsigned>(end));
      else
        add_utf8_range(builder, begin, end, length, alternatives);
      begin = end + 1;
    }
  }
  if (!one_byte.empty()) alternatives.push_back(builder.bytes(one_byte));
  return builder.choice(alternatives);
}

std::string in_form(std::string_view text, TextForm form) {
  if (form != TextForm::kJsonString) return std::string(text);
  std::string out;
  for (const char byte : text) {
    const auto value = static_cast<unsigned char>(byte);
    if (value < 0x20 || byte == '"' || byte == '\\')
      out += json_escape(value);
    else
      out.push_back(byte);
  }
  return out;
}

}  // namespace anemone::grammar
