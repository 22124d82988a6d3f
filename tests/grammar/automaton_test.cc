// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "grammar/automaton/grammar_builder.h"
#include "grammar/automaton/matcher.h"
#include "grammar/notation/marked_text.h"
#include "tests/grammar/built_grammar.h"

namespace anemone::grammar {
namespace {

bool matches(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  GrammarMatcher matcher(grammar);
  return matcher.accept(text) && matcher.is_complete();
}

bool begins(const std::shared_ptr<const Grammar>& grammar, std::string_view text) {
  return GrammarMatcher(grammar).accept(text);
}

std::string error_of(const GrammarBuilder& builder, RuleId root, Code code) {
  const auto grammar = builder.build(root);
  EXPECT_FALSE(grammar.ok());
  if (grammar.ok()) return "";
  EXPECT_EQ(grammar.status().code(), code);
  return grammar.status().message();
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

TEST(Grammar, MatchesSequencesChoicesAndClasses) {
  GrammarBuilder b;
  const auto grammar =
      of(b, b.sequence({b.literal("a"), b.choice({b.literal("xy"), b.literal("xz"), b.empty()}),
                        b.bytes(ByteSet::range('0', '9'))}));
  EXPECT_TRUE(matches(grammar, "axy7"));
  EXPECT_TRUE(matches(grammar, "axz0"));
  EXPECT_TRUE(matches(grammar, "a5"));
  EXPECT_FALSE(matches(grammar, "ax5"));
  EXPECT_TRUE(begins(grammar, "ax"));
  EXPECT_FALSE(matches(grammar, "ax"));
  EXPECT_FALSE(begins(grammar, "a55"));
  EXPECT_FALSE(begins(grammar, "b"));
}

TEST(Grammar, AFailedAcceptLeavesTheMatcherWhereItWas) {
  GrammarBuilder b;
  GrammarMatcher matcher(of(b, b.literal("abc")));
  ASSERT_TRUE(matcher.accept("a"));
  GrammarMatcher copy = matcher;
  EXPECT_FALSE(matcher.accept("bx"));
  EXPECT_TRUE(matcher.accept("bc"));
  EXPECT_TRUE(matcher.is_complete());
  EXPECT_FALSE(matcher.can_continue());
  EXPECT_FALSE(copy.is_complete());
  EXPECT_TRUE(copy.accept("bc"));
}

TEST(Grammar, CountsSmallAndLargeRepetitionsAlike) {
  for (const std::uint64_t most : {3U, 500U}) {
    GrammarBuilder b;
    const auto grammar =
        of(b, b.sequence({b.literal("<"), b.repeat(b.literal("ab"), 2, most), b.literal(">")}));
    const auto text = [](std::uint64_t rounds) {
      std::string out = "<";
      for (std::uint64_t i = 0; i < rounds; ++i) out += "ab";
      return out + ">";
    };
    EXPECT_FALSE(matches(grammar, text(1)));
    EXPECT_TRUE(matches(grammar, text(2)));
    EXPECT_TRUE(matches(grammar, text(most)));
    EXPECT_FALSE(matches(grammar, text(most + 1)));
  }
}

TEST(Grammar, AHugeCountCostsNoStates) {
  GrammarBuilder b;
  const auto grammar =
      of(b, b.repeat(b.repeat(b.literal("a"), 1'000'000'000, kUnbounded), 0, 1'000'000'000));
  EXPECT_LT(grammar->state_count(), 20u);
  EXPECT_TRUE(matches(grammar, ""));
  EXPECT_TRUE(begins(grammar, std::string(1000, 'a')));
  EXPECT_FALSE(matches(grammar, std::string(1000, 'a')));
}

TEST(Grammar, AnUnboundedCountStopsCountingAtItsMinimum) {
  GrammarBuilder b;
  const auto grammar = of(b, b.repeat(b.literal("a"), 100, kUnbounded));
  EXPECT_FALSE(matches(grammar, std::string(99, 'a')));
  GrammarMatcher first(grammar);
  GrammarMatcher second(grammar);
  ASSERT_TRUE(first.accept(std::string(100, 'a')));
  ASSERT_TRUE(second.accept(std::string(5000, 'a')));
  EXPECT_TRUE(first.is_complete());
  EXPECT_EQ(first.state().hash, second.state().hash);
}

TEST(Grammar, NestedRulesNeedAStack) {
  GrammarBuilder b;
  const RuleId list = b.add_rule("list");
  b.define(list,
           b.sequence({b.literal("["), b.repeat(b.call(list), 0, kUnbounded), b.literal("]")}));
  const auto grammar = built(b, list);
  EXPECT_TRUE(matches(grammar, "[[][[]]]"));
  EXPECT_FALSE(begins(grammar, "[]]"));
  EXPECT_FALSE(matches(grammar, "[[]"));
}

TEST(Grammar, NestingBeyondTheLimitIsRefusedNotFollowed) {
  GrammarBuilder b;
  const RuleId list = b.add_rule("list");
  b.define(list, b.sequence({b.literal("["), b.optional(b.call(list)), b.literal("]")}));
  GrammarMatcher matcher(built(b, list));
  EXPECT_TRUE(matcher.accept(std::string(kMaxStackDepth, '[')));
  EXPECT_FALSE(matcher.accept("[[[["));
  EXPECT_TRUE(matcher.accept(std::string(kMaxStackDepth, ']')));
  EXPECT_TRUE(matcher.is_complete());
}

TEST(Grammar, RightRecursionKeepsTheStackFlat) {
  GrammarBuilder b;
  const RuleId list = b.add_rule("list");
  b.define(list, b.choice({b.literal("."), b.sequence({b.literal("a"), b.call(list)})}));
  GrammarMatcher matcher(built(b, list));
  EXPECT_TRUE(matcher.accept(std::string(5000, 'a')));
  EXPECT_TRUE(matcher.accept("."));
  EXPECT_TRUE(matcher.is_complete());
}

TEST(Grammar, StacksOfAnAmbiguousGrammarAreShared) {
  // After n opening letters there are 2^n stacks.
  GrammarBuilder b;
  const RuleId s = b.add_rule("s");
  b.define(s, b.choice({b.sequence({b.literal("a"), b.call(s), b.literal("x")}),
                        b.sequence({b.literal("a"), b.call(s), b.literal("y")}), b.literal("-")}));
  const auto grammar = built(b, s);
  const std::string opening(200, 'a');
  std::string closing;
  for (int i = 0; i < 100; ++i) closing += "xy";
  EXPECT_TRUE(matches(grammar, opening + "-" + closing));
  EXPECT_FALSE(begins(grammar, opening + "-" + closing + "x"));
}

TEST(Grammar, TwoCallsInARowKeepAllDepths) {
  GrammarBuilder b;
  const RuleId s = b.add_rule("s");
  b.define(s, b.choice({b.sequence({b.literal("a"), b.call(s), b.call(s)}), b.literal("b")}));
  const auto grammar = built(b, s);
  EXPECT_TRUE(matches(grammar, "abb"));
  EXPECT_TRUE(matches(grammar, "aabbabb"));
  EXPECT_FALSE(begins(grammar, "abbb"));
  EXPECT_FALSE(matches(grammar, "aabb"));
}

TEST(Grammar, RepetitionsOfWhatMayBeEmptyEnd) {
  GrammarBuilder b;
  const RuleId maybe = b.add_rule("maybe");
  b.define(maybe, b.optional(b.literal("a")));
  const RuleId root = b.add_rule("root");
  b.define(root, b.sequence({b.repeat(b.repeat(b.call(maybe), 0, kUnbounded), 0, kUnbounded),
                             b.repeat(b.optional(b.literal("b")), 2, 4), b.literal(".")}));
  const auto grammar = built(b, root);
  EXPECT_TRUE(matches(grammar, "."));
  EXPECT_TRUE(matches(grammar, "aaab."));
  EXPECT_TRUE(matches(grammar, "bbbb."));
  EXPECT_FALSE(begins(grammar, "bbbbb"));
}

TEST(Grammar, RefusesALargeCountOfWhatMayBeEmpty) {
  GrammarBuilder b;
  const RuleId root = b.add_rule("root");
  b.define(root, b.repeat(b.optional(b.literal("a")), 2, 1'000'000));
  EXPECT_TRUE(has(error_of(b, root, Code::kUnsupported), "that may be empty (rule root)"));
}

TEST(Grammar, RefusesLeftRecursionDirectHiddenAndThroughOthers) {
  {
    GrammarBuilder b;
    const RuleId sum = b.add_rule("sum");
    b.define(sum, b.choice({b.sequence({b.call(sum), b.literal("+1")}), b.literal("1")}));
    EXPECT_TRUE(has(error_of(b, sum, Code::kInvalidArgument), "left recursion of rule sum"));
  }
  {
    GrammarBuilder b;
    const RuleId one = b.add_rule("one");
    const RuleId two = b.add_rule("two");
    b.define(one, b.choice({b.call(two), b.literal("1")}));
    b.define(two, b.sequence({b.optional(b.literal("x")), b.call(one), b.literal("2")}));
    EXPECT_TRUE(
        has(error_of(b, one, Code::kInvalidArgument), "left recursion of rule one through two"));
  }
  {
    GrammarBuilder b;
    const RuleId loop = b.add_rule("loop");
    b.define(loop, b.choice({b.repeat(b.sequence({b.call(loop), b.literal("a")}), 60, 90),
                             b.literal("1")}));
    EXPECT_TRUE(has(error_of(b, loop, Code::kInvalidArgument), "left recursion of rule loop"));
  }
}

TEST(Grammar, RefusesWhatMatchesNoTextAndUndefinedRules) {
  GrammarBuilder b;
  const RuleId endless = b.add_rule("endless");
  b.define(endless, b.sequence({b.literal("a"), b.call(endless)}));
  EXPECT_TRUE(
      has(error_of(b, endless, Code::kInvalidArgument), "rule endless, which matches none"));
  const RuleId missing = b.add_rule("missing");
  EXPECT_TRUE(has(error_of(b, endless, Code::kInvalidArgument), "the rule missing"));
  b.define(missing, b.never());
  EXPECT_FALSE(b.build(missing).ok());
}

TEST(Grammar, NeverLeadsIntoAPartThatCannotEnd) {
  GrammarBuilder b;
  const RuleId endless = b.add_rule("endless");
  b.define(endless, b.sequence({b.literal("a"), b.call(endless)}));
  const RuleId root = b.add_rule("root");
  b.define(root, b.choice({b.sequence({b.literal("x"), b.call(endless)}),
                           b.sequence({b.literal("y"), b.never()}), b.literal("z")}));
  const auto grammar = built(b, root);
  EXPECT_FALSE(begins(grammar, "x"));
  EXPECT_FALSE(begins(grammar, "y"));
  EXPECT_TRUE(matches(grammar, "z"));
}

TEST(Grammar, APrefixTreeOfManyLiteralsTakesTheirExactTexts) {
  GrammarBuilder b;
  std::vector<std::string> texts;
  for (int i = 0; i < 20'000; ++i) texts.push_back(std::to_string(i * 7));
  const auto grammar = of(b, b.sequence({b.literals(texts), b.literal(";")}));
  EXPECT_TRUE(matches(grammar, "0;"));
  EXPECT_TRUE(matches(grammar, "139993;"));
  EXPECT_TRUE(begins(grammar, "13999"));
  EXPECT_FALSE(matches(grammar, "139994;"));
}

TEST(Grammar, ALongChainOfPrefixesIsNoDeepNesting) {
  GrammarBuilder b;
  std::vector<std::string> texts;
  for (std::size_t i = 1; i <= 3000; ++i) texts.emplace_back(i, 'a');
  const auto grammar = of(b, b.literals(texts));
  EXPECT_FALSE(matches(grammar, ""));
  EXPECT_TRUE(matches(grammar, std::string(3000, 'a')));
  EXPECT_FALSE(begins(grammar, std::string(3001, 'a')));
}

TEST(Grammar, RefusesExpressionsThatNestTooDeepOrTakeTooManyStates) {
  GrammarBuilder b;
  NodeId deep = b.literal("a");
  for (int i = 0; i < 5000; ++i) deep = b.sequence({b.literal("("), deep, b.literal(")")});
  const RuleId root = b.add_rule("root");
  b.define(root, deep);
  EXPECT_TRUE(has(error_of(b, root, Code::kUnsupported), "nested at most"));

  GrammarBuilder wide;
  NodeId twice = wide.literal("ab");
  for (int i = 0; i < 60; ++i) twice = wide.sequence({twice, twice});
  const RuleId all = wide.add_rule("all");
  wide.define(all, twice);
  EXPECT_TRUE(has(error_of(wide, all, Code::kUnsupported), "states"));
}

TEST(Grammar, CountersThatMultiplyAreRefusedWhileMatchingNotFollowedForever) {
  GrammarBuilder b;
  NodeId nested = b.literal("a");
  for (int i = 0; i < 4; ++i) nested = b.repeat(nested, 1, 100'000);
  GrammarMatcher matcher(of(b, nested));
  for (int i = 0; i < 100'000 && matcher.accept("a"); ++i) {
  }
  EXPECT_TRUE(matcher.is_too_ambiguous());
}

TEST(Grammar, TakesTheTextsOfOtherGrammars) {
  GrammarBuilder inner;
  const RuleId list = inner.add_rule("list");
  inner.define(list, inner.sequence({inner.literal("("), inner.repeat(inner.call(list), 0, 3),
                                     inner.repeat(inner.literal("x"), 0, 100),
                                     inner.bytes(ByteSet::range('0', '9')), inner.literal(")")}));
  const auto part = built(inner, list);
  GrammarBuilder b;
  const RuleId other = b.add_rule("other");
  b.define(other, b.repeat(b.bytes(ByteSet::range('a', 'c')), 1, 70));
  const auto grammar = of(b, b.sequence({b.call(other), b.texts_of(part), b.literal("-"),
                                         b.optional(b.texts_of(part))}));
  EXPECT_TRUE(matches(grammar, "abc(xx1)-"));
  EXPECT_TRUE(matches(grammar, "a((x2)(3)4)-(5)"));
  EXPECT_TRUE(matches(grammar, "a(" + std::string(100, 'x') + "1)-"));
  EXPECT_FALSE(begins(grammar, "a(" + std::string(101, 'x')));
  EXPECT_FALSE(begins(grammar, "a(d"));
  EXPECT_FALSE(begins(grammar, "(1)"));
  EXPECT_FALSE(begins(grammar, "a((1)(2)(3)("));
  EXPECT_FALSE(matches(grammar, "a(1)-(1)-"));
}

TEST(Grammar, HasFreeTextAroundAMarker) {
  for (const std::string marker : {"</think>", "aab", "aaab", "x", "abab"}) {
    GrammarBuilder b;
    const auto up_to = of(b, b.sequence({text_up_to(b, marker), b.literal("!")}));
    GrammarBuilder c;
    const auto without = of(c, text_without(c, marker));
    for (const std::string text :
         {"", "a", "aa", "ab", "aba", "aaaa", "x", "</thin", "<</think", "\xc3\xa9\xff", "abaa"}) {
      const bool has_it = (text + marker).find(marker) < text.size();
      EXPECT_EQ(matches(up_to, text + marker + "!"), !has_it) << text << " " << marker;
      EXPECT_EQ(matches(without, text), text.find(marker) == text.npos) << text << " " << marker;
      EXPECT_FALSE(begins(without, text + marker)) << text << " " << marker;
    }
  }
}

TEST(Grammar, HasFreeTextWithoutOtherMarkers) {
  const std::string_view excluded[] = {"<|b>", "<b|>", "xa"};
  const std::string marker = "<|\"|>";
  GrammarBuilder b;
  const auto grammar = of(b, text_up_to(b, marker, excluded));
  for (const std::string text :
       {"", "<", "<<|", "<|b", "<b|", "x", "x<|\"|", "<b<|", "<|b<b", "a\xff"})
    EXPECT_TRUE(matches(grammar, text + marker)) << text;
  for (const std::string text : {"<|b>", "a<b|>", "<<b|>", "x<|b<|b>", "xa", "<xa", "xxa"})
    EXPECT_FALSE(begins(grammar, text)) << text;
  EXPECT_FALSE(begins(grammar, marker + "a"));
}

}  // namespace
}  // namespace anemone::grammar
