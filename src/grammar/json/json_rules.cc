// SPDX-License-Identifier: Apache-2.0
#include "grammar/json/json_rules.h"

#include <algorithm>

#include "grammar/notation/marked_text.h"
#include "text/utf8.h"

namespace anemone::grammar {
namespace {

constexpr std::uint64_t kMaxSpaces = 40;
// What ends a name that stands alone, or begins another part.
constexpr std::string_view kSyntax = ":,{}[]<";

ByteSet bytes_of(std::string_view bytes) {
  ByteSet set;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    set.add(value, value);
  }
  return set;
}

}  // namespace

JsonRules::JsonRules(GrammarBuilder& builder, JsonSpacing spacing, std::optional<TextMarks> marks)
    : builder_(builder), spacing_(spacing), marks_(marks) {}

NodeId JsonRules::once(std::optional<RuleId>& rule, std::string_view name,
                       NodeId (JsonRules::*make)()) {
  if (!rule) {
    rule = builder_.add_rule(std::string(name));
    const RuleId id = *rule;
    builder_.define(id, (this->*make)());
  }
  return builder_.call(*rule);
}

NodeId JsonRules::value() {
  return once(value_, "any value", &JsonRules::make_value);
}
NodeId JsonRules::object() {
  return once(object_, "any object", &JsonRules::make_object);
}
NodeId JsonRules::string() {
  return once(string_, "string", &JsonRules::make_string);
}
NodeId JsonRules::number() {
  return once(number_, "number", &JsonRules::make_number);
}
NodeId JsonRules::integer() {
  return once(integer_, "integer", &JsonRules::make_integer);
}
NodeId JsonRules::space() {
  return spacing_ == JsonSpacing::kCompact ? builder_.empty()
                                           : once(space_, "space", &JsonRules::make_space);
}
NodeId JsonRules::character() {
  if (!character_) character_ = make_character();
  return *character_;
}

NodeId JsonRules::make_space() {
  return builder_.repeat(builder_.bytes(bytes_of(" \t\n\r")), 0, kMaxSpaces);
}

NodeId JsonRules::open(char bracket) {
  return builder_.sequence({builder_.literal(std::string_view(&bracket, 1)), space()});
}
NodeId JsonRules::close(char bracket) {
  return builder_.sequence({space(), builder_.literal(std::string_view(&bracket, 1))});
}
NodeId JsonRules::empty_brackets(char open, char close) {
  return builder_.sequence({builder_.literal(std::string_view(&open, 1)), space(),
                            builder_.literal(std::string_view(&close, 1))});
}
NodeId JsonRules::comma() {
  return separator(",");
}
NodeId JsonRules::colon() {
  return separator(":");
}
NodeId JsonRules::separator(std::string_view mark) {
  const NodeId literal = builder_.literal(mark);
  if (spacing_ != JsonSpacing::kCompact) return builder_.sequence({space(), literal, space()});
  if (marks_) return literal;
  return builder_.sequence({literal, builder_.optional(builder_.literal(" "))});
}

NodeId JsonRules::make_value() {
  const NodeId item = value();
  const NodeId more = builder_.repeat(builder_.sequence({comma(), item}), 0, kUnbounded);
  const NodeId array = builder_.choice(
      {empty_brackets('[', ']'), builder_.sequence({open('['), item, more, close(']')})});
  return builder_.choice(
      {object(), array, string(), number(), builder_.literals({"true", "false", "null"})});
}

NodeId JsonRules::make_object() {
  const NodeId member = builder_.sequence({name(), colon(), value()});
  const NodeId more = builder_.repeat(builder_.sequence({comma(), member}), 0, kUnbounded);
  return builder_.choice(
      {empty_brackets('{', '}'), builder_.sequence({open('{'), member, more, close('}')})});
}

NodeId JsonRules::make_character() {
  if (marks_) return one_of(builder_, CodePointSet::all(), form());
  const NodeId plain = one_of(builder_, escaped_in_json().inverted(), TextForm::kPlain);
  const NodeId hex = builder_.bytes(bytes_of("0123456789abcdefABCDEF"));
  const auto four = [&](NodeId first, NodeId second) {
    return builder_.sequence({builder_.literal("u"), first, second, hex, hex});
  };
  const NodeId d = builder_.bytes(bytes_of("dD"));
  const NodeId not_surrogate =
      builder_.choice({four(builder_.bytes(bytes_of("0123456789abcefABCEF")), hex),
                       four(d, builder_.bytes(bytes_of("01234567")))});
  const NodeId pair =
      builder_.sequence({four(d, builder_.bytes(bytes_of("89abAB"))), builder_.literal("\\"),
                         four(d, builder_.bytes(bytes_of("cdefCDEF")))});
  const NodeId escape =
      builder_.choice({builder_.bytes(bytes_of("\"\\/bfnrt")), not_surrogate, pair});
  return builder_.choice({plain, builder_.sequence({builder_.literal("\\"), escape})});
}

NodeId JsonRules::quoted(NodeId inside) {
  const NodeId quote = builder_.literal(marks_ ? marks_->mark : "\"");
  return builder_.sequence({quote, inside, quote});
}

NodeId JsonRules::make_string() {
  if (!marks_) return quoted(builder_.repeat(character(), 0, kUnbounded));
  return builder_.sequence(
      {builder_.literal(marks_->mark), text_up_to(builder_, marks_->mark, marks_->excluded)});
}

TextForm JsonRules::form() const {
  return marks_ ? TextForm::kWithoutMarks : TextForm::kJsonString;
}

bool JsonRules::can_hold(std::string_view utf8) const {
  const auto has = [&](std::string_view mark) { return utf8.find(mark) != utf8.npos; };
  return !marks_ || !(has(marks_->mark) || std::ranges::any_of(marks_->excluded, has));
}

std::string JsonRules::text(std::string_view utf8) const {
  if (!marks_) return "\"" + in_form(utf8, TextForm::kJsonString) + "\"";
  return std::string(marks_->mark).append(utf8).append(marks_->mark);
}

bool JsonRules::stands_alone(std::string_view name) const {
  constexpr std::string_view kBlanks = " \t\r\n";
  return !name.empty() && name.find_first_of(kSyntax) == name.npos &&
         kBlanks.find(name.front()) == kBlanks.npos && kBlanks.find(name.back()) == kBlanks.npos;
}

NodeId JsonRules::name() {
  return marks_ ? name_other_than({}) : string();
}

std::string JsonRules::name(std::string_view utf8) const {
  return marks_ && stands_alone(utf8) ? std::string(utf8) : text(utf8);
}

NodeId JsonRules::name_character(const CodePointSet& set) {
  if (!marks_) return one_of(builder_, set, TextForm::kJsonString);
  CodePointSet others;
  others.add(0, ' ');
  for (const char byte : kSyntax) {
    const auto value = static_cast<unsigned char>(byte);
    others.add(value, value);
  }
  return one_of(builder_, set.without(others), TextForm::kPlain);
}

NodeId JsonRules::make_name_rest() {
  return builder_.sequence({builder_.repeat(name_character(CodePointSet::all()), 0, kUnbounded),
                            builder_.literal(name_quote())});
}

NodeId JsonRules::name_other_than(const std::vector<std::string>& names) {
  // Names with a common beginning are neighbours; one rule for each beginning of a name says how a
  // text may leave it.
  struct Beginning {
    RuleId rule;
    std::size_t first;   // names that have it
    std::size_t last;    // one past
    std::size_t length;  // bytes
  };
  std::vector<std::string> sorted = names;
  // What stands between marks is no name that stands alone.
  if (marks_) std::erase_if(sorted, [&](const auto& name) { return !stands_alone(name); });
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  const NodeId quote = builder_.literal(name_quote());
  const NodeId rest = once(name_rest_, "rest of a name", &JsonRules::make_name_rest);
  if (sorted.empty() && !marks_) return builder_.sequence({quote, rest});
  const auto rule_of = [&] { return builder_.add_rule("other name"); };
  std::vector<Beginning> open{{rule_of(), 0, sorted.size(), 0}};
  const NodeId start = builder_.sequence({quote, builder_.call(open[0].rule)});
  while (!open.empty()) {
    const Beginning now = open.back();
    open.pop_back();
    std::vector<NodeId> ways;
    CodePointSet next;
    std::size_t first = now.first;
    if (first < now.last && sorted[first].size() == now.length)
      ++first;  // this beginning is a name itself
    else if (!marks_ || now.length > 0)
      ways.push_back(quote);
    while (first < now.last) {
      const text::CodePoint c = text::decode_code_point(sorted[first], now.length);
      const auto length = static_cast<std::size_t>(c.length);
      const std::string_view bytes = std::string_view(sorted[first]).substr(now.length, length);
      std::size_t last = first + 1;
      while (last < now.last && sorted[last].compare(now.length, length, bytes) == 0) ++last;
      next.add(c.value, c.value);
      open.push_back({rule_of(), first, last, now.length + length});
      ways.push_back(builder_.sequence(
          {builder_.literal(in_form(bytes, form())), builder_.call(open.back().rule)}));
      first = last;
    }
    ways.push_back(builder_.sequence({name_character(next.inverted()), rest}));
    builder_.define(now.rule, builder_.choice(ways));
  }
  return start;
}

NodeId JsonRules::digits(std::uint64_t least, std::uint64_t most) {
  return builder_.repeat(builder_.bytes(ByteSet::range('0', '9')), least, most);
}

NodeId JsonRules::make_integer() {
  const NodeId whole = builder_.choice(
      {builder_.literal("0"), builder_.sequence({builder_.bytes(ByteSet::range('1', '9')),
                                                 digits(0, kIntegerDigits - 1)})});
  return builder_.sequence({builder_.optional(builder_.literal("-")), whole});
}

NodeId JsonRules::make_number() {
  const NodeId whole = builder_.choice(
      {builder_.literal("0"), builder_.sequence({builder_.bytes(ByteSet::range('1', '9')),
                                                 digits(0, kNumberDigits - 1)})});
  const NodeId fraction = builder_.sequence({builder_.literal("."), digits(1, kNumberDigits)});
  const NodeId exponent =
      builder_.sequence({builder_.bytes(bytes_of("eE")),
                         builder_.optional(builder_.bytes(bytes_of("+-"))), digits(1, 2)});
  return builder_.sequence({builder_.optional(builder_.literal("-")), whole,
                            builder_.optional(fraction), builder_.optional(exponent)});
}

}  // namespace anemone::grammar
