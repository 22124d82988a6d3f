// SPDX-License-Identifier: Apache-2.0
#include "grammar/notation/regex_grammar.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/escape.h"
#include "text/utf8.h"

namespace anemone::grammar {
namespace {

constexpr int kMaxRegexGroups = 200;  // nested; the parser is recursive
constexpr std::size_t kMaxPatternBytes = 16 << 10;

constexpr std::string_view kPunctuation = "^$\\.*+?()[]{}|/-,:;=!<>&~@#%'\"`_ ";

CodePointSet set_of(std::initializer_list<std::pair<char32_t, char32_t>> ranges) {
  CodePointSet set;
  for (const auto& [low, high] : ranges) set.add(low, high);
  return set;
}

CodePointSet digits() {
  return set_of({{'0', '9'}});
}
CodePointSet word_characters() {
  return set_of({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
}
// WhiteSpace and LineTerminator of ECMA-262.
CodePointSet white_space() {
  return set_of({{9, 13},
                 {' ', ' '},
                 {0xA0, 0xA0},
                 {0x1680, 0x1680},
                 {0x2000, 0x200A},
                 {0x2028, 0x2029},
                 {0x202F, 0x202F},
                 {0x205F, 0x205F},
                 {0x3000, 0x3000},
                 {0xFEFF, 0xFEFF}});
}
CodePointSet line_ends() {
  return set_of({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}});
}

class RegexParser {
 public:
  RegexParser(GrammarBuilder& builder, std::u32string pattern, TextForm form,
              std::string_view subject)
      : builder_(builder), pattern_(std::move(pattern)), form_(form), subject_(subject) {}

  Result<NodeId> parse(bool is_anchored) {
    ANEMONE_ASSIGN_OR_RETURN(const NodeId body, alternatives(!is_anchored));
    if (!at_end()) return bad("the end or |", "an unmatched )");
    return body;
  }

 private:
  bool at_end() const { return at_ == pattern_.size(); }
  bool next_is(char32_t c) const { return !at_end() && pattern_[at_] == c; }
  bool take(char32_t c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }
  bool take(std::u32string_view text) {
    if (std::u32string_view(pattern_).substr(at_, text.size()) != text) return false;
    at_ += text.size();
    return true;
  }
  Status bad(std::string_view expected, std::string_view got) const {
    return parse_error("[{}] expected {}, got {} (character {})", subject_, expected, got, at_);
  }
  Status refused(std::string_view what) const {
    return unsupported("[{}] expected a regular expression without {} (character {})", subject_,
                       what, at_);
  }
  std::string next_text() const {
    if (at_end()) return "the end";
    std::string out;
    text::append_utf8(pattern_[at_], out);
    return escaped(out);
  }
  NodeId anything() {
    return builder_.repeat(one_of(builder_, CodePointSet::all(), form_), 0, kUnbounded);
  }

  // With `is_search` each alternative may have text before and after it, unless it is anchored.
  Result<NodeId> alternatives(bool is_search) {
    std::vector<NodeId> all;
    do {
      std::vector<NodeId> parts;
      bool is_open_before = is_search;
      bool is_open_behind = is_search;
      while (depth_ == 0 && take(U'^')) is_open_before = false;
      while (!at_end() && !next_is(U'|') && !next_is(U')')) {
        if (depth_ == 0 && take(U'$')) {
          is_open_behind = false;
          while (take(U'$')) {
          }
          if (!at_end() && !next_is(U'|')) return refused("$ before the end of an alternative");
          break;
        }
        ANEMONE_ASSIGN_OR_RETURN(const NodeId part, term());
        parts.push_back(part);
        if (builder_.byte_size() > kMaxBuilderBytes) return refused("more than 64 MB of classes");
      }
      if (is_open_before) parts.insert(parts.begin(), anything());
      if (is_open_behind) parts.push_back(anything());
      all.push_back(builder_.sequence(parts));
    } while (take(U'|'));
    return builder_.choice(all);
  }

  Result<NodeId> term() {
    ANEMONE_ASSIGN_OR_RETURN(const NodeId part, atom());
    std::uint64_t least = 1;
    std::uint64_t most = 1;
    if (take(U'*')) {
      least = 0;
      most = kUnbounded;
    } else if (take(U'+')) {
      most = kUnbounded;
    } else if (take(U'?')) {
      least = 0;
    } else {
      ANEMONE_ASSIGN_OR_RETURN(const bool has_count, braces(least, most));
      if (!has_count) return part;
    }
    take(U'?');
    if (next_is(U'*') || next_is(U'+') || next_is(U'?')) return bad("one count", next_text());
    return builder_.repeat(part, least, most);
  }

  std::optional<std::uint64_t> number() {
    const std::size_t begin = at_;
    std::uint64_t value = 0;
    for (; !at_end() && pattern_[at_] >= U'0' && pattern_[at_] <= U'9'; ++at_)
      value = std::min(value * 10 + (pattern_[at_] - U'0'), 2 * kMostRounds);
    if (at_ == begin) return std::nullopt;
    return value;
  }

  // {n}, {n,} or {n,m}; a brace that begins none of them is a character.
  Result<bool> braces(std::uint64_t& least, std::uint64_t& most) {
    const std::size_t begin = at_;
    if (!take(U'{')) return false;
    const auto low = number();
    if (!low) {
      at_ = begin;
      return false;
    }
    least = most = *low;
    if (take(U',')) most = number().value_or(kUnbounded);
    if (!take(U'}')) return bad("}", next_text());
    if (least > kMostRounds || (most != kUnbounded && most > kMostRounds))
      return refused("counts beyond 2^40");
    if (least > most) return bad("a count that ends above its beginning", "one below");
    return true;
  }

  Result<NodeId> atom() {
    const char32_t c = pattern_[at_];
    if (c == U'(') return group();
    if (c == U'^' || c == U'$') return refused("an anchor inside a group or an alternative");
    if (c == U'*' || c == U'+' || c == U'?') return bad("a character to repeat", next_text());
    if (c == U'[') {
      ANEMONE_ASSIGN_OR_RETURN(const CodePointSet set, character_class());
      return one_of(builder_, set, form_);
    }
    ++at_;
    if (c == U'.') return one_of(builder_, line_ends().inverted(), form_);
    CodePointSet set;
    if (c == U'\\') {
      ANEMONE_ASSIGN_OR_RETURN(set, escape(false));
    } else {
      set.add(c, c);
    }
    return one_of(builder_, set, form_);
  }

  Result<NodeId> group() {
    if (depth_ == kMaxRegexGroups) return refused("groups nested more than 200 deep");
    ++at_;
    if (next_is(U'?')) {
      if (take(U"?=") || take(U"?!") || take(U"?<=") || take(U"?<!")) return refused("look-around");
      if (take(U"?<")) {
        while (!at_end() && !next_is(U'>')) ++at_;
        if (!take(U'>')) return bad("> after the name of a group", "the end");
      } else if (!take(U"?:")) {
        return bad("(?: or (?<", "(?");
      }
    }
    ++depth_;
    ANEMONE_ASSIGN_OR_RETURN(const NodeId body, alternatives(false));
    --depth_;
    if (!take(U')')) return bad(")", "the end");
    return body;
  }

  std::optional<char32_t> hex(std::size_t count) {
    if (pattern_.size() - at_ < count) return std::nullopt;
    char32_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const char32_t c = pattern_[at_ + i];
      const char32_t lower = c | 0x20;
      if (c >= U'0' && c <= U'9')
        value = value * 16 + (c - U'0');
      else if (lower >= U'a' && lower <= U'f')
        value = value * 16 + (lower - U'a' + 10);
      else
        return std::nullopt;
    }
    at_ += count;
    return value;
  }

  // Behind \u: HHHH, a surrogate pair of them, or {H...}.
  Result<char32_t> unicode_escape() {
    if (take(U'{')) {
      std::size_t digits = 0;
      while (at_ + digits < pattern_.size() && pattern_[at_ + digits] != U'}') ++digits;
      const auto value = digits >= 1 && digits <= 8 ? hex(digits) : std::nullopt;
      if (!value || *value > 0x10FFFF || !take(U'}')) return bad("\\u{10FFFF} at most", "another");
      return *value;
    }
    const auto first = hex(4);
    if (!first) return bad("four hexadecimal digits", next_text());
    if (*first < 0xD800 || *first > 0xDBFF) return *first;
    const std::size_t begin = at_;
    if (take(U"\\u")) {
      const auto second = hex(4);
      if (second && *second >= 0xDC00 && *second <= 0xDFFF)
        return 0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00);
      at_ = begin;
    }
    return *first;  // a surrogate on its own, which no text holds
  }

  // Behind a backslash.
  Result<CodePointSet> escape(bool in_class) {
    if (at_end()) return bad("a character after \\", "the end");
    const char32_t c = pattern_[at_++];
    CodePointSet set;
    const auto single = [&](char32_t value) {
      set.add(value, value);
      return set;
    };
    switch (c) {
      case U'd':
        return digits();
      case U'D':
        return digits().inverted();
      case U'w':
        return word_characters();
      case U'W':
        return word_characters().inverted();
      case U's':
        return white_space();
      case U'S':
        return white_space().inverted();
      case U't':
        return single('\t');
      case U'n':
        return single('\n');
      case U'v':
        return single('\v');
      case U'f':
        return single('\f');
      case U'r':
        return single('\r');
      case U'b':
        if (in_class) return single('\b');
        return refused("\\b");
      case U'x': {
        const auto value = hex(2);
        if (!value) return bad("two hexadecimal digits", next_text());
        return single(*value);
      }
      case U'u': {
        ANEMONE_ASSIGN_OR_RETURN(const char32_t value, unicode_escape());
        return single(value);
      }
      case U'c': {
        const char32_t letter = at_end() ? 0 : pattern_[at_] | 0x20;
        if (letter < U'a' || letter > U'z') return bad("a letter after \\c", next_text());
        ++at_;
        return single(letter - U'a' + 1);
      }
      default:
        break;
    }
    if (c == U'0' && (at_end() || pattern_[at_] < U'0' || pattern_[at_] > U'9')) return single(0);
    if ((c >= U'0' && c <= U'9') || c == U'k') return refused("back references");
    if (c == U'B') return refused("\\B");
    if (c == U'p' || c == U'P') return refused("Unicode properties (\\p)");
    if (c < 0x80 && kPunctuation.find(static_cast<char>(c)) != kPunctuation.npos) return single(c);
    --at_;
    return bad("a known escape", "\\" + next_text());
  }

  Result<CodePointSet> character_class() {
    ++at_;
    const bool is_inverted = take(U'^');
    CodePointSet set;
    while (!take(U']')) {
      if (at_end()) return bad("]", "the end");
      ANEMONE_ASSIGN_OR_RETURN(const CodePointSet first, class_item());
      const std::size_t dash = at_;
      if (!take(U'-') || at_end() || next_is(U']')) {
        at_ = dash;
        set.add(first);
        continue;
      }
      ANEMONE_ASSIGN_OR_RETURN(const CodePointSet last, class_item());
      const auto low = only(first);
      const auto high = only(last);
      if (!low || !high) return bad("a range between two characters", "a class");
      if (*low > *high) return bad("a range in order", "one that ends below its beginning");
      set.add(*low, *high);
    }
    return is_inverted ? set.inverted() : set;
  }

  static std::optional<char32_t> only(const CodePointSet& set) {
    const auto& ranges = set.ranges();
    if (ranges.size() != 1 || ranges[0].first != ranges[0].second) return std::nullopt;
    return ranges[0].first;
  }

  Result<CodePointSet> class_item() {
    const char32_t c = pattern_[at_++];
    if (c == U'\\') return escape(true);
    CodePointSet set;
    set.add(c, c);
    return set;
  }

  GrammarBuilder& builder_;
  const std::u32string pattern_;
  const TextForm form_;
  const std::string_view subject_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<NodeId> regex_node(GrammarBuilder& builder, std::string_view pattern, bool is_anchored,
                          TextForm form, std::string_view subject) {
  if (pattern.size() > kMaxPatternBytes)
    return unsupported("[{}] expected a regular expression of at most {} bytes, got {}", subject,
                       kMaxPatternBytes, pattern.size());
  std::u32string characters;
  for (std::size_t at = 0; at < pattern.size();) {
    const text::CodePoint next = text::decode_code_point(pattern, at);
    if (!next.valid)
      return parse_error("[{}] expected valid UTF-8, got byte {:#x} (byte {})", subject,
                         static_cast<unsigned char>(pattern[at]), at);
    characters.push_back(next.value);
    at += static_cast<std::size_t>(next.length);
  }
  return RegexParser(builder, std::move(characters), form, subject).parse(is_anchored);
}

Result<std::shared_ptr<const Grammar>> grammar_from_regex(std::string_view pattern,
                                                          bool is_anchored) {
  GrammarBuilder builder;
  const RuleId root = builder.add_rule("regex");
  ANEMONE_ASSIGN_OR_RETURN(const NodeId body,
                           regex_node(builder, pattern, is_anchored, TextForm::kPlain, "regex"));
  builder.define(root, body);
  return builder.build(root);
}

}  // namespace anemone::grammar
