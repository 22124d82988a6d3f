// SPDX-License-Identifier: Apache-2.0
// The engine's loop over scripted models: which texts share a step, wait, are cancelled or fail.
#include "engine/loop/engine.h"

#include <future>
#include <gtest/gtest.h>
#include <new>

#include "engine/loop/engine_thread.h"
#include "tests/engine/scripted_model.h"

namespace anemone::engine {
namespace {

using testing::bytes_of;
using testing::kImEnd;
using testing::ScriptedModel;
using testing::ScriptOptions;

using Ids = std::vector<std::int32_t>;

Ids numbered(std::int32_t first, std::size_t count) {
  Ids ids(count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = (first + static_cast<std::int32_t>(i)) % 200;
  return ids;
}

// What became of a text.
struct Answer {
  std::optional<Result<GenerateResult>> end;
  int pieces = 0;
  std::shared_ptr<std::atomic<bool>> cancel = std::make_shared<std::atomic<bool>>(false);

  bool has_ended() const { return end.has_value(); }
  bool is_good() const { return end && end->ok(); }
};

class EngineTest : public ::testing::Test {
 protected:
  static ScriptOptions script() {
    ScriptOptions options;
    options.context = 512;
    return options;
  }
  Choice choice(Answer& answer, Ids prompt, std::int64_t tokens = 4) {
    Choice out;
    out.prompt = std::move(prompt);
    out.options.max_new_tokens = tokens;
    out.options.ignore_eos = true;
    cancel_ = answer.cancel;
    out.options.on_piece = [&answer](const TextPiece&) {
      ++answer.pieces;
      return Status();
    };
    out.on_end = [&answer](Result<GenerateResult> result) {
      EXPECT_FALSE(answer.end.has_value()) << "a text ends once";
      answer.end = std::move(result);
    };
    return out;
  }
  Status submit(Engine& engine, Choice asked) {
    Request request;
    request.model = scripted_.model();
    request.choices.push_back(std::move(asked));
    request.cancel = cancel_;
    return engine.submit(std::move(request));
  }
  // Turns until nothing is left to do.
  static void run(Engine& engine) {
    while (engine.counts().waiting + engine.counts().running > 0) engine.turn();
  }

  ScriptedModel scripted_{script()};
  CancelFlag cancel_;  // of the last choice
};

TEST_F(EngineTest, TextsShareTheSteps) {
  Engine engine({.sequences = 4});
  Answer alone;
  ASSERT_TRUE(submit(engine, choice(alone, numbered(1, 3), 10)).ok());
  run(engine);
  ASSERT_TRUE(alone.is_good());
  Answer answers[4];
  for (int i = 0; i < 4; ++i)
    ASSERT_TRUE(submit(engine, choice(answers[i], numbered(50 * i, 3), 10)).ok());
  int turns = 0;
  while (engine.counts().waiting + engine.counts().running > 0) {
    engine.turn();
    ++turns;
  }
  for (const Answer& answer : answers) {
    ASSERT_TRUE(answer.is_good());
    EXPECT_EQ((*answer.end)->ids, (*alone.end)->ids) << "the script goes by the position alone";
    EXPECT_EQ(answer.pieces, 10);
  }
  // One chunk of all prompts, then nine steps of all together.
  EXPECT_LE(turns, 1 + 9 + 1);
}

TEST_F(EngineTest, RefusesOneTooManyAndTakesTheOthersInOrder) {
  Engine engine({.sequences = 1, .queue = 2});
  Answer first, second, third, fourth;
  ASSERT_TRUE(submit(engine, choice(first, {1})).ok());
  engine.turn();
  ASSERT_TRUE(submit(engine, choice(second, {2})).ok());
  ASSERT_TRUE(submit(engine, choice(third, {3})).ok());
  EXPECT_EQ(submit(engine, choice(fourth, {4})).code(), Code::kBusy);
  EXPECT_EQ(engine.counts().running, 1U);
  EXPECT_EQ(engine.counts().waiting, 2U);
  while (!second.has_ended()) engine.turn();
  EXPECT_TRUE(first.has_ended());
  EXPECT_FALSE(third.has_ended());
  run(engine);
  EXPECT_TRUE(third.is_good());
  EXPECT_FALSE(fourth.has_ended());
  EXPECT_EQ(engine.counts().finished, 3U);
  EXPECT_EQ(engine.counts().cancelled, 0U);
}

TEST_F(EngineTest, CancelsWithinOneTurnWhatWaitsAndWhatRuns) {
  Engine engine({.sequences = 1});
  Answer running, waiting;
  ASSERT_TRUE(submit(engine, choice(running, {1}, 100)).ok());
  ASSERT_TRUE(submit(engine, choice(waiting, {2})).ok());
  engine.turn();
  engine.turn();
  *waiting.cancel = true;
  engine.turn();
  ASSERT_TRUE(waiting.is_good());
  EXPECT_EQ((*waiting.end)->finish, FinishReason::kCancelled);
  EXPECT_EQ(waiting.pieces, 0);
  const int before = running.pieces;
  *running.cancel = true;
  engine.turn();
  ASSERT_TRUE(running.is_good());
  EXPECT_EQ((*running.end)->finish, FinishReason::kCancelled);
  EXPECT_EQ(running.pieces, before);
  EXPECT_EQ(engine.counts().cancelled, 2U);
  EXPECT_EQ(engine.counts().finished, 2U);
}

TEST_F(EngineTest, CancelsInTheMiddleOfAPrompt) {
  Answer other, answer;  // the engine ends what still runs before they go
  Engine engine({.sequences = 2});
  ASSERT_TRUE(submit(engine, choice(other, {1}, 100)).ok());
  ASSERT_TRUE(submit(engine, choice(answer, numbered(1, 400))).ok());
  engine.turn();
  *answer.cancel = true;
  engine.turn();
  ASSERT_TRUE(answer.is_good());
  EXPECT_EQ((*answer.end)->finish, FinishReason::kCancelled);
  EXPECT_FALSE(other.has_ended());
}

TEST_F(EngineTest, EndsATextThatThrowsAndGoesOn) {
  Engine engine({.sequences = 2});
  const auto fail = [&]<typename Exception>(Exception /*kind*/) {
    Answer answer, beside;
    Choice asked = choice(answer, {1, 2});
    asked.options.on_piece = [](const TextPiece&) -> Status { throw Exception{}; };
    EXPECT_TRUE(submit(engine, std::move(asked)).ok());
    EXPECT_TRUE(submit(engine, choice(beside, {5, 6})).ok());
    run(engine);
    EXPECT_TRUE(beside.is_good());
    return answer.end ? answer.end->status().code() : Code::kOk;
  };
  struct OddException : std::exception {};
  EXPECT_EQ(fail(std::bad_alloc()), Code::kOutOfMemory);
  EXPECT_EQ(fail(OddException()), Code::kInternal);
  EXPECT_EQ(fail(7), Code::kInternal);
}

TEST_F(EngineTest, ReadsAPromptOnceThatSeveralTextsBeginWith) {
  Engine engine({.sequences = 8});
  const Ids system = numbered(3, 300);
  Answer answers[8];
  for (int i = 0; i < 8; ++i) {
    Ids prompt = system;
    prompt.push_back(200 + i);
    ASSERT_TRUE(submit(engine, choice(answers[i], prompt)).ok());
  }
  run(engine);
  std::int64_t read = 0;
  for (const Answer& answer : answers) {
    ASSERT_TRUE(answer.is_good());
    const Timing& timing = (*answer.end)->timing;
    read += timing.prompt_tokens - timing.reused_tokens;
  }
  EXPECT_EQ(read, 300 + 8);
}

TEST_F(EngineTest, ChoicesOfARequestReadTheirPromptOnce) {
  Engine engine({.sequences = 2});
  Answer answers[5];
  Request request;
  request.model = scripted_.model();
  for (Answer& answer : answers) request.choices.push_back(choice(answer, numbered(3, 100)));
  ASSERT_TRUE(engine.submit(std::move(request)).ok());
  engine.turn();
  EXPECT_EQ(engine.counts().running, 1U);
  EXPECT_EQ(engine.counts().waiting, 0U) << "a request that runs does not wait, too";
  run(engine);
  std::int64_t read = 0;
  for (const Answer& answer : answers) {
    ASSERT_TRUE(answer.is_good());
    read += 100 - (*answer.end)->timing.reused_tokens;
  }
  EXPECT_EQ(read, 100 + 4) << "the last token of each is run for its logits";
  EXPECT_EQ(engine.counts().finished, 1U);
}

TEST_F(EngineTest, GoesOnWithATextThatHasEnded) {
  Engine engine({});
  Answer first, second, third;
  ASSERT_TRUE(submit(engine, choice(first, numbered(1, 100))).ok());
  run(engine);
  Ids next = numbered(1, 100);
  next.insert(next.end(), (*first.end)->ids.begin(), (*first.end)->ids.end());
  next.push_back(9);
  ASSERT_TRUE(submit(engine, choice(second, next)).ok());
  run(engine);
  EXPECT_EQ((*second.end)->timing.reused_tokens, 103) << "all that was run";
  // Another end of the same prompt: the part is copied, and the first text keeps what it has.
  Ids other = numbered(1, 90);
  other.push_back(199);
  Answer fourth;
  ASSERT_TRUE(submit(engine, choice(third, other)).ok());
  run(engine);
  EXPECT_EQ((*third.end)->timing.reused_tokens, 90);
}

TEST(EnginePrompts, CancelInTheMiddleOfASharedChunkEndsOneTextAlone) {
  ScriptOptions options;
  options.context = 512;
  const auto cancel = std::make_shared<std::atomic<bool>>(false);
  options.on_run = [&] { *cancel = true; };
  const ScriptedModel scripted(options);
  std::optional<Result<GenerateResult>> ends[3];
  Engine engine({.sequences = 3});
  for (std::int32_t i = 0; i < 3; ++i) {
    Request request;
    request.model = scripted.model();
    Choice& choice = request.choices.emplace_back();
    choice.prompt = numbered(50 * i, 20);
    choice.options.max_new_tokens = 4;
    choice.options.ignore_eos = true;
    choice.on_end = [&end = ends[i]](Result<GenerateResult> result) { end = std::move(result); };
    if (i == 1) request.cancel = cancel;
    ASSERT_TRUE(engine.submit(std::move(request)).ok());
  }
  engine.turn();
  ASSERT_TRUE(ends[1].has_value() && ends[1]->ok());
  EXPECT_EQ((*ends[1])->finish, FinishReason::kCancelled);
  EXPECT_TRUE((*ends[1])->ids.empty());
  EXPECT_FALSE(ends[0].has_value() || ends[2].has_value());
  while (engine.counts().running > 0) engine.turn();
  for (const int i : {0, 2}) {
    ASSERT_TRUE(ends[i].has_value() && ends[i]->ok());
    EXPECT_EQ((*ends[i])->ids.size(), 4U);
  }
}

// The chunk of a long prompt is one run of eight in the model; texts run between them.
TEST(EngineMeanwhile, TextsDecodeAndShortPromptsAreReadInTheMiddleOfAChunk) {
  ScriptOptions options;
  options.context = 512;
  int runs = 0;
  std::function<void(int)> on_run;
  options.on_run = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (on_run) on_run(++runs);
  };
  const ScriptedModel scripted(options);
  Engine engine({.sequences = 4});
  int decoded = 0, slow = 0, quick = 0;
  bool has_ended_too_early = false;
  const auto submit = [&](Ids prompt, std::int64_t tokens, int& pieces) {
    Request request;
    request.model = scripted.model();
    Choice& choice = request.choices.emplace_back();
    choice.prompt = std::move(prompt);
    choice.options.max_new_tokens = tokens;
    choice.options.ignore_eos = true;
    choice.options.on_piece = [&](const TextPiece&) {
      ++pieces;
      return Status();
    };
    choice.on_end = [](const Result<GenerateResult>& result) { EXPECT_TRUE(result.ok()); };
    ASSERT_TRUE(engine.submit(std::move(request)).ok());
  };
  submit({1}, 50, decoded);
  while (decoded == 0) engine.turn();
  submit(numbered(1, 450), 4, slow);
  int at_quick = 0;
  on_run = [&](int number) {
    if (number == 3) {
      submit(numbered(90, 20), 2, quick);
      at_quick = decoded;
    }
    has_ended_too_early = has_ended_too_early || (slow > 0 && quick == 0);
  };
  while (slow == 0) engine.turn();
  EXPECT_FALSE(has_ended_too_early);
  EXPECT_GT(quick, 0);
  EXPECT_GT(decoded, at_quick);
  while (engine.counts().running > 0) engine.turn();
  EXPECT_EQ(decoded, 50);
  EXPECT_EQ(slow, 4);
}

TEST_F(EngineTest, ATextWaitsWhileItsClientHasNoRoom) {
  Engine engine({.sequences = 2});
  Answer paused, other;
  bool is_full = false;
  Choice asked = choice(paused, {1}, 20);
  asked.options.is_paused = [&] { return is_full; };
  ASSERT_TRUE(submit(engine, std::move(asked)).ok());
  ASSERT_TRUE(submit(engine, choice(other, {2}, 20)).ok());
  while (paused.pieces < 3) engine.turn();
  is_full = true;
  const int before = paused.pieces;
  while (!other.has_ended()) engine.turn();
  EXPECT_EQ(paused.pieces, before);
  EXPECT_FALSE(engine.turn()) << "there is nothing to do";
  is_full = false;
  run(engine);
  EXPECT_EQ(paused.pieces, 20);
}

TEST_F(EngineTest, ModelsTakeTurns) {
  ScriptedModel other(script());
  Engine engine({.sequences = 2});
  Answer first, second;
  ASSERT_TRUE(submit(engine, choice(first, {1}, 30)).ok());
  Request request;
  request.model = other.model();
  request.choices.push_back(choice(second, {1}, 30));
  ASSERT_TRUE(engine.submit(std::move(request)).ok());
  while (first.pieces < 20) engine.turn();
  EXPECT_NEAR(first.pieces, second.pieces, 1);
  run(engine);
  EXPECT_TRUE(first.is_good() && second.is_good());
}

TEST_F(EngineTest, ForgetsAModelThatNobodyRuns) {
  auto going = std::make_unique<ScriptedModel>(script());
  const std::weak_ptr<const Model> model = going->model();
  Engine engine({.sequences = 2});
  Answer other, mine;
  ASSERT_TRUE(submit(engine, choice(other, numbered(1, 20))).ok());
  run(engine);
  Request request;
  request.model = going->model();
  request.choices.push_back(choice(mine, numbered(1, 20)));
  ASSERT_TRUE(engine.submit(std::move(request)).ok());
  engine.turn();
  going.reset();
  // It waits for the text that runs.
  auto forgotten = std::async(std::launch::async, [&] { engine.forget(*model.lock()); });
  EXPECT_EQ(forgotten.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  {
    const EngineThread turns(engine);
    ASSERT_EQ(forgotten.wait_for(std::chrono::minutes(1)), std::future_status::ready);
  }
  EXPECT_TRUE(mine.is_good());
  EXPECT_TRUE(model.expired()) << "its sequence was parked";
  // The sequence of the other one still is.
  Answer again;
  ASSERT_TRUE(submit(engine, choice(again, numbered(1, 20))).ok());
  run(engine);
  ASSERT_TRUE(again.is_good());
  EXPECT_EQ((*again.end)->timing.reused_tokens, 19);
  // Nobody turns any more.
  engine.end();
  engine.forget(*scripted_.model());
}

TEST_F(EngineTest, WrongRequestsFailAlone) {
  Engine engine({.sequences = 4});
  Answer empty, unknown, too_long, option, good;
  ASSERT_TRUE(submit(engine, choice(empty, {})).ok());
  ASSERT_TRUE(submit(engine, choice(unknown, {1 << 20})).ok());
  ASSERT_TRUE(submit(engine, choice(too_long, numbered(0, 513))).ok());
  Choice odd = choice(option, {1});
  odd.options.max_new_tokens = -7;
  ASSERT_TRUE(submit(engine, std::move(odd)).ok());
  ASSERT_TRUE(submit(engine, choice(good, {1})).ok());
  run(engine);
  for (const Answer* wrong : {&empty, &unknown, &too_long, &option}) {
    ASSERT_TRUE(wrong->has_ended());
    EXPECT_EQ(wrong->end->status().code(), Code::kInvalidArgument);
  }
  EXPECT_TRUE(good.is_good());
}

TEST_F(EngineTest, EndsInOrder) {
  Answer running, waiting, late;
  {
    Engine engine({.sequences = 1});
    ASSERT_TRUE(submit(engine, choice(running, {1}, 100)).ok());
    ASSERT_TRUE(submit(engine, choice(waiting, {2})).ok());
    engine.turn();
    engine.close();
    engine.turn();
    ASSERT_TRUE(waiting.has_ended());
    EXPECT_EQ(waiting.end->status().code(), Code::kCancelled);
    EXPECT_EQ(submit(engine, choice(late, {3})).code(), Code::kCancelled);
    EXPECT_FALSE(running.has_ended()) << "it may still end by itself";
    EXPECT_EQ(engine.cancel_all(), 1U);
    EXPECT_EQ(engine.cancel_all(), 0U) << "nobody that was not cancelled before";
  }
  ASSERT_TRUE(running.is_good());
  EXPECT_EQ((*running.end)->finish, FinishReason::kCancelled);
  EXPECT_FALSE(late.has_ended());
}

TEST_F(EngineTest, AThreadRunsTheTurns) {
  Engine engine({.sequences = 2});
  {
    const EngineThread turns(engine);
    std::vector<std::thread> clients;
    for (std::int32_t c = 0; c < 4; ++c)
      clients.emplace_back([&, c] {
        for (int i = 0; i < 10; ++i) {
          std::promise<bool> end;
          Request request;
          request.model = scripted_.model();
          Choice& asked = request.choices.emplace_back();
          asked.prompt = numbered(c * 10, 5);
          asked.options.max_new_tokens = 3;
          asked.on_end = [&](const Result<GenerateResult>& result) { end.set_value(result.ok()); };
          ASSERT_TRUE(engine.submit(std::move(request)).ok());
          EXPECT_TRUE(end.get_future().get());
        }
      });
    for (std::thread& client : clients) client.join();
    EXPECT_TRUE(engine.wait_until_idle(std::chrono::minutes(1)));
    EXPECT_EQ(engine.counts().finished, 40U);
  }
}

}  // namespace
}  // namespace anemone::engine
