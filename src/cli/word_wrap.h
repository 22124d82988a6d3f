// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace anemone::cli {

// Breaks the lines of a text between words, while the text comes piece by piece. A word that does
// not fit into the rest of the line begins a new one, and the spaces before it are left out.
// Characters of East Asian scripts are words of their own. The terminal breaks a word that is
// longer than a line, and the lines of a code block (between lines that begin with ```), which stay
// as they are, so that they can be copied. Single-thread.
class WordWrap {
 public:
  // `columns` gives the width of a line; where that is not known it gives none, and no line is
  // broken. It is asked for each word, since a window may be resized.
  explicit WordWrap(std::function<std::optional<int>()> columns) : columns_(std::move(columns)) {}

  // What can be shown now: all but the last word, which may go on in the next piece. Takes whole
  // characters of UTF-8, and no control characters but line breaks and tabs.
  std::string add(std::string_view piece);
  // The rest; the next text begins a line.
  std::string finish();

 private:
  void add_character(std::string_view character, std::string& out);
  // Puts the word, and the spaces before it, at the end of the line, or into the next one.
  void place_word(std::string& out);
  void show(std::string_view text, std::string& out);
  void end_line(std::string& out);

  const std::function<std::optional<int>()> columns_;
  std::string spaces_;         // before the word
  std::string word_;           // not shown yet
  int column_ = 0;             // where what was shown ends
  int ticks_ = 0;              // backticks at the beginning of the line
  bool is_line_begin_ = true;  // nothing but spaces and ticks was in the line
  bool is_long_ = false;       // the word is longer than a line, and its beginning was shown
  bool is_code_ = false;
};

}  // namespace anemone::cli
