// SPDX-License-Identifier: Apache-2.0
#include "text/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.h"
#include "base/error.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace anemone::text::jinja {
namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}
bool is_name(char c) {
  return is_name_start(c) || is_digit(c);
}

std::string unify_line_ends(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

std::string_view strip_right(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_code_point(text, i);
    i += static_cast<std::size_t>(point.length);
    // Python's str.rstrip also takes the separators 1C to 1F.
    if (!is_white_space(point.value) && !(point.value >= 0x1C && point.value <= 0x1F)) end = i;
  }
  return text.substr(0, end);
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) ANEMONE_RETURN_IF_ERROR(step());
    tokens_.push_back({TokenKind::kEnd, {}, {}, line_});
    return std::move(tokens_);
  }

 private:
  Status fail(std::string_view what) const {
    return parse_error("[chat template] expected {} (line {})", what, line_);
  }
  bool looking_at(std::string_view text) const { return source_.substr(at_).starts_with(text); }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  void advance(std::size_t count) {
    const std::size_t end = std::min(at_ + count, source_.size());
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    at_ = end;
  }
  void add(TokenKind kind, std::string text) {
    tokens_.push_back({kind, std::move(text), {}, line_});
  }

  // The text up to the next tag, then the tag.
  Status step() {
    std::size_t tag = source_.find('{', at_);
    while (tag != source_.npos && tag + 1 < source_.size() && source_[tag + 1] != '{' &&
           source_[tag + 1] != '%' && source_[tag + 1] != '#')
      tag = source_.find('{', tag + 1);
    if (tag == source_.npos || tag + 1 >= source_.size()) {
      add_text(source_.substr(at_));
      advance(source_.size() - at_);
      return ok_status();
    }
    std::string_view text = source_.substr(at_, tag - at_);
    const char kind = source_[tag + 1];
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    if (sign == '-')
      text = strip_right(text);
    else if (sign != '+' && kind != '{')
      text = strip_line_start(text);
    add_text(text);
    advance(tag - at_);
    if (kind == '#') return comment();
    if (kind == '%' && is_raw_begin()) return raw();
    add(kind == '{' ? TokenKind::kVariableBegin : TokenKind::kBlockBegin, {});
    advance(has_sign(at_ + 2) ? 3 : 2);
    return kind == '{' ? tag_content("}}", TokenKind::kVariableEnd)
                       : tag_content("%}", TokenKind::kBlockEnd);
  }

  // lstrip_blocks: spaces that stand alone between a line's start and a tag go.
  std::string_view strip_line_start(std::string_view text) const {
    const auto newline = text.rfind('\n');
    if (newline == text.npos && !at_line_start_) return text;
    const std::size_t begin = newline == text.npos ? 0 : newline + 1;
    return strip_right(text.substr(begin)).empty() ? text.substr(0, begin) : text;
  }

  void add_text(std::string_view text) {
    if (!text.empty()) add(TokenKind::kText, std::string(text));
  }

  // Skips what a tag's end mark removes: "-" takes all white space, trim_blocks one newline.
  void after_tag(bool strip, bool trim) {
    const std::size_t begin = at_;
    std::size_t end = at_;
    if (strip) {
      while (end < source_.size()) {
        const CodePoint point = decode_code_point(source_, end);
        if (!is_white_space(point.value)) break;
        end += static_cast<std::size_t>(point.length);
      }
    } else if (trim && peek() == '\n') {
      ++end;
    }
    advance(end - begin);
    at_line_start_ = end > begin && source_[end - 1] == '\n';
  }

  Status comment() {
    if (is_source_end(has_sign(at_ + 2) ? at_ + 3 : at_ + 2)) return ok_status();
    const auto end = source_.find("#}", at_ + 2);
    if (end == source_.npos) return fail("the end of a comment, #}");
    const char sign = end > at_ + 3 ? source_[end - 1] : '\0';
    advance(end + 2 - at_);
    after_tag(sign == '-', sign != '+');
    return ok_status();
  }

  bool has_sign(std::size_t at) const {
    return at < source_.size() && (source_[at] == '-' || source_[at] == '+');
  }

  // Jinja2 wants the end of a comment or of a raw block only where it has at least one character.
  bool is_source_end(std::size_t at) {
    if (at < source_.size()) return false;
    advance(source_.size() - at_);
    return true;
  }

  // Whether {% raw %} or a form of it starts here; sets raw_end_ to where its content begins.
  bool is_raw_begin() {
    std::size_t i = at_ + 2;
    if (i < source_.size() && (source_[i] == '-' || source_[i] == '+')) ++i;
    while (i < source_.size() && is_space(source_[i])) ++i;
    if (!source_.substr(i).starts_with("raw")) return false;
    i += 3;
    while (i < source_.size() && is_space(source_[i])) ++i;
    raw_strip_ = i < source_.size() && source_[i] == '-';
    if (raw_strip_) ++i;
    if (!source_.substr(i).starts_with("%}")) return false;
    raw_content_ = i + 2;
    return true;
  }

  Status raw() {
    advance(raw_content_ - at_);
    after_tag(raw_strip_, false);
    if (is_source_end(at_)) return ok_status();
    for (std::size_t from = at_;;) {
      const auto tag = source_.find("{%", from);
      if (tag == source_.npos) return fail("the end of a raw block, {% endraw %}");
      std::size_t i = tag + 2;
      const char sign = i < source_.size() ? source_[i] : '\0';
      if (sign == '-' || sign == '+') ++i;
      while (i < source_.size() && is_space(source_[i])) ++i;
      from = tag + 2;
      if (!source_.substr(i).starts_with("endraw")) continue;
      i += 6;
      while (i < source_.size() && is_space(source_[i])) ++i;
      const char end_sign = i < source_.size() ? source_[i] : '\0';
      if (end_sign == '-' || end_sign == '+') ++i;
      if (!source_.substr(i).starts_with("%}")) continue;
      std::string_view text = source_.substr(at_, tag - at_);
      if (sign == '-')
        text = strip_right(text);
      else if (sign != '+')
        text = strip_line_start(text);
      add_text(text);
      advance(i + 2 - at_);
      after_tag(end_sign == '-', end_sign != '+');
      return ok_status();
    }
  }

  Status tag_content(std::string_view end, TokenKind end_kind) {
    brackets_.clear();
    while (true) {
      while (at_ < source_.size() && is_space(source_[at_])) advance(1);
      if (at_ >= source_.size()) return fail(end);
      // Inside of brackets the end mark is two closing braces or an operator.
      if (brackets_.empty()) {
        const bool signed_end =
            (peek() == '-' || (peek() == '+' && end_kind == TokenKind::kBlockEnd)) &&
            source_.substr(at_ + 1).starts_with(end);
        if (signed_end || looking_at(end)) {
          const char sign = signed_end ? peek() : '\0';
          add(end_kind, {});
          advance(signed_end ? 3 : 2);
          after_tag(sign == '-', sign != '+' && end_kind == TokenKind::kBlockEnd);
          return ok_status();
        }
      }
      ANEMONE_RETURN_IF_ERROR(token());
    }
  }

  Status token() {
    const char c = peek();
    if (is_name_start(c)) {
      std::size_t length = 1;
      while (is_name(peek(length))) ++length;
      add(TokenKind::kName, std::string(source_.substr(at_, length)));
      advance(length);
      return ok_status();
    }
    if (is_digit(c)) return number();
    if (c == '"' || c == '\'') return string();
    return operator_token();
  }

  Status number() {
    std::string digits;
    std::size_t length = 0;
    const auto take_digits = [&] {
      while (is_digit(peek(length)) || (peek(length) == '_' && is_digit(peek(length + 1)))) {
        if (peek(length) != '_') digits += peek(length);
        ++length;
      }
    };
    if (c_is_base_prefix()) return based_number();
    take_digits();
    bool is_float = false;
    if (peek(length) == '.' && is_digit(peek(length + 1))) {
      is_float = true;
      digits += '.';
      ++length;
      take_digits();
    }
    if (peek(length) == 'e' || peek(length) == 'E') {
      const std::size_t sign = peek(length + 1) == '+' || peek(length + 1) == '-' ? 1 : 0;
      if (is_digit(peek(length + 1 + sign))) {
        is_float = true;
        digits += 'e';
        if (sign == 1) digits += peek(length + 1);
        length += 1 + sign;
        take_digits();
      }
    }
    Value value;
    if (is_float) {
      double parsed = 0;
      const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), parsed);
      if (result.ec != std::errc()) return fail("a number within range");
      value = Value::number(parsed);
    } else {
      Int parsed = 0;
      if (digits.size() > 37) return fail("an integer of at most 37 digits");
      for (const char digit : digits) parsed = parsed * 10 + (digit - '0');
      value = Value::integer(parsed);
    }
    tokens_.push_back({is_float ? TokenKind::kFloat : TokenKind::kInteger,
                       std::string(source_.substr(at_, length)), std::move(value), line_});
    advance(length);
    return ok_status();
  }

  bool c_is_base_prefix() const {
    const char kind = static_cast<char>(peek(1) | 0x20);
    return peek() == '0' && (kind == 'x' || kind == 'o' || kind == 'b');
  }

  Status based_number() {
    const char kind = static_cast<char>(peek(1) | 0x20);
    const int base = kind == 'x' ? 16 : (kind == 'o' ? 8 : 2);
    std::size_t length = 2;
    std::string digits;
    for (; is_name(peek(length)); ++length)
      if (peek(length) != '_') digits += peek(length);
    std::uint64_t parsed = 0;
    const char* end = digits.data() + digits.size();
    const auto result = std::from_chars(digits.data(), end, parsed, base);
    if (result.ec != std::errc() || result.ptr != end) return fail("a number");
    tokens_.push_back({TokenKind::kInteger, std::string(source_.substr(at_, length)),
                       Value::integer(static_cast<Int>(parsed)), line_});
    advance(length);
    return ok_status();
  }

  Status string() {
    const char quote = peek();
    std::string out;
    std::size_t i = at_ + 1;
    while (i < source_.size() && source_[i] != quote) {
      if (source_[i] == '\\' && i + 1 < source_.size()) {
        ANEMONE_RETURN_IF_ERROR(escape(i, out));
      } else {
        out += source_[i++];
      }
    }
    if (i >= source_.size()) return fail("the end of a string");
    add(TokenKind::kString, std::move(out));
    advance(i + 1 - at_);
    return ok_status();
  }

  // One escape of Python's strings at source_[i], which is a backslash.
  Status escape(std::size_t& i, std::string& out) const {
    static constexpr std::string_view kFrom = "\\'\"abfnrtv";
    static constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
    const char c = source_[i + 1];
    i += 2;
    if (const auto found = kFrom.find(c); found != kFrom.npos) {
      out += kTo[found];
      return ok_status();
    }
    if (c == '\n') return ok_status();
    const std::size_t digits = c == 'x' ? 2 : (c == 'u' ? 4 : (c == 'U' ? 8 : 0));
    std::uint32_t code = 0;
    if (digits > 0) {
      const char* begin = source_.data() + i;
      if (i + digits > source_.size()) return fail("hexadecimal digits in an escape");
      const auto result = std::from_chars(begin, begin + digits, code, 16);
      if (result.ptr != begin + digits || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
        return fail("a code point in an escape");
      i += digits;
    } else if (c >= '0' && c <= '7') {
      code = static_cast<std::uint32_t>(c - '0');
      for (int n = 0; n < 2 && i < source_.size() && source_[i] >= '0' && source_[i] <= '7'; ++n)
        code = code * 8 + static_cast<std::uint32_t>(source_[i++] - '0');
    } else {
      out += '\\';
      out += c;
      return ok_status();
    }
    append_utf8(code, out);
    return ok_status();
  }

  Status operator_token() {
    static constexpr std::array<std::string_view, 6> kLong = {"**", "//", "==", "!=", "<=", ">="};
    static constexpr std::string_view kShort = "+-*/%~<>=.:|,;()[]{}";
    for (const std::string_view text : kLong) {
      if (!looking_at(text)) continue;
      add(TokenKind::kOperator, std::string(text));
      advance(2);
      return ok_status();
    }
    const char c = peek();
    if (kShort.find(c) == kShort.npos) return fail("an expression, got another character");
    if (c == '(' || c == '[' || c == '{') {
      brackets_.push_back(c == '(' ? ')' : (c == '[' ? ']' : '}'));
    } else if (c == ')' || c == ']' || c == '}') {
      if (brackets_.empty() || brackets_.back() != c) return fail("matching brackets");
      brackets_.pop_back();
    }
    add(TokenKind::kOperator, std::string(1, c));
    advance(1);
    return ok_status();
  }

  std::string_view source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool at_line_start_ = true;
  bool raw_strip_ = false;
  std::size_t raw_content_ = 0;
  std::string brackets_;  // the closing ones that are due
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> tokenize_template(std::string_view source) {
  const std::string unified = unify_line_ends(source);
  if (!is_valid_utf8(unified)) return parse_error("[chat template] expected valid UTF-8");
  return Lexer(unified).run();
}

}  // namespace anemone::text::jinja
