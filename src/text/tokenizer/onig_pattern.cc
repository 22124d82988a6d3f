// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer/onig_pattern.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/ascii.h"
#include "base/error.h"
#include "base/escape.h"

namespace anemone::text {
namespace {

constexpr std::string_view kSpaces =
    R"(\x{9}-\x{D}\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
constexpr std::string_view kWordSet = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
constexpr std::array<std::string_view, 37> kCategories = {
    "C",  "Cc", "Cf", "Cn", "Co", "Cs", "L",  "Ll", "Lm", "Lo", "Lt", "Lu", "M",
    "Mc", "Me", "Mn", "N",  "Nd", "Nl", "No", "P",  "Pc", "Pd", "Pe", "Pf", "Pi",
    "Po", "Ps", "S",  "Sc", "Sk", "Sm", "So", "Z",  "Zl", "Zp", "Zs"};
// Two letters that one character folds to: caseless, Oniguruma would also match that character.
constexpr std::array<std::string_view, 5> kFoldPairs = {"ss", "st", "ff", "fi", "fl"};

bool is_ascii_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  Result<std::string> run() {
    while (at_ < pattern_.size()) ANEMONE_RETURN_IF_ERROR(step());
    if (!caseless_.empty()) return malformed("a group that is not closed");
    return std::move(out_);
  }

 private:
  Status refuse(std::string_view what) const {
    return unsupported(
        "[regex {}] expected the common part of Oniguruma and PCRE2, got {} (byte {})",
        shown_pattern(pattern_), what, at_);
  }
  Status malformed(std::string_view what) const {
    return parse_error("[regex {}] expected a valid pattern, got {} (byte {})",
                       shown_pattern(pattern_), what, at_);
  }
  bool looking_at(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  bool in_caseless() const { return !caseless_.empty() && caseless_.back(); }
  void copy(std::size_t count) {
    out_ += pattern_.substr(at_, count);
    at_ += count;
  }

  Status step() {
    const char c = pattern_[at_];
    switch (c) {
      case '\\':
        return escape(false);
      case '[':
        return character_class();
      case '(':
        return group();
      case ')':
        if (caseless_.empty()) return refuse("a closing bracket without its opening one");
        caseless_.pop_back();
        previous_letter_ = 0;
        copy(1);
        return ok_status();
      case '{':
        return interval();
      case '^':
      case '$':
        return refuse("a line anchor");
      default:
        break;
    }
    if (in_caseless()) {
      if (static_cast<unsigned char>(c) >= 0x80 || c == '.')
        return refuse("a caseless group of other than ASCII letters");
      const std::array<char, 2> pair = {previous_letter_, lower(c)};
      if (std::find(kFoldPairs.begin(), kFoldPairs.end(), std::string_view(pair.data(), 2)) !=
          kFoldPairs.end())
        return refuse("a caseless group with letters that fold from one character");
      previous_letter_ = is_ascii_letter(c) ? lower(c) : '\0';
    }
    copy(1);
    return ok_status();
  }

  Status group() {
    static constexpr std::array<std::string_view, 6> kOpenings = {"(?:",  "(?=",  "(?!",
                                                                  "(?<=", "(?<!", "(?>"};
    bool caseless = in_caseless();
    std::size_t length = 1;
    if (looking_at("(?i:")) {
      caseless = true;
      length = 4;
    } else if (looking_at("(?") || looking_at("(*")) {
      const auto* it = std::find_if(kOpenings.begin(), kOpenings.end(),
                                    [&](std::string_view opening) { return looking_at(opening); });
      if (it == kOpenings.end()) return refuse("a group of this kind");
      length = it->size();
    }
    if (caseless_.size() >= kMaxDepth) return refuse("groups nested too deep");
    copy(length);
    caseless_.push_back(caseless);
    previous_letter_ = 0;
    return ok_status();
  }

  // {n}, {n,}, {n,m}. Oniguruma reads {,m} as {0,m} and {n,m}+ as a repeat of a repeat.
  Status interval() {
    std::size_t end = at_ + 1;
    while (end < pattern_.size() && is_digit(pattern_[end])) ++end;
    if (end == at_ + 1) return refuse("a brace that is not {n}, {n,} or {n,m}");
    if (end < pattern_.size() && pattern_[end] == ',') ++end;
    while (end < pattern_.size() && is_digit(pattern_[end])) ++end;
    if (end >= pattern_.size() || pattern_[end] != '}' || end - at_ > 10)
      return refuse("a brace that is not {n}, {n,} or {n,m}");
    copy(end + 1 - at_);
    if (at_ < pattern_.size() && (pattern_[at_] == '+' || pattern_[at_] == '?'))
      return refuse("a possessive or lazy interval");
    return ok_status();
  }

  Status character_class() {
    if (in_caseless()) return refuse("a character class in a caseless group");
    copy(1);
    if (looking_at("^")) copy(1);
    if (looking_at("]")) return refuse("an empty character class");
    while (at_ < pattern_.size() && pattern_[at_] != ']') {
      if (pattern_[at_] == '[') return refuse("a class inside of a class");
      if (looking_at("&&")) return refuse("an intersection of classes");
      if (pattern_[at_] == '\\') {
        ANEMONE_RETURN_IF_ERROR(escape(true));
      } else {
        copy(1);
      }
    }
    if (at_ >= pattern_.size()) return malformed("a class that is not closed");
    copy(1);
    return ok_status();
  }

  Status escape(bool in_class) {
    if (at_ + 1 >= pattern_.size()) return refuse("a backslash at the end");
    const char c = pattern_[at_ + 1];
    if (in_caseless() && is_ascii_letter(c)) return refuse("a class in a caseless group");
    previous_letter_ = 0;
    switch (c) {
      case 's':
        return set(kSpaces, false, in_class);
      case 'S':
        if (in_class) {
          out_ += R"(\P{White_Space})";
          at_ += 2;
          return ok_status();
        }
        return set(kSpaces, true, in_class);
      case 'w':
        return set(kWordSet, false, in_class);
      case 'W':
        if (in_class) return refuse("\\W in a class");
        return set(kWordSet, true, in_class);
      case 'd':
      case 'D':
      case 'r':
      case 'n':
      case 't':
      case 'f':
        copy(2);
        return ok_status();
      case 'v':  // Oniguruma: the one character; PCRE2: all vertical space.
        out_ += R"(\x{B})";
        at_ += 2;
        return ok_status();
      case 'x':
      case 'u':
        return code_point(c);
      case 'p':
      case 'P':
        return property(c);
      default:
        break;
    }
    if (is_ascii_letter(c) || is_digit(c) || static_cast<unsigned char>(c) >= 0x80)
      return refuse("an escape of this kind");
    copy(2);
    return ok_status();
  }

  Status set(std::string_view members, bool negated, bool in_class) {
    if (in_class) {
      out_ += members;
    } else {
      out_ += negated ? "[^" : "[";
      out_ += members;
      out_ += ']';
    }
    at_ += 2;
    return ok_status();
  }

  Status code_point(char kind) {
    std::size_t begin = at_ + 2;
    std::size_t end = begin;
    const bool braces = kind == 'x' && begin < pattern_.size() && pattern_[begin] == '{';
    if (braces) end = ++begin;
    const std::size_t most = braces ? 6 : (kind == 'u' ? 4 : 2);
    while (
        end < pattern_.size() && end - begin < most &&
        (is_digit(pattern_[end]) || (lower(pattern_[end]) >= 'a' && lower(pattern_[end]) <= 'f')))
      ++end;
    const bool closed = !braces || (end < pattern_.size() && pattern_[end] == '}');
    if (end == begin || !closed || (!braces && end - begin != most))
      return refuse("a code point of this form");
    // A bare \xHH above 7F is a byte for Oniguruma, a code point for PCRE2.
    if (kind == 'x' && !braces && pattern_[begin] >= '8') return refuse("a byte above 7F");
    out_ += "\\x{";
    out_ += pattern_.substr(begin, end - begin);
    out_ += '}';
    at_ = end + (braces ? 1 : 0);
    return ok_status();
  }

  Status property(char kind) {
    const std::size_t end = pattern_.find('}', at_);
    if (at_ + 2 >= pattern_.size() || pattern_[at_ + 2] != '{' || end == std::string_view::npos)
      return refuse("a property without braces");
    const std::string_view name = pattern_.substr(at_ + 3, end - at_ - 3);
    if (name.empty() || name.size() > 40 || !std::all_of(name.begin(), name.end(), [](char c) {
          return is_ascii_letter(c) || c == '_';
        }))
      return refuse("a property of this form");
    const bool category =
        std::find(kCategories.begin(), kCategories.end(), name) != kCategories.end();
    if (!category && name.size() < 3) return refuse("a property of this name");
    out_ += '\\';
    out_ += kind;
    // PCRE2 reads a bare script name as its extensions too; Oniguruma does not.
    out_ += category ? "{" : "{sc:";
    out_ += name;
    out_ += '}';
    at_ = end + 1;
    return ok_status();
  }

  static constexpr std::size_t kMaxDepth = 50;
  std::string_view pattern_;
  std::size_t at_ = 0;
  std::string out_;
  std::vector<bool> caseless_;  // one an open group
  char previous_letter_ = 0;    // in a caseless group
};

}  // namespace

Result<std::string> translate_oniguruma(std::string_view pattern) {
  return Translator(pattern).run();
}

std::string shown_pattern(std::string_view pattern) {
  constexpr std::size_t kMaxBytes = 200;
  return shortened(pattern, kMaxBytes);
}

}  // namespace anemone::text
