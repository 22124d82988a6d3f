// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "grammar/automaton/grammar_builder.h"
#include "grammar/grammar_cache.h"
#include "grammar/json/schema_grammar.h"
#include "grammar/tokens/token_constraint.h"
#include "grammar/tokens/token_masks.h"
#include "tests/grammar/built_grammar.h"
#include "tests/support/shared_data.h"

namespace anemone::grammar {
namespace {

using Tokens = std::vector<std::pair<std::string, std::int32_t>>;

std::shared_ptr<const TokenTrie> trie_of(const Tokens& tokens, std::int32_t eos = -1) {
  const auto vocab_size = static_cast<std::int32_t>(tokens.size());
  std::vector<std::int32_t> eos_ids;
  if (eos >= 0) eos_ids.push_back(eos);
  auto trie = TokenTrie::build(tokens, vocab_size, eos_ids);
  EXPECT_TRUE(trie.ok()) << trie.status().message();
  return *trie;
}

// Nested lists of short words and bounded words: stacks, counters, and ambiguity between them.
std::shared_ptr<const Grammar> lists() {
  GrammarBuilder b;
  const RuleId value = b.add_rule("value");
  const NodeId letter = b.bytes(ByteSet::range('a', 'c'));
  const NodeId word = b.sequence({b.literal("'"), b.repeat(letter, 0, kUnbounded), b.literal("'")});
  const NodeId bounded = b.sequence(
      {b.literal("'"), b.repeat(b.sequence({letter, b.repeat(b.literal("-"), 0, 1)}), 20, 60),
       b.literal("\"")});
  const NodeId item = b.sequence({b.literal(","), b.call(value)});
  const NodeId list =
      b.sequence({b.literal("["), b.call(value), b.repeat(item, 0, 100), b.literal("]")});
  b.define(value, b.choice({word, bounded, list}));
  const auto grammar = b.build(value);
  EXPECT_TRUE(grammar.ok()) << grammar.status().message();
  return *grammar;
}

// More alternatives at a time than a mask takes apart: optional words, each of which may be
// skipped.
std::shared_ptr<const Grammar> skippable_words() {
  GrammarBuilder b;
  std::vector<NodeId> words;
  for (int i = 0; i < 40; ++i) {
    const RuleId word = b.add_rule("word");
    const std::string end =
        (i % 2 == 0 ? "a" : "b") + std::string(static_cast<std::size_t>(i % 5), 'c');
    b.define(word,
             b.sequence({b.literal("'" + end), b.repeat(b.literal("-"), 0, 60), b.literal(",")}));
    words.push_back(b.optional(b.call(word)));
  }
  words.push_back(b.literal("]"));
  return of(b, b.sequence(words));
}

Tokens random_tokens(std::mt19937& random, std::string_view alphabet, std::size_t count) {
  Tokens tokens;
  for (std::size_t i = 0; i < count; ++i) {
    std::string bytes;
    for (std::size_t n = 1 + random() % 6; n > 0; --n)
      bytes.push_back(alphabet[random() % alphabet.size()]);
    if (i < alphabet.size()) bytes = std::string(1, alphabet[i]);
    tokens.emplace_back(bytes, static_cast<std::int32_t>(i));
  }
  tokens.emplace_back("", static_cast<std::int32_t>(count));  // end of sequence
  return tokens;
}

TEST(TokenTrie, HoldsEveryTokenWithItsBytesOnce) {
  const auto trie =
      trie_of({{"ab", 0}, {"a", 1}, {"", 2}, {"ab", 3}, {"b", 4}, {"abc", 5}, {"<eos>", 6}}, 6);
  EXPECT_EQ(trie->nodes().size(), 5u);
  EXPECT_EQ(trie->max_token_bytes(), 3u);
  EXPECT_EQ(trie->token_bytes(5), "abc");
  EXPECT_EQ(trie->token_bytes(2), "");
  EXPECT_EQ(trie->token_bytes(6), "");
  EXPECT_EQ(trie->token_bytes(7), "");
  const auto more = trie->more_tokens(2);
  ASSERT_EQ(more.size(), 1u);
  EXPECT_EQ(more[0].second, 3);
}

TEST(TokenTrie, RefusesIdsOutsideTheVocabulary) {
  EXPECT_FALSE(TokenTrie::build({{"a", 3}}, 3, {}).ok());
  EXPECT_FALSE(TokenTrie::build({{"a", -1}}, 3, {}).ok());
  EXPECT_FALSE(TokenTrie::build({{"a", 0}}, 3, {3}).ok());
}

TEST(TokenMask, TellsTheOnlyTokenThatIsAllowed) {
  for (const std::int32_t id : {0, 63, 64, 129}) {
    TokenMask mask(130);
    EXPECT_EQ(mask.only(), std::nullopt);
    mask.allow(id);
    EXPECT_EQ(mask.only(), id);
    mask.allow(65);
    EXPECT_EQ(mask.only(), std::nullopt) << id;
  }
}

TEST(TokenMask, ApplyLeavesAllowedLogitsAlone) {
  TokenMask mask(3);
  mask.allow(1);
  std::vector<float> logits{0.5F, -0.25F, 3, 4};  // the last one is a padding row
  mask.apply(logits);
  EXPECT_EQ(logits[1], -0.25F);
  EXPECT_EQ(logits[0], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(logits[2], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(logits[3], -std::numeric_limits<float>::infinity());
  EXPECT_FALSE(mask.allows(-1));
  EXPECT_FALSE(mask.allows(3));
}

// The mask is by definition what the matcher accepts.
TEST(TokenMasks, AgreeWithTheMatcherForEachTokenAlongRandomTexts) {
  std::mt19937 random(7);
  for (const auto& [grammar, max_bytes] :
       {std::pair(lists(), std::size_t{64} << 20), std::pair(lists(), std::size_t{200} << 10),
        std::pair(skippable_words(), std::size_t{64} << 20)}) {
    const Tokens tokens = random_tokens(random, "abc'\"[],-", 600);
    const auto eos = static_cast<std::int32_t>(tokens.size() - 1);
    const auto masks =
        std::make_shared<TokenMasks>(trie_of(tokens, eos), TokenMaskOptions{max_bytes});
    for (int text = 0; text < 20; ++text) {
      TokenConstraint constraint(grammar, masks);
      for (int step = 0; step < 60 && !constraint.has_ended(); ++step) {
        const auto mask = constraint.mask();
        ASSERT_TRUE(mask.ok()) << mask.status().message();
        std::vector<std::int32_t> allowed;
        for (const auto& [bytes, id] : tokens) {
          GrammarMatcher copy = constraint.matcher();
          const bool fits = id == eos ? copy.is_complete() : copy.accept(bytes);
          ASSERT_EQ((*mask)->allows(id), fits) << bytes;
          if (fits) allowed.push_back(id);
        }
        ASSERT_EQ((*mask)->count(), static_cast<std::int64_t>(allowed.size()));
        ASSERT_TRUE(constraint.accept(allowed[random() % allowed.size()]).ok());
      }
    }
    EXPECT_LE(masks->counts().kept_bytes, max_bytes);
  }
}

TEST(TokenMasks, AgreeWithTheMatcherWhereNestingMeetsItsLimit) {
  std::mt19937 random(5);
  const auto grammar = lists();
  Tokens tokens = random_tokens(random, "abc'[],", 300);
  for (const std::size_t length : {2U, 7U, 300U, 700U, 1100U})
    tokens.emplace_back(std::string(length, '['), static_cast<std::int32_t>(tokens.size()));
  TokenMasks masks(trie_of(tokens));
  for (const std::size_t depth : {0U, 1U, 299U, 480U, 501U, 700U, 990U, 998U, 999U, 1000U}) {
    GrammarMatcher matcher(grammar);
    const bool nests = matcher.accept(std::string(depth, '['));
    ASSERT_TRUE(nests || depth > 998) << depth;
    if (!nests) continue;
    const auto mask = masks.mask(matcher);
    ASSERT_TRUE(mask.ok()) << mask.status().message();
    for (const auto& [bytes, id] : tokens) {
      GrammarMatcher copy = matcher;
      ASSERT_EQ((*mask)->allows(id), !bytes.empty() && copy.accept(bytes))
          << bytes.size() << " bytes after " << depth;
    }
  }
}

TEST(TokenMasks, KeepMasksAndSharePartsBetweenStacks) {
  std::mt19937 random(3);
  const auto grammar = lists();
  TokenMasks masks(trie_of(random_tokens(random, "abc'[],", 300)));
  GrammarMatcher shallow(grammar);
  GrammarMatcher deep(grammar);
  ASSERT_TRUE(shallow.accept("['ab',"));
  ASSERT_TRUE(deep.accept("[[[['ab',"));
  ASSERT_TRUE(masks.mask(shallow).ok());
  const auto first = masks.counts();
  EXPECT_GT(first.walks, 0);
  ASSERT_TRUE(masks.mask(shallow).ok());
  EXPECT_EQ(masks.counts().hits, first.hits + 1);
  ASSERT_TRUE(masks.mask(deep).ok());
  EXPECT_EQ(masks.counts().misses, first.misses + 1);
  EXPECT_EQ(masks.counts().walks, first.walks);
}

TEST(TokenMasks, CountersFarFromTheirLimitsShareAPart) {
  GrammarBuilder b;
  const auto grammar = of(b, b.repeat(b.bytes(ByteSet::range('a', 'z')), 0, 10'000));
  std::mt19937 random(3);
  TokenMasks masks(trie_of(random_tokens(random, "abc", 50)));
  GrammarMatcher matcher(grammar);
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(matcher.accept("a"));
    ASSERT_TRUE(masks.mask(matcher).ok());
  }
  EXPECT_LE(masks.counts().walks, 2);
}

TEST(TokenMasks, ADeadEndIsAnErrorThatSaysWhere) {
  GrammarBuilder b;
  const auto grammar = of(b, b.literal("abX"));
  TokenConstraint constraint(grammar,
                             std::make_shared<TokenMasks>(trie_of({{"a", 0}, {"b", 1}, {"c", 2}})));
  ASSERT_TRUE(constraint.accept(0).ok());
  ASSERT_TRUE(constraint.accept(1).ok());
  const auto mask = constraint.mask();
  ASSERT_FALSE(mask.ok());
  EXPECT_EQ(mask.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(mask.status().message(),
            "[grammar] expected a token that continues the text, got none (rule root) (after 2 "
            "bytes: \"ab\")");
}

TEST(TokenConstraint, RefusesTokensThatTheGrammarDoesNotAllow) {
  GrammarBuilder b;
  const auto grammar = of(b, b.repeat(b.literal("ab"), 1, 2));
  TokenConstraint constraint(
      grammar, std::make_shared<TokenMasks>(trie_of({{"ab", 0}, {"b", 1}, {"", 2}}, 2)));
  EXPECT_FALSE(constraint.accept(1).ok());
  EXPECT_FALSE(constraint.accept(2).ok());  // not complete
  EXPECT_FALSE(constraint.accept(17).ok());
  ASSERT_TRUE(constraint.accept(0).ok());
  EXPECT_TRUE(constraint.is_complete());
  EXPECT_FALSE(constraint.has_ended());
  const auto mask = constraint.mask();
  ASSERT_TRUE(mask.ok());
  EXPECT_TRUE((*mask)->allows(2));
  EXPECT_EQ((*mask)->count(), 2);
  TokenConstraint other = constraint;
  ASSERT_TRUE(other.accept(0).ok());
  EXPECT_TRUE(other.has_ended());
  ASSERT_TRUE(constraint.accept(2).ok());
  EXPECT_TRUE(constraint.has_ended());
  EXPECT_FALSE(constraint.accept(0).ok());
  EXPECT_FALSE(constraint.mask().ok());
}

TEST(TokenMasks, AnAmbiguousGrammarEndsInAnErrorNotInALongWalk) {
  GrammarBuilder b;
  NodeId nested = b.bytes(ByteSet::range('a', 'c'));
  for (int i = 0; i < 4; ++i) nested = b.repeat(nested, 1, 100'000);
  const auto grammar = of(b, nested);
  Tokens tokens;
  for (std::int32_t i = 0; i < 200; ++i)
    tokens.emplace_back(std::string(static_cast<std::size_t>(i) + 1, 'a'), i);
  TokenMasks masks(trie_of(tokens));
  const auto mask = masks.mask(GrammarMatcher(grammar));
  ASSERT_FALSE(mask.ok());
  EXPECT_EQ(mask.status().code(), Code::kUnsupported);
}

TEST(TokenMasks, ThreadsGetTheSameMasks) {
  std::mt19937 random(11);
  const auto grammar = lists();
  const auto masks = std::make_shared<TokenMasks>(trie_of(random_tokens(random, "abc'[],-", 400)),
                                                  TokenMaskOptions{std::size_t{100} << 10});
  std::vector<std::vector<std::int64_t>> counts(4);
  std::vector<std::thread> threads;
  for (std::vector<std::int64_t>& own : counts)
    threads.emplace_back([&own, &grammar, &masks] {
      GrammarMatcher matcher(grammar);
      for (const char byte : std::string_view("[['abc','a-b-c-a-b-c',[['b'")) {
        if (!matcher.accept({&byte, 1})) return;
        const auto mask = masks->mask(matcher);
        own.push_back(mask.ok() ? (*mask)->count() : -1);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(counts[0].size(), 5u);
  for (const auto& own : counts) EXPECT_EQ(own, counts[0]);
}

// A published vocabulary of 151 thousand tokens, at places of a document that differ in kind.
TEST(TokenMasks, AgreeWithTheMatcherOnAPublishedVocabulary) {
  const auto folder = anemone::testing::shared_path("data/tokenizers/qwen2_5");
  if (!folder) GTEST_SKIP() << "needs data/tokenizers/qwen2_5 of ANEMONE_SHARED";
  const auto tokenizer = text::Tokenizer::load(*folder);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  const auto end = (*tokenizer)->token_to_id("<|im_end|>");
  ASSERT_TRUE(end);
  const auto trie = TokenTrie::build(**tokenizer, {&*end, 1});
  ASSERT_TRUE(trie.ok()) << trie.status().message();
  const auto schema = parse_json(R"({"type":"object","properties":{"name":{"type":"string"},
    "short":{"type":"string","maxLength":7},"n":{"type":"integer","minimum":-5,"maximum":1200}},
    "required":["name","short"],"additionalProperties":{"type":"array"}})",
                                 "schema");
  const auto grammar = grammar_from_json_schema(*schema);
  ASSERT_TRUE(grammar.ok()) << grammar.status().message();
  TokenMasks masks(*trie);
  for (const char* place :
       {"", R"({"name)", R"({"name":")", "{\"name\":\"\xE4\xBD", R"({"name":"a","short":"abc)",
        R"({"name":"a\\u0)", R"({"name":"a","short":"b","n":1)",
        R"({"name":"a","short":"b","n":12,"na)", R"({"name":"a","short":"b","x":[[1,{"y":")",
        R"({"name":"a","short":"b"})"}) {
    GrammarMatcher matcher(*grammar);
    ASSERT_TRUE(matcher.accept(place)) << place;
    const auto mask = masks.mask(matcher);
    ASSERT_TRUE(mask.ok()) << place << mask.status().message();
    for (std::int32_t id = 0; id < (*trie)->vocab_size(); ++id) {
      GrammarMatcher copy = matcher;
      const std::string_view bytes = (*trie)->token_bytes(id);
      const bool fits = id == *end ? matcher.is_complete() : !bytes.empty() && copy.accept(bytes);
      ASSERT_EQ((*mask)->allows(id), fits) << place << " and then " << bytes;
      ASSERT_TRUE(!(*tokenizer)->is_special(id) || id == *end || !fits);
    }
  }
}

TEST(GrammarCache, KeepsTheGrammarsThatWereUsedLast) {
  GrammarCache cache(2, 1000);
  int made = 0;
  const auto make = [&]() -> GrammarCache::Made {
    ++made;
    GrammarBuilder b;
    return of(b, b.literal("a"));
  };
  const auto first = cache.get("a", make);
  EXPECT_EQ(*cache.get("a", make), *first);
  EXPECT_EQ(made, 1);
  ASSERT_TRUE(cache.get("b", make).ok());
  ASSERT_TRUE(cache.get("a", make).ok());
  ASSERT_TRUE(cache.get("c", make).ok());  // drops b
  EXPECT_EQ(*cache.get("a", make), *first);
  EXPECT_EQ(made, 3);
  ASSERT_TRUE(cache.get("b", make).ok());
  EXPECT_EQ(made, 4);
  EXPECT_EQ(cache.size(), 2u);
  ASSERT_TRUE(cache.get(std::string(2000, 'x'), make).ok());  // too large to be kept
  EXPECT_EQ(cache.size(), 2u);
}

TEST(GrammarCache, KeepsNoErrors) {
  GrammarCache cache;
  int made = 0;
  const auto make = [&]() -> GrammarCache::Made {
    ++made;
    return Status(Code::kParseError, "no");
  };
  EXPECT_FALSE(cache.get("a", make).ok());
  EXPECT_FALSE(cache.get("a", make).ok());
  EXPECT_EQ(made, 2);
}

}  // namespace
}  // namespace anemone::grammar
