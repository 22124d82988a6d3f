// SPDX-License-Identifier: Apache-2.0
// The protocol of JSON lines: how bytes become lines, and what a connection answers to each.
#include <array>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <unistd.h>

#include "artifact/manifest.h"
#include "serve/jsonl/connection.h"
#include "serve/jsonl/line_channel.h"
#include "tests/serve/jsonl_fixture.h"

namespace anemone::serve::jsonl {
namespace {

using testing::json_of;
using testing::letters;

// Whatever a file holds, as lines.
class LinesOfFile {
 public:
  explicit LinesOfFile(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), file_);
    std::fflush(file_);
    std::rewind(file_);
  }
  ~LinesOfFile() { std::fclose(file_); }
  LinesOfFile(const LinesOfFile&) = delete;
  LinesOfFile& operator=(const LinesOfFile&) = delete;
  int descriptor() const { return ::fileno(file_); }

 private:
  std::FILE* file_ = std::tmpfile();
};

TEST(LineChannelLimits, ALineThatIsTooLongIsOneLineAtTheEndToo) {
  const LinesOfFile file("a\n" + std::string(200'000, 'x'));
  LineChannel channel(file.descriptor(), -1, -1, 70'000);
  std::string line;
  EXPECT_EQ(*channel.read_line(line), LineChannel::Outcome::kLine);
  EXPECT_EQ(line, "a");
  EXPECT_EQ(*channel.read_line(line), LineChannel::Outcome::kTooLong);
  EXPECT_EQ(*channel.read_line(line), LineChannel::Outcome::kEnd);
}

TEST(LineChannelLimits, ShortLinesCostTheirNumber) {
  constexpr int kLines = 8'000'000;  // in pieces of 64 kB: minutes, when each line moves the rest
  const LinesOfFile file(std::string(kLines, '\n'));
  LineChannel channel(file.descriptor(), -1, -1, 100);
  std::string line;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kLines; ++i) ASSERT_EQ(*channel.read_line(line), LineChannel::Outcome::kLine);
  EXPECT_EQ(*channel.read_line(line), LineChannel::Outcome::kEnd);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(JsonlTest, AnswersIdsTextsAndMessages) {
  const Json ids = answer(R"({"prompt_ids": [5, 6, 7], "max_new": 3, "profile": true})");
  EXPECT_EQ(ids["ok"], true);
  EXPECT_EQ(ids["generated_ids"], Json::array({'d', 'e', 'f'}));
  EXPECT_EQ(ids["text"], "def");
  EXPECT_EQ(ids["finish_reason"], "length");
  EXPECT_EQ(ids["cache_seq_len"], 5) << "the last token was not run";
  EXPECT_EQ(ids["timing"]["prefill_tokens"], 3);
  EXPECT_EQ(ids["timing"]["decode_tokens"], 2);
  for (const char* key : {"prefill_s", "decode_s", "decode_tok_s"})
    EXPECT_TRUE(ids["timing"][key].is_number()) << key;
  EXPECT_EQ(answer(R"({"prompt": "xy", "max_new": 2})")["text"], letters(2, 2));
  EXPECT_EQ(answer(R"({"prompt": "xy"})")["generated_ids"].size(), 50U);
  EXPECT_EQ(answer(R"({"messages": [{"role": "user", "content": "hi"}], "max_new": 2,
                       "model": "tiny", "stop": "j"})")["text"],
            "i");
  EXPECT_EQ(answer(R"({"prompt_ids": [1], "max_new": 0})")["generated_ids"], Json::array());
}

TEST_F(JsonlTest, SendsTheTextAsItComes) {
  const Json out = answer(R"({"prompt": "xy", "max_new": 5, "stream": true})");
  EXPECT_EQ(out["text"], letters(2, 5));
  std::string text;
  for (const Json& line : sent_) {
    EXPECT_EQ(line.size(), 1U) << line;
    text += line["delta"].get<std::string>();
  }
  EXPECT_EQ(text, letters(2, 5));
  sent_.clear();
  for (const char* line : {R"({"prompt": "xy", "max_new": 5})",
                           R"({"tokens": [5], "max_tokens": 5, "stream": true})"}) {
    EXPECT_FALSE(answer(line).contains("error"));
    EXPECT_TRUE(sent_.empty()) << line;
  }
  send_status_ = Status(Code::kIo, "nobody reads");
  EXPECT_EQ(answer(R"({"prompt": "xy", "max_new": 50, "stream": true})")["error"], "nobody reads");
}

TEST_F(JsonlTest, TakesTheNameThatClientsOfHttpHave) {
  for (const char* prompt : {R"("prompt": "xy")", R"("prompt_ids": [5, 6])",
                             R"("messages": [{"role": "user", "content": "hi"}])"}) {
    const Json out = answer(fmt::format("{{{}, \"max_tokens\": 3}}", prompt));
    EXPECT_EQ(out["generated_ids"].size(), 3U) << prompt;
    EXPECT_EQ(out["model"], "tiny");
  }
  EXPECT_EQ(answer(R"({"tokens": [5], "max_new": 3})")["gen_tokens"], 3);
  EXPECT_EQ(answer(R"({"prompt": "x", "max_new": 1, "logprobs": false})")["ok"], true);
}

TEST_F(JsonlTest, SendsTheTextWhileItIsMade) {
  gate_.close();
  std::atomic<int> sent = 0;
  Connection connection(
      *models_, engine_, {}, cancel_, [] {},
      [&](const Json&) {
        ++sent;
        return Status();
      });
  std::thread client([&] {
    EXPECT_EQ(answer(connection, R"({"prompt": "xy", "max_new": 5, "stream": true})")["ok"], true);
  });
  // The prompt and one token more; the third step waits.
  gate_.permit(2);
  EXPECT_TRUE(gate_.wait_for_waiting(1));
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (sent == 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_GT(sent, 0);
  gate_.open();
  client.join();
}

TEST_F(JsonlTest, TellsTheSeedAndTheStopString) {
  EXPECT_EQ(answer(R"({"prompt": "x", "max_new": 2, "temperature": 1, "seed": 7})")["seed"], 7);
  EXPECT_FALSE(answer(R"({"prompt": "x", "max_new": 2, "greedy": true})").contains("seed"));
  const Json stopped = answer(R"({"prompt": "x", "max_new": 9, "stop": ["d"]})");
  EXPECT_EQ(stopped["stop"], "d");
  EXPECT_EQ(answer(R"({"prompt": "x", "model": "other"})")["code"], "not_found");
}

// The same rule as over HTTP.
TEST_F(JsonlTest, OfSeveralModelsARequestNamesOne) {
  std::map<std::string, LoadedModel> models;
  for (const char* name : {"a", "b"}) models[name].model = model_->model();
  auto pool =
      ModelPool::create({{"a"}, {"b"}}, std::make_unique<testing::GivenModels>(std::move(models)));
  ASSERT_TRUE(pool.ok() && (*pool)->load_first().ok());
  models_ = *std::move(pool);
  EXPECT_EQ(answer(R"({"prompt": "x", "max_new": 1, "model": "b"})")["model"], "b");
  const Json none = answer(R"({"prompt": "x", "max_new": 1})");
  EXPECT_EQ(none["ok"], false);
  EXPECT_EQ(none["error"], "[model] expected the name of one of the 2 models, got none");
}

TEST_F(JsonlTest, DescribesAModel) {
  const auto digest = artifact::manifest_digest(model_->model()->path());
  ASSERT_TRUE(digest.ok()) << digest.status().message();
  const Json out = answer(R"({"describe": "tiny"})");
  EXPECT_EQ(out, Json({{"ok", true},
                       {"model", "tiny"},
                       {"context", testing::kTestContext},
                       {"has_tokenizer", true},
                       {"has_chat_template", true},
                       {"labels_tokens", false},
                       {"manifest_sha256", *digest}}));
  EXPECT_EQ(answer(R"({"describe": ""})")["model"], "tiny") << "the only one";
  EXPECT_EQ(answer(R"({"describe": "other"})")["ok"], false);
}

TEST_F(JsonlTest, AnswersTheFormWithTokens) {
  const Json out = answer(R"({"tokens": [5, 6, 7], "max_tokens": 2})");
  EXPECT_EQ(out["output"], Json::array({'d', 'e'}));
  EXPECT_EQ(out["prompt_tokens"], 3);
  EXPECT_EQ(out["gen_tokens"], 2);
  EXPECT_TRUE(out["prefill_tps"].is_number() && out["decode_tps"].is_number());
}

TEST_F(JsonlTest, ContinuesTheSessionOnRequest) {
  Connection connection = connect();
  EXPECT_EQ(answer(connection, R"({"prompt_ids": [1, 2], "max_new": 3})")["cache_seq_len"], 4);
  const Json more = answer(connection, R"({"prompt_ids": [9], "max_new": 2, "reset": false})");
  EXPECT_EQ(more["text"], letters(5, 2));
  EXPECT_EQ(more["cache_seq_len"], 6);
  EXPECT_EQ(more["timing"]["prefill_tokens"], 1);
  const Json again = answer(connection, R"({"prompt_ids": [1, 2], "max_new": 1})");
  EXPECT_EQ(again["cache_seq_len"], 2);
  EXPECT_EQ(again["timing"]["prefill_tokens"], 2) << "a new start";
}

TEST_F(JsonlTest, SaysWhatIsWrongWithALine) {
  for (const char* line : {"",
                           "{",
                           "[]",
                           "null",
                           "{}",
                           R"({"prompt_ids": []})",
                           R"({"prompt_ids": "1 2"})",
                           R"({"prompt_ids": [1.5]})",
                           R"({"prompt_ids": [-1]})",
                           R"({"prompt_ids": [264]})",
                           R"({"prompt_ids": [99999999999]})",
                           R"({"prompt_ids": [1], "prompt": "x"})",
                           R"({"prompt": 5})",
                           R"({"prompt": ""})",
                           R"({"messages": []})",
                           R"({"messages": 1})",
                           R"({"messages": [1]})",
                           R"({"tokens": {}})",
                           R"({"tokens": [1], "max_tokens": -1})",
                           R"({"prompt": "x", "max_new": -1})",
                           R"({"prompt": "x", "max_new": "3"})",
                           R"({"prompt": "x", "temperature": -1})",
                           R"({"prompt": "x", "top_p": 2})",
                           R"({"prompt": "x", "top_k": -1})",
                           R"({"prompt": "x", "rep_penalty": 0})",
                           R"({"prompt": "x", "seed": 1.5})",
                           R"({"prompt": "x", "stop": 1})",
                           R"({"prompt": "x", "stop_repeat_ngram": -1})",
                           R"({"prompt": "x", "reset": 1})",
                           R"({"prompt": "x", "stream": 1})",
                           R"({"prompt": "x", "greedy": 1})",
                           R"({"prompt": "x", "logprobs": 2})",
                           R"({"prompt": "x", "logprobs": true})",
                           R"({"prompt": "x", "top_logprobs": 1})",
                           R"({"prompt": "x", "max_tokens": "3"})",
                           R"({"describe": 1})",
                           R"({"describe": "tiny", "prompt": "x"})",
                           R"({"prompt": "x", "model": "other"})",
                           R"({"prompt": "x", "keep_alive": "soon"})",
                           "{\"prompt\": \"\xff\"}"}) {
    const Json out = answer(line);
    EXPECT_EQ(out["ok"], false) << line;
    EXPECT_TRUE(out["error"].is_string() && out.size() == 3) << line;
    EXPECT_NE(out["code"], "internal") << line;
  }
  EXPECT_EQ(answer(fmt::format(R"({{"prompt": "{}"}})", std::string(500, 'x')))["ok"], false);
}

TEST_F(JsonlTest, SamplesFromItsSeedAndStopsRepeats) {
  const auto text = [&](int seed) {
    return answer(fmt::format(R"({{"prompt": "x", "max_new": 8, "temperature": 5, "seed": {}}})",
                              seed))["text"];
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
  const Json repeat = answer(R"({"prompt": "x", "max_new": 100, "stop_repeat_ngram": 3})");
  EXPECT_EQ(repeat["finish_reason"], "repeat");
  EXPECT_EQ(repeat["generated_ids"].size(), 29U) << "an alphabet and three letters";
}

TEST_F(JsonlTest, GivesTextsOfTheFormThatIsAskedFor) {
  const Json digits = answer(R"({"prompt": "x", "structured_outputs": {"regex": "[0-9]{3}"}})");
  EXPECT_EQ(digits["text"].get<std::string>().size(), 3U) << digits;
  const Json wrong = answer(R"({"prompt": "x", "json_schema": {"type": "objet"}})");
  EXPECT_EQ(wrong["ok"], false);
  EXPECT_NE(wrong["error"].get<std::string>().find("#/type"), std::string::npos) << wrong;
}

TEST_F(JsonlTest, EndsWhenItIsTold) {
  // The step that waits at the gate ends when the flag is set.
  gate_.close();
  const auto look = [&] {
    if (cancel_.exchange(true)) gate_.permit(1);
  };
  Connection connection(*models_, engine_, {}, cancel_, look, [](const Json&) { return Status(); });
  const Json out = answer(connection, R"({"prompt": "x", "max_new": 300})");
  EXPECT_EQ(out["ok"], false);
  EXPECT_LT(model_->runs(), 5);
}

// Two ends of a channel.
class Pipes {
 public:
  Pipes() {
    EXPECT_EQ(::pipe(in_.data()), 0);
    EXPECT_EQ(::pipe(out_.data()), 0);
    EXPECT_EQ(::pipe(stop_.data()), 0);
  }
  ~Pipes() {
    for (const auto& ends : {in_, out_, stop_})
      for (const int end : ends)
        if (end >= 0) ::close(end);
  }
  LineChannel channel(std::size_t most = 1000) { return {in_[0], out_[1], stop_[0], most}; }
  void write(std::string_view text) {
    EXPECT_EQ(::write(in_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void close_in() {
    ::close(in_[1]);
    in_[1] = -1;
  }
  void stop() { EXPECT_EQ(::write(stop_[1], "x", 1), 1); }
  std::string read_all() {
    ::close(out_[1]);
    out_[1] = -1;
    std::string all;
    std::array<char, 4096> chunk;
    for (ssize_t count = 0; (count = ::read(out_[0], chunk.data(), chunk.size())) > 0;)
      all.append(chunk.data(), static_cast<std::size_t>(count));
    return all;
  }

 private:
  std::array<int, 2> in_ = {-1, -1};
  std::array<int, 2> out_ = {-1, -1};
  std::array<int, 2> stop_ = {-1, -1};
};

TEST_F(JsonlTest, AnswersEachLineOfAChannel) {
  Pipes pipes;
  pipes.write("{\"prompt\": \"x\", \"max_new\": 1}\n\n  \r\nbad\n" + std::string(2000, 'x') +
              "\n{\"prompt\": \"xy\", \"max_new\": 1}");
  pipes.close_in();
  LineChannel channel = pipes.channel();
  LineOptions options;
  options.max_line_bytes = 1000;
  EXPECT_TRUE(answer_channel(channel, *models_, engine_, options, cancel_).ok());
  std::istringstream lines(pipes.read_all());
  std::string line;
  std::vector<Json> answers;
  while (std::getline(lines, line)) answers.push_back(json_of(line));
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(answers[0]["text"], "b");
  EXPECT_EQ(answers[1]["ok"], false);
  EXPECT_NE(answers[2]["error"].get<std::string>().find("1000"), std::string::npos);
  EXPECT_EQ(answers[3]["text"], "c") << "the last line needs no end";
}

TEST_F(JsonlTest, StopsWhileItWaitsForALine) {
  Pipes pipes;
  pipes.write("{\"prompt\": ");
  pipes.stop();
  LineChannel channel = pipes.channel();
  EXPECT_TRUE(answer_channel(channel, *models_, engine_, {}, cancel_).ok());
  EXPECT_EQ(pipes.read_all(), "");
}

TEST_F(JsonlTest, SkipsALongLineWithoutKeepingIt) {
  Pipes pipes;
  std::thread writer([&] {
    for (int i = 0; i < 100; ++i) pipes.write(std::string(10'000, 'x'));
    pipes.write("\nnext\n");
    pipes.close_in();
  });
  LineChannel channel = pipes.channel(1000);
  std::string line;
  EXPECT_EQ(*channel.read_line(line), LineChannel::Outcome::kTooLong);
  EXPECT_EQ(*channel.read_line(line), LineChannel::Outcome::kLine);
  EXPECT_EQ(line, "next");
  EXPECT_EQ(*channel.read_line(line), LineChannel::Outcome::kEnd);
  writer.join();
}

TEST_F(JsonlTest, SaysThatItIsReady) {
  const Json plain = ready_line(*models_, "");
  EXPECT_EQ(plain["ready"], true);
  EXPECT_EQ(plain["protocol"], "anemone-jsonl-v1");
  EXPECT_EQ(plain["transport"], "stdio");
  EXPECT_EQ(plain["models"], Json::array({"tiny"}));
  const Json socket = ready_line(*models_, "/tmp/x");
  EXPECT_EQ(socket["transport"], "unix-socket");
  EXPECT_EQ(socket["path"], "/tmp/x");
}

}  // namespace
}  // namespace anemone::serve::jsonl
