// SPDX-License-Identifier: Apache-2.0
#include "engine/sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "engine/sampling/sampling_request.h"

namespace anemone::engine {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Sampler make_sampler(const SamplingOptions& options, std::int64_t id_limit = 0) {
  auto sampler = Sampler::create(options, id_limit);
  EXPECT_TRUE(sampler.ok()) << sampler.status().message();
  return std::move(*sampler);
}

SamplingOptions sampling(double temperature, std::int64_t top_k, double top_p,
                         std::uint64_t seed = 1) {
  SamplingOptions options;
  options.greedy = false;
  options.temperature = temperature;
  options.top_k = top_k;
  options.top_p = top_p;
  options.seed = seed;
  return options;
}

std::int32_t greedy(const std::vector<float>& logits, std::int64_t id_limit = 0) {
  auto picked = make_sampler({}, id_limit).sample(logits);
  EXPECT_TRUE(picked.ok()) << picked.status().message();
  LogitRow row;
  row.set(logits);
  EXPECT_EQ(make_sampler({}, id_limit).sample(row).value_or(-2), picked.value_or(-1));
  return picked.value_or(-1);
}

std::map<std::int32_t, int> draw(const SamplingOptions& options, const std::vector<float>& logits,
                                 int draws, std::int64_t id_limit = 0) {
  Sampler sampler = make_sampler(options, id_limit);
  Sampler of_rows = make_sampler(options, id_limit);
  LogitRow row;
  row.set(logits);
  std::map<std::int32_t, int> counts;
  for (int i = 0; i < draws; ++i) {
    const std::int32_t id = sampler.sample(logits).value_or(-1);
    EXPECT_EQ(of_rows.sample(row).value_or(-2), id);
    ++counts[id];
  }
  return counts;
}

TEST(Sampler, GreedyTakesTheHighest) {
  EXPECT_EQ(greedy({-3, 2, 7, 1}), 2);
}
TEST(Sampler, GreedyTakesTheLowestIdAmongEquals) {
  EXPECT_EQ(greedy({1, 7, 7, 7}), 1);
}
TEST(Sampler, GreedyTakesInfinity) {
  EXPECT_EQ(greedy({1, kInf, 3}), 1);
}
TEST(Sampler, PaddingRowsAreNeverTheHighest) {
  EXPECT_EQ(greedy({1, 2, 9, 9}, 2), 1);
}

TEST(Sampler, FindsTheFirstHighestOfALongVocabulary) {
  std::mt19937 engine(5);
  for (const std::size_t size : {1u, 15u, 16u, 17u, 1023u, 1024u, 1025u, 5000u}) {
    SCOPED_TRACE(size);
    for (int round = 0; round < 50; ++round) {
      std::vector<float> logits(size);
      // So few values that many share the highest.
      for (float& logit : logits) logit = static_cast<float>(engine() % 40) - 35;
      const auto highest = std::ranges::max_element(logits);
      EXPECT_EQ(greedy(logits), highest - logits.begin());
      const std::size_t nan = engine() % size;
      logits[nan] = kNan;
      EXPECT_EQ(make_sampler({}, 0).sample(logits).status().message(),
                fmt::format("[logits] expected numbers, got NaN for token {}", nan));
    }
  }
}

TEST(Sampler, NanIsAnErrorWhereverItStands) {
  for (const SamplingOptions& options : {SamplingOptions(), sampling(0.8, 2, 0.9)})
    for (const std::vector<float>& logits :
         {std::vector<float>{kNan, 1, 2}, {1, kNan, 2}, {1, 2, kNan}, {kNan, -kInf}})
      EXPECT_EQ(make_sampler(options).sample(logits).status().code(), Code::kCorrupt);
  // What is never picked does not matter.
  EXPECT_EQ(*make_sampler({}, 2).sample(std::vector<float>{1, 2, kNan}), 1);
}

TEST(Sampler, NoTokenThatIsLeftIsAnError) {
  Sampler sampler = make_sampler({});
  EXPECT_EQ(sampler.sample(std::vector<float>{-kInf, -kInf}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(sampler.sample(std::span<const float>()).status().code(), Code::kInvalidArgument);
}

TEST(Sampler, TemperatureZeroIsGreedy) {
  const auto counts = draw(sampling(0, 0, 1), {1, 1.001F, 0.9F}, 100);
  EXPECT_EQ(counts, (std::map<std::int32_t, int>{{1, 100}}));
}

TEST(Sampler, FollowsTheSoftmaxDistribution) {
  const std::vector<float> logits = {0, 1, 2, -kInf, -kInf, 0.5F};
  constexpr int kDraws = 60000;
  const auto counts = draw(sampling(0.8, 0, 1), logits, kDraws);
  double total = 0;
  for (const float logit : logits)
    if (std::isfinite(logit)) total += std::exp(static_cast<double>(logit) / 0.8);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto found = counts.find(static_cast<std::int32_t>(i));
    const double share = found == counts.end() ? 0 : static_cast<double>(found->second) / kDraws;
    const double expected =
        std::isfinite(logits[i]) ? std::exp(static_cast<double>(logits[i]) / 0.8) / total : 0;
    EXPECT_NEAR(share, expected, 0.01) << i;
  }
}

TEST(Sampler, TopKKeepsTheHighestAndAllThatEqualTheLastOfThem) {
  std::set<std::int32_t> seen;
  for (const auto& [id, count] : draw(sampling(1, 2, 1), {1, 3, 2, 2, 0}, 2000)) seen.insert(id);
  EXPECT_EQ(seen, (std::set<std::int32_t>{1, 2, 3}));
}

TEST(Sampler, TopKBeyondTheVocabularyKeepsAll) {
  EXPECT_EQ(draw(sampling(1, 100, 1), {0, 0, 0}, 1000).size(), 3U);
}

TEST(Sampler, TopPKeepsTokensWhileTheSumBeforeThemIsBelowIt) {
  // Probabilities 0.5, 0.25, 0.125, 0.125.
  const std::vector<float> logits = {std::log(0.125F), std::log(0.5F), std::log(0.25F),
                                     std::log(0.125F)};
  const auto kept = [&](double top_p) {
    std::set<std::int32_t> seen;
    for (const auto& [id, count] : draw(sampling(1, 0, top_p), logits, 4000)) seen.insert(id);
    return seen;
  };
  EXPECT_EQ(kept(0), (std::set<std::int32_t>{1}));
  EXPECT_EQ(kept(0.49), (std::set<std::int32_t>{1}));
  EXPECT_EQ(kept(0.6), (std::set<std::int32_t>{1, 2}));
  EXPECT_EQ(kept(0.8), (std::set<std::int32_t>{0, 1, 2}));  // the lower id among equals
  EXPECT_EQ(kept(0.9), (std::set<std::int32_t>{0, 1, 2, 3}));
}

// The order of Sampler's comment in plain code: probabilities in double precision, and no token
// left out before its turn.
std::int32_t plain_pick(const SamplingOptions& options, const std::vector<float>& logits,
                        double uniform) {
  struct Token {
    std::int32_t id;
    double weight;
  };
  const auto highest = static_cast<double>(*std::ranges::max_element(logits));
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < logits.size(); ++i)
    tokens.push_back({static_cast<std::int32_t>(i),
                      std::exp((static_cast<double>(logits[i]) - highest) / options.temperature)});
  const auto total = [&] {
    double sum = 0;
    for (const Token& token : tokens) sum += token.weight;
    return sum;
  };
  const auto top_k = static_cast<std::size_t>(options.top_k);
  if (top_k > 0 && top_k < logits.size()) {
    std::vector<float> sorted = logits;
    std::ranges::sort(sorted, std::greater<>());
    std::erase_if(tokens, [&](const Token& token) {
      return logits[static_cast<std::size_t>(token.id)] < sorted[top_k - 1];
    });
  }
  if (options.top_p < 1) {
    std::ranges::stable_sort(tokens, std::greater<>(), &Token::weight);
    const double most = options.top_p * total();
    std::size_t kept = 0;
    for (double sum = 0; kept < tokens.size() && (kept == 0 || sum < most); ++kept)
      sum += tokens[kept].weight;
    tokens.resize(kept);
  }
  std::erase_if(tokens, [&](const Token& token) { return token.weight < options.min_p; });
  double left = uniform * total();
  for (const Token& token : tokens)
    if ((left -= token.weight) < 0) return token.id;
  return tokens.back().id;
}

// SplitMix64's value for one draw, as a number below 1.
double plain_uniform(std::uint64_t seed, std::uint64_t draw) {
  const auto mix = [](std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
  };
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
  return static_cast<double>(mix(mix(seed + kGolden) + draw * kGolden) >> 11) * 0x1p-53;
}

TEST(Sampler, PicksWhatPlainCodePicks) {
  std::mt19937 engine(11);
  const auto any = [&](auto... choices) {
    const double all[] = {static_cast<double>(choices)...};
    return all[engine() % sizeof...(choices)];
  };
  constexpr int kCases = 1500;
  // A draw that falls on the border of two tokens within the rounding of their weights may give
  // either: the sum of a vocabulary has a relative error of some 1e-6.
  int others = 0;
  for (int round = 0; round < kCases; ++round) {
    std::vector<float> logits(static_cast<std::size_t>(any(3, 40, 256, 257, 2000, 9000)));
    const auto spread = static_cast<float>(any(0.1, 1, 4, 12));
    for (float& logit : logits) {
      logit = 0;
      for (int i = 0; i < 4; ++i) logit += static_cast<float>(engine() % 512) / 512 - 0.5F;
      logit *= spread;
    }
    if (any(0, 0, 0, 1) != 0)  // what a grammar bars
      for (std::size_t i = 1; i < logits.size(); ++i)
        if (i % 64 != 0) logits[i] = -kInf;
    SamplingOptions options =
        sampling(any(0.2, 0.7, 1, 1.5), static_cast<std::int64_t>(any(0, 0, 1, 5, 40, 700)),
                 any(1, 1, 0.05, 0.5, 0.9, 0.999), engine());
    options.min_p = any(0, 0, 0.01, 0.2);
    const std::int32_t wanted = plain_pick(options, logits, plain_uniform(options.seed, 1));
    const auto picked = make_sampler(options).sample(logits);
    ASSERT_TRUE(picked.ok()) << picked.status().message();
    if (*picked != wanted) ++others;
  }
  EXPECT_LE(others, 1) << "of " << kCases;
}

TEST(Sampler, MinPKeepsWhatIsLikelyEnoughBesideTheMostLikely) {
  // 0.5, 0.25, 0.125, 0.125; at temperature 2 the ratios are the square roots.
  const std::vector<float> logits = {std::log(0.125F), std::log(0.5F), std::log(0.25F),
                                     std::log(0.125F)};
  const auto kept = [&](double min_p, double temperature, double top_p) {
    SamplingOptions options = sampling(temperature, 0, top_p);
    options.min_p = min_p;
    std::set<std::int32_t> seen;
    for (const auto& [id, count] : draw(options, logits, 4000)) seen.insert(id);
    return seen;
  };
  EXPECT_EQ(kept(0.2, 1, 1).size(), 4U);
  EXPECT_EQ(kept(0.4, 1, 1), (std::set<std::int32_t>{1, 2}));
  EXPECT_EQ(kept(0.6, 1, 1), (std::set<std::int32_t>{1}));
  EXPECT_EQ(kept(1, 1, 1), (std::set<std::int32_t>{1}));
  EXPECT_EQ(kept(0.6, 2, 1), (std::set<std::int32_t>{1, 2}));
  EXPECT_EQ(kept(0.2, 1, 0.6), (std::set<std::int32_t>{1, 2}));
}

TEST(Sampler, TopPSeesWhatTemperatureAndTopKLeft) {
  // 0.5, 0.3, 0.2: after top-k 2 the first has 0.625 of what is left, so top-p 0.6 keeps it alone.
  // If top-p came first (0.5 < 0.6), the second would stay.
  const std::vector<float> logits = {std::log(0.5F), std::log(0.3F), std::log(0.2F)};
  EXPECT_EQ(draw(sampling(1, 2, 0.6), logits, 2000).size(), 1U);
  EXPECT_EQ(draw(sampling(1, 0, 0.6), logits, 2000).size(), 2U);
  // The first has 0.41 at temperature 2: top-p works on the flattened distribution.
  EXPECT_EQ(draw(sampling(2, 0, 0.45), logits, 2000).size(), 2U);
  EXPECT_EQ(draw(sampling(1, 0, 0.45), logits, 2000).size(), 1U);
}

TEST(Sampler, PaddingRowsAreNeverDrawn) {
  EXPECT_EQ(draw(sampling(1, 0, 1), {0, 0, 50, 50}, 1000, 2).size(), 2U);
}

TEST(Sampler, TinyTemperatureDoesNotOverflow) {
  const auto counts = draw(sampling(1e-300, 5, 0.9), {3, 80, -70}, 50);
  EXPECT_EQ(counts, (std::map<std::int32_t, int>{{1, 50}}));
}

TEST(Sampler, SameSeedGivesTheSameTokensEverywhere) {
  const std::vector<float> flat(1000, 0.0F);
  Sampler sampler = make_sampler(sampling(1, 0, 1, 42));
  std::vector<std::int32_t> picked;
  for (int i = 0; i < 8; ++i) picked.push_back(sampler.sample(flat).value_or(-1));
  // Equal logits make the weights exactly 1, so these ids depend on the generator alone.
  EXPECT_EQ(picked, (std::vector<std::int32_t>{343, 955, 486, 67, 676, 67, 195, 734}));
}

TEST(Sampler, OtherSeedsGiveOtherTokens) {
  const std::vector<float> flat(1000, 0.0F);
  std::set<std::int32_t> first;
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    first.insert(make_sampler(sampling(1, 0, 1, seed)).sample(flat).value_or(-1));
  EXPECT_GT(first.size(), 40U);
}

TEST(Sampler, OptionsOutOfRangeAreNamed) {
  const struct {
    SamplingOptions options;
    const char* name;
  } cases[] = {{sampling(-1, 0, 1), "[temperature]"},
               {sampling(static_cast<double>(kNan), 0, 1), "[temperature]"},
               {sampling(1, -1, 1), "[top_k]"},
               {sampling(1, 0, 1.5), "[top_p]"},
               {sampling(1, 0, static_cast<double>(kNan)), "[top_p]"}};
  for (const auto& item : cases) {
    const Status status = Sampler::create(item.options).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message().find(item.name), 0U) << status.message();
  }
}

TEST(SamplingDefaults, AreGreedyUnlessTheModelSamples) {
  EXPECT_TRUE(sampling_from_generation(Json::object())->greedy);
  EXPECT_TRUE(sampling_from_generation({{"do_sample", false}, {"temperature", 0.5}})->greedy);
}

TEST(SamplingDefaults, AreThoseOfTransformersWhereTheFileIsSilent) {
  const auto options = sampling_from_generation({{"do_sample", true}, {"temperature", 0.5}});
  ASSERT_TRUE(options.ok());
  EXPECT_FALSE(options->greedy);
  EXPECT_EQ(options->temperature, 0.5);
  EXPECT_EQ(options->top_k, 50);
  EXPECT_EQ(options->top_p, 1);
}

TEST(SamplingDefaults, OfAWrongTypeAreAnError) {
  EXPECT_EQ(sampling_from_generation({{"do_sample", "yes"}}).status().code(), Code::kParseError);
  EXPECT_EQ(sampling_from_generation({{"do_sample", true}, {"top_p", 7}}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(sampling_from_generation({{"repetition_penalty", -1}}).status().code(),
            Code::kInvalidArgument);
}

TEST(SamplingDefaults, PenaltiesHoldForGreedyToo) {
  const auto options =
      sampling_from_generation({{"repetition_penalty", 1.1}, {"no_repeat_ngram_size", 3}});
  ASSERT_TRUE(options.ok());
  EXPECT_TRUE(options->greedy);
  EXPECT_EQ(options->processors.repetition_penalty, 1.1);
  EXPECT_EQ(options->processors.no_repeat_ngram, 3);
}

TEST(SamplingRequests, StandOverTheDefaultsOfTheModel) {
  const Json samples = {{"do_sample", true}, {"temperature", 0.7}, {"repetition_penalty", 1.2}};
  const auto plain = resolve_sampling({}, samples);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->temperature, 0.7);
  EXPECT_FALSE(plain->is_greedy());
  SamplingRequest request;
  request.top_p = 0.5;
  request.seed = 9;
  const auto mixed = resolve_sampling(request, samples);
  ASSERT_TRUE(mixed.ok());
  EXPECT_EQ(mixed->temperature, 0.7);
  EXPECT_EQ(mixed->top_p, 0.5);
  EXPECT_EQ(mixed->seed, 9U);
  EXPECT_FALSE(resolve_sampling(request, Json::object())->is_greedy()) << "top-p asks to sample";
  request.is_greedy = true;
  EXPECT_TRUE(resolve_sampling(request, samples)->is_greedy());
  EXPECT_EQ(resolve_sampling(request, samples)->processors.repetition_penalty, 1);
  request.is_greedy = false;
  request.temperature = -1;
  EXPECT_EQ(resolve_sampling(request, samples).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace anemone::engine
