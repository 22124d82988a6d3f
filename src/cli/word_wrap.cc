// SPDX-License-Identifier: Apache-2.0
#include "cli/word_wrap.h"

#include <utility>

#include "base/terminal.h"
#include "text/utf8.h"

namespace anemone::cli {
namespace {

constexpr int kTab = 8;
constexpr int kFence = 3;

// Lines may be broken on both sides of these characters: those of East Asian scripts, and what
// follows them in Unicode.
bool is_word_of_its_own(std::string_view character) {
  constexpr char32_t kFirst = 0x3000;
  return text::decode_code_point(character, 0).value >= kFirst;
}

}  // namespace

void WordWrap::show(std::string_view text, std::string& out) {
  out += text;
  column_ += columns_of(text);
}

void WordWrap::end_line(std::string& out) {
  place_word(out);
  // Spaces that do not fit are left out: the terminal would show an empty line.
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
    // The terminal has broken what is longer than a line.
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

std::string WordWrap::add(std::string_view piece) {
  std::string out;
  while (!piece.empty()) {
    const auto length = static_cast<std::size_t>(text::decode_code_point(piece, 0).length);
    add_character(piece.substr(0, length), out);
    piece.remove_prefix(length);
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
