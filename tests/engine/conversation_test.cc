// SPDX-License-Identifier: Apache-2.0
#include "engine/chat/conversation.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/engine/scripted_model.h"

namespace anemone::engine {
namespace {

using testing::bytes_of;
using testing::kImEnd;
using testing::kImStart;
using testing::ScriptedModel;
using testing::ScriptOptions;

using Ids = std::vector<std::int32_t>;

constexpr const char* kTemplate =
    "{% for m in messages %}<|im_start|>{{ m.role[0] }}:{{ m.content }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>a:{% endif %}";

ScriptOptions chat_options() {
  ScriptOptions options;
  options.chat_template = kTemplate;
  return options;
}

Ids join(std::initializer_list<Ids> parts) {
  Ids out;
  for (const Ids& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

Ids turn(const char* text) {
  return join({{kImStart}, bytes_of(text), {kImEnd}});
}

Conversation make_conversation(Engine& engine, const ScriptedModel& scripted) {
  auto conversation = Conversation::create(engine, scripted.model());
  EXPECT_TRUE(conversation.ok()) << conversation.status().message();
  return std::move(*conversation);
}

TEST(ChatPrompt, ReadsSpecialTokensOfTheTemplateAsSuch) {
  const ScriptedModel scripted(chat_options());
  const Json messages = Json::array({{{"role", "user"}, {"content", "hi"}}});
  const auto ids = chat_prompt(*scripted.model(), messages);
  ASSERT_TRUE(ids.ok()) << ids.status().message();
  EXPECT_EQ(*ids, join({turn("u:hi"), {kImStart}, bytes_of("a:")}));
}

TEST(Conversation, AnswersAndRemembers) {
  ScriptedModel scripted(chat_options());
  Engine engine({});
  Conversation conversation = make_conversation(engine, scripted);
  const auto prompt =
      static_cast<std::int64_t>(join({turn("u:hi"), {kImStart}, bytes_of("a:")}).size());
  scripted.say(prompt, join({bytes_of("yes"), {kImEnd}}));
  const auto first = conversation.answer("hi", {});
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(first->text, "yes");
  EXPECT_EQ(dump_json(conversation.messages()),
            R"([{"role":"user","content":"hi"},{"role":"assistant","content":"yes"}])");
}

TEST(Conversation, SecondTurnRunsItsNewTokensOnly) {
  ScriptedModel scripted(chat_options());
  Engine engine({});
  Conversation conversation = make_conversation(engine, scripted);
  const Ids first = join({turn("u:hi"), {kImStart}, bytes_of("a:")});
  scripted.say(static_cast<std::int64_t>(first.size()), join({bytes_of("yes"), {kImEnd}}));
  ASSERT_TRUE(conversation.answer("hi", {}).ok());
  const Ids second =
      join({first, bytes_of("yes"), {kImEnd}, turn("u:ok"), {kImStart}, bytes_of("a:")});
  scripted.say(static_cast<std::int64_t>(second.size()), {kImEnd});
  const auto result = conversation.answer("ok", {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->timing.prompt_tokens, static_cast<std::int64_t>(second.size()));
  // The first prompt and its answer are there; the end of the answer was picked but never run.
  EXPECT_EQ(result->timing.reused_tokens, static_cast<std::int64_t>(first.size()) + 3);
}

TEST(Conversation, OtherSystemMessageStartsFromTheCommonPrefix) {
  ScriptedModel scripted(chat_options());
  Engine engine({});
  Conversation conversation = make_conversation(engine, scripted);
  GenerateOptions options;
  options.max_new_tokens = 1;
  conversation.set_system("be kind");
  ASSERT_TRUE(conversation.answer("hi", options).ok());
  conversation.set_system("be short");
  const auto result = conversation.answer("hi", options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->timing.reused_tokens, 6);  // <|im_start|>s:be and a space
}

TEST(Conversation, ClearForgetsTheTurnsButNotTheSystemMessage) {
  ScriptedModel scripted(chat_options());
  Engine engine({});
  Conversation conversation = make_conversation(engine, scripted);
  GenerateOptions options;
  options.max_new_tokens = 1;
  conversation.set_system("s");
  ASSERT_TRUE(conversation.answer("hi", options).ok());
  conversation.clear();
  EXPECT_EQ(dump_json(conversation.messages()), R"([{"role":"system","content":"s"}])");
}

TEST(Conversation, IsAsBeforeAfterAnError) {
  ScriptedModel scripted(chat_options());
  Engine engine({});
  Conversation conversation = make_conversation(engine, scripted);
  GenerateOptions options;
  options.max_new_tokens = 1;
  ASSERT_TRUE(conversation.answer("hi", options).ok());
  const std::string before = dump_json(conversation.messages());
  const auto result = conversation.answer(std::string(100, 'x'), options);
  EXPECT_EQ(result.status().code(), Code::kInvalidArgument);
  EXPECT_NE(result.status().message().find("at most 64 tokens"), std::string::npos);
  EXPECT_EQ(dump_json(conversation.messages()), before);
  EXPECT_TRUE(conversation.answer("hi", options).ok());
}

TEST(Conversation, CancelledAnswerIsKeptAsFarAsItCame) {
  ScriptedModel scripted(chat_options());
  Engine engine({});
  Conversation conversation = make_conversation(engine, scripted);
  const Ids prompt = join({turn("u:hi"), {kImStart}, bytes_of("a:")});
  scripted.say(static_cast<std::int64_t>(prompt.size()), bytes_of("abcdef"));
  std::atomic<bool> cancel = false;
  GenerateOptions options;
  options.cancel = &cancel;
  options.on_piece = [&](const TextPiece& piece) {
    cancel = piece.text == "b";
    return Status();
  };
  const auto result = conversation.answer("hi", options);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->finish, FinishReason::kCancelled);
  EXPECT_EQ(conversation.messages()[1]["content"], "ab");
}

TEST(Conversation, GoesOnFromWhatWasSaved) {
  const ScriptedModel scripted(chat_options());
  Engine engine({});
  Conversation conversation = make_conversation(engine, scripted);
  const auto read = [&](const char* json) {
    const auto messages = parse_json(json, "messages");
    EXPECT_TRUE(messages.ok());
    return conversation.set_messages(*messages);
  };
  EXPECT_TRUE(conversation.is_empty());
  ASSERT_TRUE(read(R"([{"role": "system", "content": "s"}, {"role": "user", "content": "a"},
                       {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"},
                       {"role": "assistant", "content": "d"}])")
                  .ok());
  const Json saved = conversation.messages();
  EXPECT_EQ(saved.size(), 5u);
  // What is refused changes nothing.
  for (const char* other :
       {"{}", "[1]", R"([{"role": "user", "content": "a"}])", R"([{"role": "user"}])",
        R"([{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}])",
        R"([{"role": "tool", "content": "a"}, {"role": "assistant", "content": "b"}])"}) {
    EXPECT_EQ(read(other).code(), Code::kParseError) << other;
    EXPECT_EQ(conversation.messages(), saved);
  }
  EXPECT_EQ(conversation.take_last(), "c");
  EXPECT_EQ(conversation.messages().size(), 3u);
  conversation.drop_oldest();
  EXPECT_TRUE(conversation.is_empty());
  EXPECT_EQ(conversation.system(), "s");
}

TEST(Conversation, NeedsATokenizerAndATemplate) {
  Engine engine({});
  const ScriptedModel no_template;
  EXPECT_EQ(Conversation::create(engine, no_template.model()).status().code(), Code::kNotFound);
  ScriptOptions options;
  options.has_tokenizer = false;
  const ScriptedModel no_tokenizer(options);
  EXPECT_EQ(Conversation::create(engine, no_tokenizer.model()).status().code(), Code::kNotFound);
}

TEST(Conversation, BrokenTemplateIsReportedWhenItIsUsed) {
  ScriptOptions options;
  options.chat_template = "{% for %}";
  const ScriptedModel scripted(options);  // loads: ids run without it
  Engine engine({});
  Conversation conversation = make_conversation(engine, scripted);
  EXPECT_EQ(conversation.answer("hi", {}).status().code(), Code::kParseError);
}

}  // namespace
}  // namespace anemone::engine
