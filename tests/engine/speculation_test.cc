// SPDX-License-Identifier: Apache-2.0
// Speculative decoding in the engine loop: whoever proposes whatever, a text is the one without
// proposals.
#include <algorithm>
#include <deque>
#include <gtest/gtest.h>
#include <limits>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "engine/loop/engine.h"
#include "tests/engine/loaded_fake.h"
#include "tests/engine/scripted_model.h"

namespace anemone::engine {
namespace {

using testing::bytes_of;
using testing::FakeOptions;
using testing::kImEnd;
using testing::LoadedFake;
using testing::prompt_of;
using testing::ScriptedModel;

using Ids = std::vector<std::int32_t>;

// What a scripted proposer says: the text that is to come, something else, or one after the other.
enum class Script { kPerfect, kGarbage, kMixed, kMadness };

// Knows whole texts, prompt included.
class ScriptedProposer : public Proposer {
 public:
  ScriptedProposer(Script script, const std::deque<Ids>& texts) : script_(script), texts_(texts) {}
  std::optional<int> look(std::span<const std::int32_t> ids) override {
    length_ = ids.size();
    text_ = nullptr;
    for (const Ids& text : texts_)
      if (text.size() > length_ && std::equal(ids.begin(), ids.end(), text.begin())) text_ = &text;
    return 1;
  }
  Status propose(std::int64_t most, std::vector<std::int32_t>& tokens) override {
    ++calls_;
    if (script_ == Script::kMadness) {
      tokens.assign(static_cast<std::size_t>(most), calls_ % 2 == 0 ? -5 : 1 << 30);
      return calls_ % 3 == 0 ? internal_error("[proposer] expected to work, got a failure")
                             : Status();
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(most); ++i) {
      const bool is_known = text_ != nullptr && length_ + i < text_->size();
      const std::int32_t right = is_known ? (*text_)[length_ + i] : 0;
      const bool is_wrong = script_ == Script::kGarbage ||
                            (script_ == Script::kMixed && (length_ + i + calls_) % 5 == 0);
      tokens.push_back(is_wrong ? (right + 1) % 50 : right);
    }
    return {};
  }

 private:
  const Script script_;
  const std::deque<Ids>& texts_;
  const Ids* text_ = nullptr;
  std::size_t length_ = 0;
  std::size_t calls_ = 0;
};

EngineOptions engine_options(std::size_t sequences, SpeculationOptions speculation) {
  EngineOptions out{.sequences = sequences, .queue = 1000};
  out.speculation = std::move(speculation);
  return out;
}

// Proposes in every step in which it can.
SpeculationOptions scripted(Script script, const std::deque<Ids>& texts) {
  SpeculationOptions out;
  out.is_adaptive = false;
  out.make_proposer = [script, &texts]() -> Result<std::unique_ptr<Proposer>> {
    return std::unique_ptr<Proposer>(std::make_unique<ScriptedProposer>(script, texts));
  };
  return out;
}

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
      EXPECT_GE(proposed_of(got), is_adaptive ? 0 : 50) << "or nothing was tested";
    }
}

TEST_P(Speculating, AVerifyStepThatFailsHarmsNoText) {
  for (const int after : {3, 10, 25}) {
    fake_->executor.counts().fail_after = after;
    fake_->executor.counts().failures = 1;
    const auto got = run(fake_->model, asked_, engine_options(4, scripted(Script::kMixed, texts_)));
    EXPECT_EQ(fake_->executor.counts().failures, 0) << "or nothing was tested";
    ASSERT_EQ(got.size(), plain_.size());
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i].ids, plain_[i].ids) << i;
  }
}

TEST_P(Speculating, ADraftModelProposes) {
  SpeculationOptions same;
  same.draft = fake_->model;
  same.is_adaptive = false;
  same.max_tokens = 4;
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

// The script of a model with a tokenizer: ends within a run of tokens that are right.
class SpeculationEnds : public ::testing::Test {
 protected:
  SpeculationEnds() {
    const Ids said = bytes_of("abcdefghijklmnopqrstuvwxyz");
    scripted_.say(3, said);
    Ids& text = texts_.emplace_back(prompt_);
    text.insert(text.end(), said.begin(), said.end());
  }
  GenerateResult generate_with(GenerateOptions options) {
    Engine engine(engine_options(1, scripted(Script::kPerfect, texts_)));
    auto result = generate(engine, scripted_.model(), prompt_, std::move(options));
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? *std::move(result) : GenerateResult();
  }

  ScriptedModel scripted_;
  const Ids prompt_ = {10, 11, 12};
  std::deque<Ids> texts_;
};

TEST_F(SpeculationEnds, AtTheNumberOfTokens) {
  for (const std::int64_t tokens : {0, 1, 2, 9, 20}) {
    GenerateOptions options;
    options.max_new_tokens = tokens;
    const GenerateResult result = generate_with(options);
    EXPECT_EQ(std::ssize(result.ids), tokens);
    EXPECT_EQ(result.finish, FinishReason::kLength);
  }
}

TEST_F(SpeculationEnds, AtAStopString) {
  GenerateOptions options;
  options.stop = {"hi"};
  const GenerateResult result = generate_with(options);
  EXPECT_EQ(result.text, "abcdefg");
  EXPECT_EQ(result.finish, FinishReason::kStop);
  EXPECT_GT(result.timing.accepted_tokens, 3);
}

TEST_F(SpeculationEnds, AtAnEndOfTextToken) {
  scripted_.say(9, {kImEnd});
  const GenerateResult result = generate_with({});
  EXPECT_EQ(result.text, "abcdef");
  EXPECT_EQ(result.finish, FinishReason::kStop);
}

TEST_F(SpeculationEnds, WithinOneTokenOfACancelledRequest) {
  std::atomic<bool> cancel = false;
  GenerateOptions options;
  options.cancel = &cancel;
  int pieces = 0;
  options.on_piece = [&](const TextPiece&) {
    if (++pieces == 6) cancel = true;
    return Status();
  };
  const GenerateResult result = generate_with(options);
  EXPECT_EQ(result.finish, FinishReason::kCancelled);
  EXPECT_LE(pieces, 7);
}

TEST_F(SpeculationEnds, ATextThatIsPausedTakesNoMoreTokens) {
  bool is_paused = false;
  int pieces = 0;
  Engine engine(engine_options(1, scripted(Script::kPerfect, texts_)));
  std::optional<Result<GenerateResult>> end;
  Request request;
  request.model = scripted_.model();
  Choice& choice = request.choices.emplace_back();
  choice.prompt = prompt_;
  choice.options.max_new_tokens = 20;
  choice.options.is_paused = [&] { return is_paused; };
  choice.options.on_piece = [&](const TextPiece&) {
    is_paused = ++pieces == 6;
    return Status();
  };
  choice.on_end = [&](Result<GenerateResult> result) { end = std::move(result); };
  ASSERT_TRUE(engine.submit(std::move(request)).ok());
  while (pieces < 6) engine.turn();
  for (int i = 0; i < 5; ++i) engine.turn();
  EXPECT_EQ(pieces, 6);
  is_paused = false;
  while (!end) engine.turn();
  ASSERT_TRUE(end->ok());
  EXPECT_EQ((*end)->text, "abcdefghijklmnopqrst");
}

// What was proposed and dropped must not stay in the sequence that is kept for the next prompt.
TEST_F(SpeculationEnds, ASequenceThatIsKeptHoldsTheTextAlone) {
  Engine engine(engine_options(1, scripted(Script::kMixed, texts_)));
  GenerateOptions options;
  options.max_new_tokens = 12;
  ASSERT_TRUE(generate(engine, scripted_.model(), prompt_, options).ok());
  Ids next = texts_.front();
  next.resize(prompt_.size() + 12);
  next.push_back('!');
  options.max_new_tokens = 1;
  const auto result = generate(engine, scripted_.model(), next, options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->timing.reused_tokens, 3 + 11) << "all but the last one was run";
  EXPECT_EQ(result->text, "n") << "the script goes by the position";
}

}  // namespace
}  // namespace anemone::engine
