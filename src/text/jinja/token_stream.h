// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/jinja/lexer.h"

namespace anemone::text::jinja {

// The tokens of a template with the parser's place among them.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  bool is(TokenKind kind) const { return current().kind == kind; }
  bool is_operator(std::string_view text) const {
    return is(TokenKind::kOperator) && current().text == text;
  }
  bool is_name(std::string_view text) const {
    return is(TokenKind::kName) && current().text == text;
  }
  // Moves on, but never past the end token.
  Token take() {
    Token token = current();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool skip_operator(std::string_view text) {
    const bool found = is_operator(text);
    if (found) take();
    return found;
  }
  bool skip_name(std::string_view text) {
    const bool found = is_name(text);
    if (found) take();
    return found;
  }
  int line() const { return current().line; }

  Status fail(std::string_view expected) const {
    return parse_error("[chat template] expected {}, got {} (line {})", expected, describe(),
                       line());
  }
  Status expect_operator(std::string_view text) {
    return skip_operator(text) ? ok_status() : fail(text);
  }
  Status expect(TokenKind kind, std::string_view what) {
    if (!is(kind)) return fail(what);
    take();
    return ok_status();
  }
  Result<std::string> expect_name() {
    if (!is(TokenKind::kName)) return fail("a name");
    return take().text;
  }

 private:
  std::string describe() const {
    switch (current().kind) {
      case TokenKind::kText:
        return "text";
      case TokenKind::kVariableBegin:
        return "{{";
      case TokenKind::kVariableEnd:
        return "}}";
      case TokenKind::kBlockBegin:
        return "{%";
      case TokenKind::kBlockEnd:
        return "%}";
      case TokenKind::kString:
        return "a string";
      case TokenKind::kEnd:
        return "the end of the template";
      default:
        return current().text;
    }
  }
  std::vector<Token> tokens_;  // ends with kEnd
  std::size_t at_ = 0;
};

}  // namespace anemone::text::jinja
