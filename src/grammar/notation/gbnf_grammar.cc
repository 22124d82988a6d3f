// SPDX-License-Identifier: Apache-2.0
#include "grammar/notation/gbnf_grammar.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/escape.h"
#include "grammar/automaton/grammar_builder.h"
#include "grammar/notation/code_points.h"
#include "text/utf8.h"

namespace anemone::grammar {
namespace {

constexpr int kMaxGbnfGroups = 200;  // nested; the parser is recursive
constexpr std::size_t kMaxSourceBytes = 1 << 20;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

class GbnfParser {
 public:
  explicit GbnfParser(std::string_view source) : source_(source) {}

  Result<std::shared_ptr<const Grammar>> parse() {
    for (skip(true); !at_end(); skip(true)) ANEMONE_RETURN_IF_ERROR(rule());
    for (const auto& [name, rule] : rules_)
      if (!rule.is_defined)
        return parse_error("[grammar] expected a definition of the rule {}, got none ({})", name,
                           place(rule.first_use));
    const auto root = rules_.find("root");
    if (root == rules_.end()) return parse_error("[grammar] expected a rule root, got none");
    return builder_.build(root->second.id);
  }

 private:
  struct Rule {
    RuleId id = 0;
    bool is_defined = false;
    std::size_t first_use = 0;
  };

  bool at_end() const { return at_ == source_.size(); }
  char peek() const { return at_end() ? '\0' : source_[at_]; }
  bool take(std::string_view text) {
    if (source_.substr(at_, text.size()) != text) return false;
    at_ += text.size();
    return true;
  }
  std::string place(std::size_t at) const {
    const std::string_view before = source_.substr(0, at);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t line_begin = before.rfind('\n');
    const std::size_t column = line_begin == before.npos ? at + 1 : at - line_begin;
    return "line " + std::to_string(line) + ", column " + std::to_string(column);
  }
  Status bad(std::string_view expected) const {
    const std::string got = at_end() ? "the end" : "\"" + escaped(source_.substr(at_, 1)) + "\"";
    return parse_error("[grammar] expected {}, got {} ({})", expected, got, place(at_));
  }

  // Blanks and comments, and line ends where they mean nothing.
  void skip(bool line_ends) {
    while (!at_end()) {
      const char c = peek();
      if (c == '#') {
        while (!at_end() && peek() != '\n' && peek() != '\r') ++at_;
      } else if (c == ' ' || c == '\t' || (line_ends && (c == '\n' || c == '\r'))) {
        ++at_;
      } else {
        return;
      }
    }
  }

  Result<std::string> name() {
    const std::size_t begin = at_;
    while (!at_end() && is_name_character(peek())) ++at_;
    if (at_ == begin) return bad("the name of a rule");
    return std::string(source_.substr(begin, at_ - begin));
  }

  Rule& named(const std::string& name, std::size_t at) {
    const auto [found, is_new] = rules_.try_emplace(name);
    if (is_new) found->second = {builder_.add_rule(name), false, at};
    return found->second;
  }

  Status rule() {
    const std::size_t begin = at_;
    ANEMONE_ASSIGN_OR_RETURN(const std::string rule_name, name());
    skip(false);
    if (!take("::=")) return bad("::=");
    skip(true);
    Rule& rule = named(rule_name, begin);
    if (rule.is_defined)
      return parse_error("[grammar] expected one definition of the rule {}, got another ({})",
                         rule_name, place(begin));
    rule.is_defined = true;
    const RuleId id = rule.id;
    ANEMONE_ASSIGN_OR_RETURN(const NodeId body, alternatives(false));
    builder_.define(id, body);
    if (!at_end() && peek() != '\n' && peek() != '\r') return bad("the end of the rule");
    return {};
  }

  Result<NodeId> alternatives(bool in_group) {
    std::vector<NodeId> all;
    do {
      skip(true);
      ANEMONE_ASSIGN_OR_RETURN(const NodeId one, sequence(in_group));
      all.push_back(one);
    } while (take_bar());
    return builder_.choice(all);
  }

  // A bar, at the beginning of the next line too.
  bool take_bar() {
    const std::size_t begin = at_;
    skip(true);
    if (take("|")) return true;
    at_ = begin;
    return false;
  }

  Result<NodeId> sequence(bool in_group) {
    std::vector<NodeId> parts;
    for (;;) {
      ANEMONE_ASSIGN_OR_RETURN(const std::optional<NodeId> part, item());
      if (!part) return builder_.sequence(parts);
      if (builder_.byte_size() > kMaxBuilderBytes)
        return unsupported("[grammar] expected at most {} MB of rules, got more ({})",
                           kMaxBuilderBytes >> 20, place(at_));
      skip(in_group);
      ANEMONE_ASSIGN_OR_RETURN(const NodeId repeated, counted(*part));
      parts.push_back(repeated);
      skip(in_group);
    }
  }

  // nullopt where no item begins.
  Result<std::optional<NodeId>> item() {
    const char c = peek();
    const auto found = [](Result<NodeId> node) -> Result<std::optional<NodeId>> {
      if (!node.ok()) return node.status();
      return std::optional(*node);
    };
    if (c == '"') return found(literal());
    if (c == '[') return found(character_class());
    if (c == '(') return found(group());
    if (c == '.') {
      ++at_;
      if (!any_) any_ = one_of(builder_, CodePointSet::all(), TextForm::kPlain);
      return any_;
    }
    if (!at_end() && is_name_character(c)) {
      const std::size_t begin = at_;
      ANEMONE_ASSIGN_OR_RETURN(const std::string called, name());
      return std::optional(builder_.call(named(called, begin).id));
    }
    return std::optional<NodeId>();
  }

  Result<NodeId> group() {
    if (depth_ == kMaxGbnfGroups) return bad("at most 200 nested groups");
    ++at_;
    ++depth_;
    ANEMONE_ASSIGN_OR_RETURN(const NodeId body, alternatives(true));
    --depth_;
    skip(true);
    if (!take(")")) return bad(")");
    return body;
  }

  Result<NodeId> counted(NodeId part) {
    if (take("*")) return builder_.repeat(part, 0, kUnbounded);
    if (take("+")) return builder_.repeat(part, 1, kUnbounded);
    if (take("?")) return builder_.repeat(part, 0, 1);
    if (!take("{")) return part;
    skip(true);
    const std::size_t begin = at_;
    const std::optional<std::uint64_t> low = number();
    std::uint64_t least = low.value_or(0);
    std::uint64_t most = least;
    skip(true);
    if (take(",")) {
      skip(true);
      const std::optional<std::uint64_t> high = number();
      if (!low && !high) return bad("a number");
      most = high.value_or(kUnbounded);
      skip(true);
    } else if (!low) {
      return bad("a number");
    }
    if (!take("}")) return bad("}");
    if (least > most || least > kMostRounds || (most != kUnbounded && most > kMostRounds))
      return parse_error("[grammar] expected a count in order, at most 2^40, got another ({})",
                         place(begin));
    return builder_.repeat(part, least, most);
  }

  std::optional<std::uint64_t> number() {
    const std::size_t begin = at_;
    std::uint64_t value = 0;
    for (; !at_end() && peek() >= '0' && peek() <= '9'; ++at_)
      value = std::min(value * 10 + static_cast<std::uint64_t>(peek() - '0'), 2 * kMostRounds);
    if (at_ == begin) return std::nullopt;
    return value;
  }

  // One character of a literal or a class, which may be an escape.
  Result<char32_t> character() {
    if (peek() != '\\') {
      const text::CodePoint next = text::decode_code_point(source_, at_);
      if (!next.valid) return bad("valid UTF-8");
      at_ += static_cast<std::size_t>(next.length);
      return next.value;
    }
    ++at_;
    if (at_end()) return bad("a known escape");
    const char c = source_[at_++];
    switch (c) {
      case 'n':
        return U'\n';
      case 'r':
        return U'\r';
      case 't':
        return U'\t';
      case 'x':
        return hex(2);
      case 'u':
        return hex(4);
      case 'U':
        return hex(8);
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^':
        return static_cast<char32_t>(c);
      default:
        break;
    }
    --at_;
    return bad("a known escape");
  }

  Result<char32_t> hex(int digits) {
    std::uint64_t value = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      const char c = peek();
      if (c >= '0' && c <= '9')
        value = value * 16 + static_cast<std::uint64_t>(c - '0');
      else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        value = value * 16 + static_cast<std::uint64_t>((c | 0x20) - 'a' + 10);
      else
        return bad("a hexadecimal digit");
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
      return bad("an escape of a Unicode character");
    return static_cast<char32_t>(value);
  }

  Result<NodeId> literal() {
    ++at_;
    std::string text;
    while (!take("\"")) {
      if (at_end() || peek() == '\n') return bad("\" at the end of a literal");
      ANEMONE_ASSIGN_OR_RETURN(const char32_t c, character());
      text::append_utf8(c, text);
    }
    return builder_.literal(text);
  }

  Result<NodeId> character_class() {
    ++at_;
    const bool is_inverted = take("^");
    CodePointSet set;
    while (!take("]")) {
      if (at_end()) return bad("]");
      ANEMONE_ASSIGN_OR_RETURN(const char32_t low, character());
      char32_t high = low;
      if (peek() == '-' && source_.substr(at_, 2) != "-]") {
        ++at_;
        if (at_end()) return bad("]");
        ANEMONE_ASSIGN_OR_RETURN(high, character());
        if (high < low) return bad("a range in order before");
      }
      set.add(low, high);
    }
    return one_of(builder_, is_inverted ? set.inverted() : set, TextForm::kPlain);
  }

  const std::string_view source_;
  GrammarBuilder builder_;
  std::map<std::string, Rule> rules_;
  std::optional<NodeId> any_;  // one character
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<std::shared_ptr<const Grammar>> grammar_from_gbnf(std::string_view source) {
  if (source.size() > kMaxSourceBytes)
    return unsupported("[grammar] expected at most {} bytes, got {}", kMaxSourceBytes,
                       source.size());
  return GbnfParser(source).parse();
}

}  // namespace anemone::grammar
