// SPDX-License-Identifier: Apache-2.0
#include "cli/word_wrap.h"

#include <algorithm>
#include <utility>

#include "base/terminal.h"

namespace anemone::cli {
namespace {

constexpr int kTab = 8;
constexpr int kFence = 3;

// Bytes of the first character of a text in UTF-8.
std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  return std::min(length, text.size());
}

// Lines may be broken on both sides of the characters from U+3000 on, which take three bytes or
// more.
bool is_word_of_its_own(std::string_view character) {
  return static_cast<unsigned char>(character.front()) >= 0xe3;
}

}  // namespace

void WordWrap::show(std::string_view text, std::string& out) {
  out += text;
  column_ += columns_of(text);
}

void WordWrap::end_line(std::string& out) {
  place_word(out);
  // Where they do not fit, the terminal would show an empty line.
  const std::optional<int> columns = columns_();
  if (!columns || column_ + columns_of(spaces_) <= *columns) out += spaces_;
  spaces_.clear();
  column_ = 0;
  ticks_ = 0;
  is_line_begin_ = true;
  is_long_ = false;
}

void WordWrap::place_word(std::string& out) {
  if (word_.empty()) return;
  const int width = columns_of(word_);
  if (const std::optional<int> columns = columns_()) {
    // Behind what the terminal has broken.
    if (column_ > *columns) column_ = (column_ - 1) % *columns + 1;
    if (column_ > 0 && width <= *columns && column_ + columns_of(spaces_) + width > *columns) {
      out += '\n';
      column_ = 0;
      spaces_.clear();
    }
  }
  show(std::exchange(spaces_, std::string()), out);
  show(std::exchange(word_, std::string()), out);
}

void WordWrap::add_character(std::string_view character, std::string& out) {
  const char first = character.front();
  if (first == '\n') {
    end_line(out);
    out += '\n';
    return;
  }
  if (is_line_begin_ && first == '`' && ++ticks_ == kFence) is_code_ = !is_code_;
  if (first != ' ' && first != '`') is_line_begin_ = false;
  const bool is_space = first == ' ' || first == '\t';
  if (is_code_ || (is_long_ && !is_space)) {
    place_word(out);
    show(std::exchange(spaces_, std::string()), out);
    show(character, out);
    return;
  }
  if (is_space) {
    place_word(out);
    is_long_ = false;
    if (first == ' ') {
      spaces_ += ' ';
      return;
    }
    show(std::exchange(spaces_, std::string()), out);
    out += '\t';
    column_ = (column_ / kTab + 1) * kTab;
  } else if (is_word_of_its_own(character)) {
    place_word(out);
    word_ = character;
    place_word(out);
  } else {
    word_ += character;
    const std::optional<int> columns = columns_();
    if (!columns || columns_of(word_) <= *columns) return;
    place_word(out);
    is_long_ = true;
  }
}

std::string WordWrap::add(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    add_character(text.substr(0, length), out);
    text.remove_prefix(length);
  }
  return out;
}

std::string WordWrap::finish() {
  std::string out;
  end_line(out);
  is_code_ = false;
  return out;
}

}  // namespace anemone::cli
