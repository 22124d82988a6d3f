// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace anemone::ir {

struct Token {
  enum class Kind { kEnd, kName, kNumber, kString, kSymbol };
  Kind kind = Kind::kEnd;
  std::string_view text;  // as written; of a string with its quotes
  std::size_t offset = 0;

  bool is(char symbol) const {
    return kind == Kind::kSymbol && text.size() == 1 && text[0] == symbol;
  }
};

// Splits MIL text into tokens, one ahead. Skips white space and // comments. Single-thread; the
// text outlives it.
class Lexer {
 public:
  Lexer(std::string_view text, std::string_view subject) : text_(text), subject_(subject) {}

  // Reads the first token; kParseError when the text starts with none.
  Status start() { return advance(); }
  const Token& token() const { return token_; }
  // Moves on to the next token.
  Status advance();
  // The first character after the current token and white space: enough to tell `fp16(` from a
  // name.
  char next_character() const;

  // "[subject:line:column] expected X, got Y", at the current token.
  Status expected(std::string_view what) const;
  Status error_at(std::size_t offset, std::string_view message) const;

 private:
  std::size_t skip_space(std::size_t offset) const;
  Status scan_string();
  void scan_number();

  std::string_view text_;
  std::string_view subject_;
  Token token_;
  std::size_t end_ = 0;  // of the current token
};

// The text of a string token without quotes and escapes; nullopt-like errors are the lexer's: it
// accepted only well-formed strings.
std::string unquote(std::string_view token);

}  // namespace anemone::ir
