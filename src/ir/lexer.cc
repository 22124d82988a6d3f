// SPDX-License-Identifier: Apache-2.0
#include "ir/lexer.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/error.h"
#include "base/escape.h"
#include "ir/characters.h"

namespace anemone::ir {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

}  // namespace

std::size_t Lexer::skip_space(std::size_t offset) const {
  while (offset < text_.size()) {
    if (is_space(text_[offset])) {
      ++offset;
    } else if (text_.substr(offset, 2) == "//") {
      while (offset < text_.size() && text_[offset] != '\n') ++offset;
    } else {
      break;
    }
  }
  return offset;
}

char Lexer::next_character() const {
  const std::size_t offset = skip_space(end_);
  return offset < text_.size() ? text_[offset] : '\0';
}

Status Lexer::advance() {
  const std::size_t begin = skip_space(end_);
  token_ = {Token::Kind::kEnd, text_.substr(begin, 0), begin};
  end_ = begin;
  if (begin == text_.size()) return {};
  const char c = text_[begin];
  const char after = begin + 1 < text_.size() ? text_[begin + 1] : '\0';
  if (is_letter(c)) {
    while (end_ < text_.size() &&
           (is_letter(text_[end_]) || is_digit(text_[end_]) || text_[end_] == '@'))
      ++end_;
    token_.kind = Token::Kind::kName;
  } else if (is_digit(c) || (c == '-' && (is_digit(after) || after == 'i'))) {
    scan_number();
  } else if (c == '"') {
    ANEMONE_RETURN_IF_ERROR(scan_string());
  } else {
    token_.kind = Token::Kind::kSymbol;
    if (text_.substr(begin, 2) == "->")
      end_ = begin + 2;
    else if (text_.substr(begin, 3) == "...")
      end_ = begin + 3;
    else if (std::string_view("(){}[]<>,=;?").find(c) != std::string_view::npos)
      end_ = begin + 1;
    else
      return error_at(begin, "expected a token of MIL, got a stray character");
  }
  token_.text = text_.substr(begin, end_ - begin);
  return {};
}

// Integers, decimals, hexadecimal floats and -inf. What it means is the parser's business.
void Lexer::scan_number() {
  token_.kind = Token::Kind::kNumber;
  if (text_[end_] == '-') ++end_;
  const bool is_hex = text_.substr(end_, 2) == "0x" || text_.substr(end_, 2) == "0X";
  while (end_ < text_.size()) {
    const char c = text_[end_];
    const char before = text_[end_ - (end_ > 0 ? 1 : 0)];
    const bool is_exponent =
        is_hex ? before == 'p' || before == 'P' : before == 'e' || before == 'E';
    if (!is_digit(c) && !is_letter(c) && c != '.' && !((c == '-' || c == '+') && is_exponent))
      break;
    ++end_;
  }
}

Status Lexer::scan_string() {
  token_.kind = Token::Kind::kString;
  const std::size_t begin = end_++;
  while (end_ < text_.size() && text_[end_] != '"') {
    if (text_[end_] == '\n') return error_at(end_, "expected '\"', got the end of the line");
    if (text_[end_] != '\\') {
      ++end_;
      continue;
    }
    const char escaped = end_ + 1 < text_.size() ? text_[end_ + 1] : '\0';
    if (escaped == 'x') {
      if (end_ + 3 >= text_.size() || hex_value(text_[end_ + 2]) < 0 ||
          hex_value(text_[end_ + 3]) < 0)
        return error_at(end_, "expected two hexadecimal digits after \\x");
      end_ += 4;
    } else if (escaped != '\0' &&
               std::string_view("\"\\ntr").find(escaped) != std::string_view::npos) {
      end_ += 2;
    } else {
      return error_at(end_, "expected an escape out of \\\" \\\\ \\n \\t \\r \\xNN");
    }
  }
  if (end_ == text_.size())
    return error_at(begin, "expected a closing '\"', got the end of the text");
  ++end_;
  return {};
}

Status Lexer::expected(std::string_view what) const {
  constexpr std::size_t kShown = 40;
  if (token_.kind == Token::Kind::kEnd)
    return error_at(token_.offset, fmt::format("expected {}, got the end of the text", what));
  return error_at(token_.offset,
                  fmt::format("expected {}, got '{}'", what, shortened(token_.text, kShown)));
}

Status Lexer::error_at(std::size_t offset, std::string_view message) const {
  const std::string_view before = text_.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n');
  const std::size_t column = offset - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return parse_error("[{}:{}:{}] {}", subject_, line, column, message);
}

std::string unquote(std::string_view token) {
  std::string out;
  for (std::size_t i = 1; i + 1 < token.size(); ++i) {
    if (token[i] != '\\') {
      out += token[i];
      continue;
    }
    const char escaped = token[++i];
    if (escaped == 'n') {
      out += '\n';
    } else if (escaped == 't') {
      out += '\t';
    } else if (escaped == 'r') {
      out += '\r';
    } else if (escaped == 'x') {
      out += static_cast<char>(hex_value(token[i + 1]) * 16 + hex_value(token[i + 2]));
      i += 2;
    } else {
      out += escaped;
    }
  }
  return out;
}

}  // namespace anemone::ir
