// SPDX-License-Identifier: Apache-2.0
// Speculative decoding in the engine loop: whoever proposes whatever, a text is the one without
// proposals.
#include <algorithm>
#include <deque>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <utility>

#include "base/file.h"
#include "engine/loop/engine.h"
#include "tests/engine/loaded_fake.h"
#include "tests/engine/scripted_proposer.h"

namespace anemone::engine {
namespace {

using testing::engine_options;
using testing::FakeOptions;
using testing::LoadedFake;
using testing::prompt_of;
using testing::Script;
using testing::scripted;

using Ids = std::vector<std::int32_t>;

struct Asked {
  Ids prompt;
  GenerateOptions options;
  std::optional<Result<GenerateResult>> end;
};

GenerateOptions sampled(std::uint64_t seed, std::int64_t tokens) {
  GenerateOptions options;
  options.max_new_tokens = tokens;
  options.ignore_eos = true;
  options.as_text = false;
  if (seed % 3 == 0) return options;  // greedy
  options.sampling.greedy = false;
  options.sampling.seed = seed;
  options.sampling.temperature = seed % 3 == 1 ? 0.7 : 1.3;
  if (seed % 2 == 0) options.sampling.top_k = 10;
  if (seed % 5 == 0) options.sampling.processors.repetition_penalty = 1.3;
  if (seed % 7 == 0) options.sampling.processors.frequency_penalty = 0.4;
  if (seed % 4 == 0) options.top_logprobs = 2;
  return options;
}

std::vector<GenerateResult> run(const std::shared_ptr<const Model>& model, std::deque<Asked> all,
                                EngineOptions options) {
  Engine engine(options);
  for (Asked& asked : all) {
    Request request;
    request.model = model;
    request.choices.push_back(
        {asked.prompt, asked.options,
         [&asked](Result<GenerateResult> result) { asked.end = std::move(result); }});
    EXPECT_TRUE(engine.submit(std::move(request)).ok());
  }
  while (engine.counts().running + engine.counts().waiting > 0) engine.turn();
  std::vector<GenerateResult> out;
  for (Asked& asked : all) {
    EXPECT_TRUE(asked.end.has_value() && asked.end->ok())
        << (asked.end ? asked.end->status().message() : "no end");
    out.push_back(asked.end && asked.end->ok() ? **asked.end : GenerateResult());
  }
  return out;
}

std::int64_t accepted_of(const std::vector<GenerateResult>& results) {
  std::int64_t out = 0;
  for (const GenerateResult& result : results) out += result.timing.accepted_tokens;
  return out;
}

std::int64_t proposed_of(const std::vector<GenerateResult>& results) {
  std::int64_t out = 0;
  for (const GenerateResult& result : results) out += result.timing.proposed_tokens;
  return out;
}

void expect_same(const std::vector<GenerateResult>& got,
                 const std::vector<GenerateResult>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].ids, expected[i].ids) << "text " << i;
    EXPECT_EQ(got[i].finish, expected[i].finish) << "text " << i;
    ASSERT_EQ(got[i].logprobs.size(), expected[i].logprobs.size());
    for (std::size_t t = 0; t < got[i].logprobs.size(); ++t) {
      EXPECT_EQ(got[i].logprobs[t].logprob, expected[i].logprobs[t].logprob);
      EXPECT_EQ(got[i].logprobs[t].top, expected[i].logprobs[t].top);
    }
    EXPECT_EQ(got[i].timing.decode_steps + got[i].timing.accepted_tokens,
              expected[i].timing.decode_steps);
    EXPECT_LE(got[i].timing.accepted_tokens, got[i].timing.proposed_tokens);
  }
}

// A model, and texts that it made without proposals.
struct Known {
  Known(bool has_states, bool reads_weights_once) : fake(options_of(has_states)) {
    fake.executor.counts().reads_weights_once = reads_weights_once;
    for (std::uint32_t i = 0; i < 60; ++i) {
      Asked& text = asked.emplace_back();
      text.prompt =
          prompt_of(1 + i % 13, i + 1 + (has_states ? 60 : 0) + (reads_weights_once ? 120 : 0));
      // Some until the context is full.
      text.options = sampled(i, i % 20 == 5 ? GenerateOptions::kUntilFull : 1 + i % 24);
    }
    plain = run(fake.model, asked, engine_options(1, {}));
    for (std::size_t i = 0; i < plain.size(); ++i) {
      Ids& text = texts.emplace_back(asked[i].prompt);
      text.insert(text.end(), plain[i].ids.begin(), plain[i].ids.end());
    }
  }
  static FakeOptions options_of(bool has_states) {
    FakeOptions options;
    options.states = has_states;
    options.context = 40;
    options.widths = {1, 16};
    options.heads = 1;
    return options;
  }

  LoadedFake fake;
  std::deque<Asked> asked;
  std::vector<GenerateResult> plain;
  std::deque<Ids> texts;
};

// Caches as inputs and outputs or as states; all tokens in one chunk or each in its own. The tests
// of one form share the texts: 240 prompts in all.
class Speculating : public ::testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  static Known& known() {
    static std::map<std::tuple<bool, bool>, std::unique_ptr<Known>> forms;
    auto& form = forms[GetParam()];
    if (form == nullptr)
      form = std::make_unique<Known>(std::get<0>(GetParam()), std::get<1>(GetParam()));
    return *form;
  }

  LoadedFake* const fake_ = &known().fake;
  const std::deque<Asked>& asked_ = known().asked;
  const std::vector<GenerateResult>& plain_ = known().plain;
  const std::deque<Ids>& texts_ = known().texts;
};
INSTANTIATE_TEST_SUITE_P(Forms, Speculating,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param) ? "States" : "Tensors") +
                                  (std::get<1>(info.param) ? "InSingleTokens" : "InOneChunk");
                         });

TEST_P(Speculating, TextsAreTheSameWhateverIsProposed) {
  for (const Script script :
       {Script::kPerfect, Script::kGarbage, Script::kMixed, Script::kMadness}) {
    SCOPED_TRACE(static_cast<int>(script));
    for (const std::size_t sequences : {1U, 5U}) {
      const auto got =
          run(fake_->model, asked_, engine_options(sequences, scripted(script, texts_)));
      expect_same(got, plain_);
      const bool is_wrong = script == Script::kGarbage || script == Script::kMadness;
      EXPECT_EQ(accepted_of(got) > 200, !is_wrong);
      EXPECT_EQ(accepted_of(got) == 0, is_wrong);
    }
  }
}

TEST_P(Speculating, TextsAreTheSameWithNgrams) {
  for (const bool is_adaptive : {false, true})
    for (const std::size_t sequences : {1U, 6U}) {
      SpeculationOptions ngrams;
      ngrams.ngram = 3;
      ngrams.is_adaptive = is_adaptive;
      const auto got = run(fake_->model, asked_, engine_options(sequences, ngrams));
      expect_same(got, plain_);
      // Whether proposals pay is a question of measured times.
      if (!is_adaptive) {
        EXPECT_GT(proposed_of(got), 50) << "or nothing was tested";
      }
    }
}

TEST_P(Speculating, AVerifyStepThatFailsHarmsNoText) {
  constexpr std::ptrdiff_t kFirst = 16;  // this text and the three after it have 17 to 20 tokens
  std::deque<Asked> asked = asked_;
  std::vector<GenerateResult> plain = plain_;
  std::rotate(asked.begin(), asked.begin() + kFirst, asked.end());
  std::rotate(plain.begin(), plain.begin() + kFirst, plain.end());
  std::vector<int> tokens;
  auto& counts = fake_->executor.counts();
  for (const auto& [texts, after] : {std::pair<std::size_t, int>{1, 1}, {4, 1}, {4, 5}, {4, 9}}) {
    SCOPED_TRACE(::testing::Message() << texts << " texts, after " << after << " tokens");
    // The step fails that follows once each of the first texts has `after` tokens: they do not read
    // their prompts any more, and a prompt alone in a step would end its text.
    tokens.assign(texts, 0);
    counts.failures = 1;
    for (std::size_t i = 0; i < texts; ++i)
      asked[i].options.is_complete = [&, i, least = after] {
        ++tokens[i];
        if (counts.failures == 1 && *std::ranges::min_element(tokens) >= least)
          counts.fail_after = 0;
        return false;
      };
    const auto got =
        run(fake_->model, asked, engine_options(texts, scripted(Script::kPerfect, texts_)));
    EXPECT_EQ(counts.failures, 0) << "or nothing was tested";
    ASSERT_EQ(got.size(), plain.size());
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i].ids, plain[i].ids) << i;
  }
}

TEST_P(Speculating, ADraftModelProposes) {
  SpeculationOptions same;
  same.draft = fake_->model;
  same.is_adaptive = false;
  auto got = run(fake_->model, asked_, engine_options(3, same));
  expect_same(got, plain_);
  EXPECT_GT(accepted_of(got), 100) << "the model itself is right about greedy texts";
  FakeOptions small;
  small.shards = 1;
  small.widths = {1, 16};
  small.context = 24;  // shorter than some texts
  const LoadedFake other(small);
  SpeculationOptions smaller = same;
  smaller.draft = other.model;
  got = run(fake_->model, asked_, engine_options(3, smaller));
  expect_same(got, plain_);
  EXPECT_GT(proposed_of(got), 100) << "or nothing was tested";
}

TEST(SpeculationChecks, ADraftModelHasTheSameVocabulary) {
  FakeOptions options;
  const LoadedFake fake(options);
  options.vocab = 60;
  const LoadedFake other(options);
  SpeculationOptions speculation;
  speculation.draft = other.model;
  EXPECT_EQ(check_speculation(speculation, *fake.model).code(), Code::kInvalidArgument);
  speculation.draft = fake.model;
  EXPECT_TRUE(check_speculation(speculation, *fake.model).ok());
  speculation.ngram = 1;
  EXPECT_EQ(check_speculation(speculation, *fake.model).code(), Code::kInvalidArgument);
}

TEST(SpeculationMemory, CachesOfADraftModelCountInTheSameBudget) {
  const LoadedFake fake{FakeOptions{}};
  SpeculationOptions speculation;
  speculation.draft = fake.model;
  Choice choice;
  choice.prompt = {1, 2, 3};
  choice.options.max_new_tokens = 7;
  EXPECT_EQ(reserved_bytes(*fake.model, choice, speculation),
            2 * reserved_bytes(*fake.model, choice, {}));
}

// Token 49 is NaN wherever it is run: nobody picks it, but it is proposed.
TEST(SpeculationFailures, ATokenThatGivesNanEndsTheProposalsAndNotTheText) {
  FakeOptions options;
  LoadedFake fake(options);
  std::string rows = *read_file(fake.folder.file("embedding.bin"));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t c = 0; c < testing::kFakeHidden; ++c)
    rows.replace(static_cast<std::size_t>(49 * testing::kFakeHidden + c) * sizeof(float),
                 sizeof(float), reinterpret_cast<const char*>(&nan), sizeof(float));
  ASSERT_TRUE(write_file(fake.folder.file("embedding.bin"), rows).ok());
  auto model = Model::load(fake.folder.path(), fake.executor);
  ASSERT_TRUE(model.ok());
  class Nan : public Proposer {
   public:
    std::optional<int> look(std::span<const std::int32_t> /*ids*/) override { return 0; }
    Status propose(std::int64_t /*most*/, std::vector<std::int32_t>& tokens) override {
      tokens.push_back(49);
      return {};
    }
  };
  std::deque<Asked> asked(1);
  asked[0].prompt = {1, 2, 3, 4, 5};
  asked[0].options = sampled(0, 12);
  asked[0].options.sampling.processors.logit_bias = {{49, -1000.0F}};
  const auto plain = run(*model, asked, engine_options(1, {}));
  SpeculationOptions speculation;
  speculation.is_adaptive = false;
  speculation.make_proposer = []() -> Result<std::unique_ptr<Proposer>> {
    return std::unique_ptr<Proposer>(std::make_unique<Nan>());
  };
  const auto got = run(*model, asked, engine_options(1, speculation));
  EXPECT_EQ(got[0].ids, plain[0].ids);
}

}  // namespace
}  // namespace anemone::engine
