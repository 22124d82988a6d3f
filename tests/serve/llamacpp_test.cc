// SPDX-License-Identifier: Apache-2.0
// llama.cpp's own API over real sockets.
#include <gtest/gtest.h>

#include "serve/llamacpp/request.h"
#include "tests/serve/test_server.h"

namespace anemone::serve {
namespace {

using testing::Answer;
using testing::expect_api_error;
using testing::fetch;
using testing::get_text;
using testing::json_of;
using testing::letters;
using testing::post_text;
using testing::TestServer;

class LlamaCpp : public ::testing::Test {
 protected:
  Answer post(const std::string& path, const Json& body) {
    return fetch(server_.port(), post_text(path, dump_json(body)));
  }
  Json post_json(const std::string& path, const Json& body) {
    const Answer answer = post(path, body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return json_of(answer.body);
  }

  TestServer server_;
};

TEST_F(LlamaCpp, CompletesATextOrIds) {
  const Json answer = post_json(
      "/completion", {{"prompt", "xyz"}, {"n_predict", 5}, {"cache_prompt", true}, {"seed", -1}});
  EXPECT_EQ(answer["content"], letters(3, 5));
  EXPECT_EQ(answer["stop"], true);
  EXPECT_EQ(answer["stop_type"], "limit");
  EXPECT_EQ(answer["stopping_word"], "");
  EXPECT_EQ(answer["model"], "tiny");
  EXPECT_EQ(answer["truncated"], false);
  EXPECT_EQ(answer["tokens_predicted"], 5);
  EXPECT_EQ(answer["tokens_evaluated"], 3);
  EXPECT_EQ(answer["tokens"], Json::array());
  EXPECT_EQ(answer["generation_settings"]["n_predict"], 5);
  const Json& timings = answer["timings"];
  EXPECT_EQ(timings["prompt_n"], 3);
  EXPECT_EQ(timings["cache_n"], 0);
  EXPECT_EQ(timings["predicted_n"], 5);
  for (const char* key : {"prompt_ms", "prompt_per_second", "prompt_per_token_ms", "predicted_ms",
                          "predicted_per_second", "predicted_per_token_ms"})
    EXPECT_GT(timings[key].get<double>(), 0) << key;

  const Json ids = {
      {"prompt", {120, 121, 122, 120, 121, 122}}, {"n_predict", 2}, {"return_tokens", true}};
  const Json first = post_json("/completion", ids);
  EXPECT_EQ(first["content"], letters(6, 2));
  EXPECT_EQ(first["tokens"], Json::array({'g', 'h'}));
  EXPECT_EQ(post_json("/completion", ids)["timings"]["cache_n"], 5) << "all but the last token";
}

TEST_F(LlamaCpp, SaysWhatEndedTheText) {
  const Json word = post_json("/completion", {{"prompt", "x"}, {"stop", {"zz", "gh"}}});
  EXPECT_EQ(word["content"], "bcdef");
  EXPECT_EQ(word["stop_type"], "word");
  EXPECT_EQ(word["stopping_word"], "gh");
  const Json full = post_json("/completion", {{"prompt", "x"}, {"n_predict", -1}});
  EXPECT_EQ(full["stop_type"], "limit");
  EXPECT_EQ(full["truncated"], true);
  const Json none = post_json("/completion", {{"prompt", "x"}, {"n_predict", 0}});
  EXPECT_EQ(none["content"], "");
  EXPECT_EQ(none["tokens_predicted"], 0);
  server_.model().say(2, {engine::testing::kImEnd});
  EXPECT_EQ(post_json("/completion", {{"prompt", "xy"}})["stop_type"], "eos");
}

TEST_F(LlamaCpp, StreamsEventsWithoutAMarkAtTheEnd) {
  const Answer answer =
      post("/completion", {{"prompt", "xyz"}, {"n_predict", 4}, {"stream", true}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.is_complete);
  EXPECT_TRUE(answer.header("Content-Type").starts_with("text/event-stream"));
  const auto events = testing::events_of(answer.body);
  ASSERT_EQ(events.size(), 5U);
  std::string text;
  for (std::size_t i = 0; i < 4; ++i) {
    const Json event = json_of(events[i]);
    EXPECT_EQ(event["stop"], false);
    EXPECT_EQ(event["tokens"], Json::array({'a' + 3 + static_cast<int>(i)}));
    text += event["content"].get<std::string>();
  }
  EXPECT_EQ(text, letters(3, 4));
  const Json last = json_of(events[4]);
  EXPECT_EQ(last["stop"], true);
  EXPECT_EQ(last["content"], "");
  EXPECT_EQ(last["stop_type"], "limit");
  EXPECT_EQ(last["timings"]["predicted_n"], 4);
}

// Every token stands once in a stream, with the piece that has its text.
TEST_F(LlamaCpp, StreamsTheTokensOfEachPiece) {
  const auto pieces_of = [&](std::string_view text, const Json& stop) {
    server_.model().say(3, engine::testing::bytes_of(text));
    const Answer answer =
        post("/completion",
             {{"prompt", "xyz"}, {"n_predict", text.size()}, {"stop", stop}, {"stream", true}});
    std::vector<std::pair<std::string, std::vector<int>>> out;
    for (const std::string& event : testing::events_of(answer.body)) {
      const Json json = json_of(event);
      if (json["stop"] == false) out.emplace_back(json["content"], json["tokens"]);
    }
    return out;
  };
  using Pieces = std::vector<std::pair<std::string, std::vector<int>>>;
  EXPECT_EQ(pieces_of("a\u00e9b", Json::array()),
            (Pieces{{"a", {'a'}}, {"\u00e9", {0xc3, 0xa9}}, {"b", {'b'}}}));
  EXPECT_EQ(pieces_of("axyb", {"xyz"}), (Pieces{{"a", {'a'}}, {"xyb", {'x', 'y', 'b'}}}));
  EXPECT_EQ(pieces_of("axy", {"xyz"}), (Pieces{{"a", {'a'}}, {"xy", {'x', 'y'}}}));
}

TEST_F(LlamaCpp, AnswersSeveralPromptsWithAList) {
  const Json body = {{"prompt", Json::array({"xyz", Json::array({120, 121}), "x"})},
                     {"n_predict", 4},
                     {"return_tokens", true}};
  const Json answers = post_json("/completion", body);
  ASSERT_EQ(answers.size(), 3U) << dump_json(answers);
  const std::int64_t lengths[] = {3, 2, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(answers[i]["index"], i);
    EXPECT_EQ(answers[i]["content"], letters(lengths[i], 4));
    EXPECT_EQ(answers[i]["tokens"].size(), 4U);
    EXPECT_EQ(answers[i]["tokens_evaluated"], lengths[i]);
    EXPECT_EQ(answers[i]["stop"], true);
  }
  // One is answered as it would be alone.
  const Json one = post_json("/completion", {{"prompt", {"xyz"}}, {"n_predict", 4}});
  EXPECT_EQ(one["content"], letters(3, 4));
}

TEST_F(LlamaCpp, StreamsTheAnswersToSeveralPromptsTogether) {
  const Answer answer =
      post("/completion", {{"prompt", {"xyz", "x"}}, {"n_predict", 3}, {"stream", true}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.is_complete);
  std::string texts[2];
  int ends[2] = {};
  for (const std::string& event : testing::events_of(answer.body)) {
    const Json json = json_of(event);
    const auto index = json["index"].get<std::size_t>();
    ASSERT_LT(index, 2U);
    EXPECT_EQ(ends[index], 0) << "nothing comes after the end of a text";
    texts[index] += json["content"].get<std::string>();
    if (json["stop"] == true) ++ends[index];
  }
  EXPECT_EQ(texts[0], letters(3, 3));
  EXPECT_EQ(texts[1], letters(1, 3));
  EXPECT_EQ(ends[0] + ends[1], 2);
}

// The first text that fails is the answer to all prompts.
TEST_F(LlamaCpp, OneTextThatFailsIsTheAnswer) {
  const Json body = {{"prompt", {"xyz", "x"}},
                     {"n_predict", 4},
                     {"logit_bias", Json::array({Json::array({99999, 1})})}};
  expect_api_error(post("/completion", body), 400, "logit_bias");
  EXPECT_EQ(post_json("/completion", {{"prompt", "x"}, {"n_predict", 1}})["content"],
            letters(1, 1));
}

TEST_F(LlamaCpp, GivesTheProbabilitiesOfTokens) {
  server_.model().say(3, engine::testing::bytes_of("a\u00e9"));
  Json body = {{"prompt", "xyz"}, {"n_predict", 3}, {"n_probs", 2}, {"return_tokens", true}};
  const Json answer = post_json("/completion", body);
  const Json& list = answer["completion_probabilities"];
  ASSERT_EQ(list.size(), 3U) << dump_json(answer);
  for (std::size_t i = 0; i < 3; ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(list[i]["id"], answer["tokens"][i]);
    EXPECT_LT(list[i]["logprob"], 0);
    ASSERT_EQ(list[i]["top_logprobs"].size(), 2U);
    // It is the most likely one: the script says so.
    const Json& top = list[i]["top_logprobs"][0];
    for (const char* key : {"id", "token", "bytes", "logprob"}) EXPECT_EQ(top[key], list[i][key]);
    EXPECT_GT(top["logprob"], list[i]["top_logprobs"][1]["logprob"]);
  }
  EXPECT_EQ(list[0]["token"], "a");
  EXPECT_EQ(list[0]["bytes"], Json::array({97}));
  EXPECT_EQ(list[1]["token"], "") << "half a character";
  EXPECT_EQ(list[1]["bytes"], Json::array({0xc3}));
  EXPECT_FALSE(post_json("/completion", {{"prompt", "x"}, {"n_predict", 1}, {"n_probs", 0}})
                   .contains("completion_probabilities"));

  // A stream has them with the pieces that have the tokens, and not again at the end.
  body["stream"] = true;
  Json streamed = Json::array();
  for (const std::string& event : testing::events_of(post("/completion", body).body)) {
    const Json json = json_of(event);
    EXPECT_EQ(json.contains("completion_probabilities"), json["stop"] == false);
    if (json["stop"] == true) continue;
    EXPECT_EQ(json["completion_probabilities"].size(), json["tokens"].size());
    for (const Json& entry : json["completion_probabilities"]) streamed.push_back(entry);
  }
  EXPECT_EQ(streamed, list);
}

TEST_F(LlamaCpp, KeepsToGrammarsAndSchemas) {
  const Json digits =
      post_json("/completion", {{"prompt", "x"}, {"grammar", R"(root ::= [0-9] [0-9])"}});
  EXPECT_EQ(digits["content"].get<std::string>().size(), 2U);
  EXPECT_TRUE(std::isdigit(digits["content"].get<std::string>()[0]));
  const Json city =
      post_json("/completion", {{"prompt", "x"}, {"json_schema", {{"enum", {"Paris", "Rome"}}}}});
  EXPECT_TRUE(city["content"] == "\"Paris\"" || city["content"] == "\"Rome\"") << city;
}

TEST_F(LlamaCpp, RefusesWhatItCannotDo) {
  const auto refused = [&](const Json& body, const char* param) {
    expect_api_error(post("/completion", body), 400, param);
  };
  refused({{"n_predict", 3}}, "prompt");
  refused({{"prompt", Json::array()}}, "prompt");
  refused({{"prompt", Json::array({"a", 5})}}, "prompt");
  refused({{"prompt", Json::array({"a", std::string(testing::kTestContext + 1, 'x')})}}, "prompt");
  refused({{"prompt", std::vector<std::string>(openai::kMaxPrompts + 1, "x")}}, "prompt");
  refused({{"prompt", "x"}, {"n_predict", -3}}, "n_predict");
  refused({{"prompt", "x"}, {"temperature", -1}}, "temperature");
  refused({{"prompt", "x"}, {"n_probs", -1}}, "n_probs");
  refused({{"prompt", "x"}, {"n_probs", llamacpp::kMaxProbabilities + 1}}, "n_probs");
  refused({{"prompt", "x"}, {"n_probs", 1}, {"post_sampling_probs", true}}, "post_sampling_probs");
  refused({{"prompt", "x"}, {"stop", {""}}}, "stop");
  refused({{"prompt", "x"}, {"logit_bias", {{"a", 1}}}}, "logit_bias");
  refused({{"prompt", "x"}, {"logit_bias", {{5, 1}, {6, 1}, {5, 2}}}}, "logit_bias");
  refused({{"prompt", "x"}, {"logit_bias", Json::array({Json::array({5, 1e300})})}}, "logit_bias");
  refused({{"prompt", std::string(testing::kTestContext + 1, 'x')}}, "prompt");
  // With their off values they are no matter.
  EXPECT_EQ(post("/completion", {{"prompt", "x"},
                                 {"n_predict", 1},
                                 {"n_probs", 0},
                                 {"typical_p", 1.0},
                                 {"top_k", -1},
                                 {"logit_bias", Json::array({Json::array({98, -100})})}})
                .status,
            200);
  // "b" is next, and was forbidden.
  EXPECT_NE(post_json("/completion",
                      {{"prompt", "x"},
                       {"n_predict", 1},
                       {"temperature", 0},
                       {"logit_bias", Json::array({Json::array({98, false})})}})["content"],
            "b");
}

TEST_F(LlamaCpp, TurnsTextsIntoTokensAndBack) {
  EXPECT_EQ(post_json("/tokenize", {{"content", "aé"}})["tokens"], Json::array({97, 195, 169}));
  const Json pieces = post_json("/tokenize", {{"content", "aé"}, {"with_pieces", true}});
  EXPECT_EQ(pieces["tokens"][0], Json({{"id", 97}, {"piece", "a"}}));
  EXPECT_EQ(pieces["tokens"][1], Json({{"id", 195}, {"piece", Json::array({195})}}));
  EXPECT_EQ(post_json("/tokenize", {{"content", "<|im_end|>"}})["tokens"],
            Json::array({engine::testing::kImEnd}));
  EXPECT_EQ(post_json("/tokenize", {{"content", "<|im_end|>"}, {"parse_special", false}})["tokens"]
                .size(),
            10U);
  EXPECT_EQ(post_json("/detokenize", {{"tokens", {97, 195, 169}}})["content"], "aé");
  EXPECT_EQ(post_json("/detokenize", {{"tokens", Json::array()}})["content"], "");
  expect_api_error(post("/tokenize", Json::object()), 400, "content");
  expect_api_error(post("/tokenize", {{"content", 5}}), 400, "content");
  expect_api_error(post("/detokenize", {{"tokens", {1 << 20}}}), 400, "tokens");
  expect_api_error(post("/detokenize", {{"tokens", "x"}}), 400, "tokens");
}

TEST_F(LlamaCpp, AppliesTheChatTemplate) {
  EXPECT_EQ(
      post_json("/apply-template",
                {{"messages", Json::array({{{"role", "user"}, {"content", "hi"}}})}})["prompt"],
      "user:hi\n");
  expect_api_error(post("/apply-template", {{"messages", Json::array()}}), 400, "messages");
}

TEST_F(LlamaCpp, ShowsItsSettingsAndTexts) {
  const auto get = [&](const char* path) {
    return json_of(fetch(server_.port(), get_text(path)).body);
  };
  const Json props = get("/props");
  EXPECT_EQ(props["default_generation_settings"]["n_ctx"], testing::kTestContext);
  EXPECT_EQ(props["total_slots"], 1);
  EXPECT_EQ(props["model_alias"], "tiny");
  EXPECT_EQ(props["chat_template"], testing::kTestTemplate);
  EXPECT_EQ(props["modalities"]["vision"], false);
  ASSERT_EQ(get("/slots").size(), 1U);
  EXPECT_EQ(get("/slots")[0]["is_processing"], false);
  server_.gate().close();
  testing::HttpClient client(server_.port());
  ASSERT_TRUE(client.send(post_text("/completion", R"({"prompt": "x", "n_predict": 2})")));
  ASSERT_TRUE(server_.gate().wait_for_waiting(1));
  EXPECT_EQ(get("/slots")[0]["is_processing"], true);
  server_.gate().open();
  EXPECT_EQ(client.receive().status, 200);
}

}  // namespace
}  // namespace anemone::serve
