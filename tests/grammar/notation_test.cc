// SPDX-License-Identifier: Apache-2.0
// Regular expressions, GBNF and choices.
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "grammar/automaton/matcher.h"
#include "grammar/notation/choice_grammar.h"
#include "grammar/notation/code_points.h"
#include "grammar/notation/gbnf_grammar.h"
#include "grammar/notation/regex_grammar.h"
#include "text/utf8.h"

namespace anemone::grammar {
namespace {

using GrammarResult = Result<std::shared_ptr<const Grammar>>;

bool matches(const GrammarResult& grammar, std::string_view text) {
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  if (!grammar.ok()) return false;
  GrammarMatcher matcher(*grammar);
  return matcher.accept(text) && matcher.is_complete();
}

bool regex(std::string_view pattern, std::string_view text) {
  return matches(grammar_from_regex(pattern), text);
}

std::string error_of(const GrammarResult& grammar, Code code) {
  EXPECT_FALSE(grammar.ok());
  if (grammar.ok()) return "";
  EXPECT_EQ(grammar.status().code(), code) << grammar.status().message();
  return grammar.status().message();
}

TEST(CodePoints, EveryCharacterIsInTheSetOrNot) {
  // Edges of all lengths of UTF-8 and of the surrogates.
  CodePointSet set;
  set.add(0x60, 0x900);
  set.add(0xD000, 0xE001);
  set.add(0xFFFE, 0x1F600);
  GrammarBuilder builder;
  const RuleId root = builder.add_rule("root");
  builder.define(root, one_of(builder, set, TextForm::kPlain));
  const auto grammar = builder.build(root);
  ASSERT_TRUE(grammar.ok());
  for (char32_t c = 0; c <= 0x10FFFF; c += c < 0x11000 || c > 0x1F000 ? 1 : 7) {
    if (c > 0x20000) c += 1000;
    std::string text;
    if (c >= 0xD800 && c <= 0xDFFF) {  // what UTF-8 would be of a surrogate
      text = {static_cast<char>(0xED), static_cast<char>(0x80 | ((c >> 6) & 0x3F)),
              static_cast<char>(0x80 | (c & 0x3F))};
    } else {
      text::append_utf8(c, text);
    }
    ASSERT_EQ(matches(grammar, text), set.has(c)) << static_cast<unsigned>(c);
  }
}

TEST(CodePoints, SetsAddInvertAndSubtract) {
  CodePointSet set;
  set.add('c', 'd');
  set.add('a', 'b');
  set.add('f', 'f');
  ASSERT_EQ(set.ranges().size(), 2u);
  EXPECT_EQ(set.ranges()[0], (std::pair<char32_t, char32_t>('a', 'd')));
  EXPECT_FALSE(set.inverted().has('a'));
  EXPECT_TRUE(set.inverted().has('e'));
  EXPECT_FALSE(set.inverted().has(0xD800));
  EXPECT_EQ(set.inverted().inverted().ranges(), set.ranges());
  CodePointSet other;
  other.add('b', 'e');
  EXPECT_TRUE(set.without(other).has('a'));
  EXPECT_FALSE(set.without(other).has('c'));
  EXPECT_TRUE(CodePointSet::all().inverted().empty());
}

TEST(Regex, MatchesWhatItsPartsSay) {
  EXPECT_TRUE(regex("a|bc*", "bccc"));
  EXPECT_FALSE(regex("a|bc*", "ac"));
  EXPECT_TRUE(regex("(ab)+?c?", "abab"));
  EXPECT_TRUE(regex("[a-c\\d_]{2,3}", "a7_"));
  EXPECT_FALSE(regex("[a-c\\d_]{2,3}", "a7_b"));
  EXPECT_TRUE(regex("[^a-c]", "é"));
  EXPECT_FALSE(regex("[^a-c]", "b"));
  EXPECT_TRUE(regex("[a-]+", "a-"));
  EXPECT_TRUE(regex(".", "\xF0\x9F\x98\x80"));
  EXPECT_FALSE(regex(".", "\n"));
  EXPECT_TRUE(regex("\\u00e9\\x41\\u{1F600}\\ud83d\\ude00\\cJ\\t", "éA😀😀\n\t"));
  EXPECT_TRUE(regex("\\s\\S\\w\\W", " a_-"));
  EXPECT_TRUE(regex("(?<year>\\d{4})(?:-\\d\\d)?", "2020-11"));
  EXPECT_TRUE(regex("a{x}", "a{x}"));
  EXPECT_TRUE(regex("", ""));
}

TEST(Regex, IsASearchUnlessItIsAnchored) {
  const auto search = [](std::string_view pattern, std::string_view text) {
    return matches(grammar_from_regex(pattern, false), text);
  };
  EXPECT_TRUE(search("b", "abc"));
  EXPECT_FALSE(search("^b", "abc"));
  EXPECT_TRUE(search("^b", "bc"));
  EXPECT_FALSE(search("b$", "abc"));
  EXPECT_TRUE(search("^a|c$", "abc"));
  EXPECT_TRUE(search("^$", ""));
  EXPECT_FALSE(search("^$", "x"));
  EXPECT_FALSE(regex("b", "abc"));
}

TEST(Regex, RefusesWhatItDoesNotSupportWithThePosition) {
  const auto refused = [](std::string_view pattern) {
    return error_of(grammar_from_regex(pattern), Code::kUnsupported);
  };
  EXPECT_EQ(refused("ab(?=c)"),
            "[regex] expected a regular expression without look-around (character 5)");
  EXPECT_NE(refused("(a)\\1").find("back references (character 5)"), std::string::npos);
  EXPECT_NE(refused("\\bx").find("\\b"), std::string::npos);
  EXPECT_NE(refused("\\p{L}").find("\\p"), std::string::npos);
  EXPECT_NE(refused("(^a)").find("anchor"), std::string::npos);
  EXPECT_NE(refused("a$b").find("$"), std::string::npos);
  EXPECT_NE(refused("a{99999999999999999999}").find("2^40"), std::string::npos);
  EXPECT_NE(refused(std::string(300, '(')).find("nested"), std::string::npos);
}

TEST(Regex, RefusesPatternsThatAreNone) {
  for (const char* pattern : {"(", ")", "a)", "[a", "[b-a]", "a**", "*", "\\", "\\q", "a{2,1}",
                              "\\u12", "\\x1", "(?a)", "(?<x", "[\\d-z]", "\\u{110000}", "\xFF"})
    EXPECT_NE(error_of(grammar_from_regex(pattern), Code::kParseError), "") << pattern;
}

TEST(Choices, TakeExactlyTheirTexts) {
  const auto grammar = grammar_from_choices({"yes", "no", "not sure"});
  EXPECT_TRUE(matches(grammar, "no"));
  EXPECT_TRUE(matches(grammar, "not sure"));
  EXPECT_FALSE(matches(grammar, "not"));
  EXPECT_FALSE(grammar_from_choices({}).ok());
  EXPECT_FALSE(grammar_from_choices({"a", ""}).ok());
  EXPECT_FALSE(grammar_from_choices({"\xFF"}).ok());
}

TEST(Gbnf, ReadsRulesLiteralsClassesGroupsAndCounts) {
  const auto grammar = grammar_from_gbnf(R"(# a list of numbers or words
root   ::= "[" ws item (
  ","   # more of them
  ws item
)* "]"
item   ::= number | word
  | "\"\x41\u00e9\U0001F600\""
number ::= "-"? [0-9]{1,3} ("." [0-9]{,2})?
word   ::=
  [^0-9\]\-,]+
ws     ::= " "?
)");
  EXPECT_TRUE(matches(grammar, "[1]"));
  EXPECT_TRUE(matches(grammar, "[ -123.45,abc, é]"));
  EXPECT_TRUE(matches(grammar, "[\"Aé😀\"]"));
  EXPECT_TRUE(matches(grammar, "[1.]"));
  EXPECT_FALSE(matches(grammar, "[1234]"));
  EXPECT_FALSE(matches(grammar, "[1.234]"));
  EXPECT_FALSE(matches(grammar, "[]"));
  EXPECT_FALSE(matches(grammar, "[a-b]"));
}

TEST(Gbnf, ADotIsAnyCharacterAndCountsMayBeExact) {
  const auto grammar = grammar_from_gbnf("root ::= .{3} [x]{2,} | \"\"");
  EXPECT_TRUE(matches(grammar, "a\n😀xxx"));
  EXPECT_TRUE(matches(grammar, ""));
  EXPECT_FALSE(matches(grammar, "a\n😀x"));
}

TEST(Gbnf, ErrorsHaveLineAndColumn) {
  const auto bad = [](std::string_view source) {
    return error_of(grammar_from_gbnf(source), Code::kParseError);
  };
  EXPECT_EQ(bad("root ::= \"a\"\nx = 1"), "[grammar] expected ::=, got \"=\" (line 2, column 3)");
  EXPECT_EQ(bad("root ::= item"),
            "[grammar] expected a definition of the rule item, got none (line 1, column 10)");
  EXPECT_EQ(bad("a ::= \"x\""), "[grammar] expected a rule root, got none");
  for (const char* source :
       {"root ::= \"a", "root ::= [a", "root ::= (\"a\"", "root ::= \"\\q\"", "root ::= \"\\x1\"",
        "root ::= \"a\"{2,1}", "root ::= \"a\"{}", "root ::= \"a\"{,}", "root ::= \"a\" )",
        "root ::= \"a\"\nroot ::= \"b\"", "", "::=", "root ::= \"\\", "root ::= [b-a]",
        "root ::= [a-", "root ::= \"\xFF\"", "root ::= \"\\uD800\""})
    EXPECT_NE(bad(source), "") << source;
  EXPECT_NE(bad("root ::= " + std::string(300, '(')), "");
}

TEST(Gbnf, RefusesLeftRecursionAndRulesWithoutEnd) {
  EXPECT_NE(error_of(grammar_from_gbnf("root ::= root \"a\" | \"b\""), Code::kInvalidArgument)
                .find("left recursion of rule root"),
            std::string::npos);
  EXPECT_NE(error_of(grammar_from_gbnf("root ::= \"a\" root"), Code::kInvalidArgument), "");
}

}  // namespace
}  // namespace anemone::grammar
