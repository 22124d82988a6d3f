// SPDX-License-Identifier: Apache-2.0
// Texts that end, wait or are kept within a run of proposed tokens that are right.
#include <atomic>
#include <deque>
#include <gtest/gtest.h>

#include "engine/loop/engine.h"
#include "tests/engine/scripted_model.h"
#include "tests/engine/scripted_proposer.h"

namespace anemone::engine {
namespace {

using testing::bytes_of;
using testing::engine_options;
using testing::kImEnd;
using testing::Script;
using testing::scripted;
using testing::ScriptedModel;

using Ids = std::vector<std::int32_t>;

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
