// SPDX-License-Identifier: Apache-2.0
// A server whose models are loaded when requests ask for them, and unloaded again.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <list>

#include "tests/serve/held_models.h"
#include "tests/serve/test_server.h"

namespace anemone::serve {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::expect_api_error;
using testing::fetch;
using testing::get_text;
using testing::HeldModels;
using testing::HttpClient;
using testing::json_of;
using testing::kLongWait;
using testing::post_text;

class LoadingModels : public ::testing::Test {
 protected:
  // Models "a" and "b".
  void start(ModelPoolOptions pool = {}, OpenAiServerOptions options = {}) {
    engine::testing::ScriptOptions script;
    script.context = testing::kTestContext;
    script.on_run = [this] { gate_.pass(); };
    pool.now = [this] { return ModelPool::Clock::time_point(now_.load()); };
    auto provider = std::make_unique<HeldModels>(script);
    provider_ = provider.get();
    auto models = ModelPool::create({{"a"}, {"b"}}, std::move(provider), pool);
    ASSERT_TRUE(models.ok());
    pool_ = models->get();
    options.http.port = 0;
    auto server = OpenAiServer::start(*std::move(models), options);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = *std::move(server);
  }
  ~LoadingModels() override {
    gate_.open();
    if (server_ != nullptr) provider_->let_go();
  }

  std::uint16_t port() const { return server_->port(); }
  static std::string completion(const std::string& model, int tokens = 3,
                                const std::string& more = "") {
    return post_text("/v1/completions",
                     fmt::format(R"({{"model": "{}", "prompt": "x", "max_tokens": {}{}}})", model,
                                 tokens, more));
  }
  Answer ask(const std::string& model) { return fetch(port(), completion(model)); }
  Answer manage(const std::string& what, const std::string& model) {
    return fetch(port(), post_text("/models/" + what, dump_json({{"model", model}})));
  }
  // The state of a model as clients see it.
  std::string state(const std::string& model) {
    const Json json = json_of(fetch(port(), get_text("/v1/models/" + model)).body);
    return json["status"]["value"].get<std::string>();
  }
  template <typename Fulfils>
  static bool wait_until(const Fulfils& fulfils) {
    const auto end = std::chrono::steady_clock::now() + kLongWait;
    while (std::chrono::steady_clock::now() < end) {
      if (fulfils()) return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  }

  testing::StepGate gate_;
  std::atomic<ModelPool::Clock::duration> now_ = ModelPool::Clock::duration(1h);
  HeldModels* provider_ = nullptr;  // of the server, as the pool
  ModelPool* pool_ = nullptr;
  std::unique_ptr<OpenAiServer> server_;
};

TEST_F(LoadingModels, AreLoadedByTheFirstRequestAndOnlyOnce) {
  start();
  EXPECT_EQ(state("a"), "unloaded");
  provider_->hold();
  std::list<HttpClient> clients;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(clients.emplace_back(port()).send(completion("a")));
  ASSERT_TRUE(provider_->wait_for_load("a"));
  ASSERT_TRUE(wait_until([&] { return pool_->waiting() == 3; }));
  EXPECT_EQ(state("a"), "loading");
  // What is only told is answered meanwhile, and so is what is wrong.
  const Json health = json_of(fetch(port(), get_text("/health")).body);
  EXPECT_EQ(health["states"]["a"], "loading");
  EXPECT_EQ(health["requests"]["waiting"], 3);
  EXPECT_EQ(fetch(port(), get_text("/props?model=a")).status, 200);
  EXPECT_EQ(fetch(port(), get_text("/slots?model=a")).status, 200);
  expect_api_error(ask("c"), 404, "model", "model_not_found");
  provider_->let_go();
  for (HttpClient& client : clients) {
    const Answer answer = client.receive();
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(json_of(answer.body)["choices"][0]["text"], "aaa");
  }
  EXPECT_EQ(provider_->loads(), "a");
  EXPECT_EQ(state("a"), "loaded");
  EXPECT_EQ(state("b"), "unloaded");
  const std::string metrics = fetch(port(), get_text("/metrics")).body;
  EXPECT_NE(metrics.find("anemone:model_loaded{model_name=\"a\"} 1\n"), std::string::npos);
  EXPECT_NE(metrics.find("anemone:model_loads_total{model_name=\"b\"} 0\n"), std::string::npos);
}

TEST_F(LoadingModels, AreAskedForTheirSettingsByName) {
  start();
  const auto get = [&](const std::string& target) { return fetch(port(), get_text(target)); };
  EXPECT_EQ(ask("b").status, 200);
  const Json props = json_of(get("/props?x=1&model=b").body);
  EXPECT_EQ(props["model_alias"], "b");
  EXPECT_EQ(props["default_generation_settings"]["n_ctx"], testing::kTestContext);
  EXPECT_EQ(json_of(get("/slots?model=%62").body)[0]["n_ctx"], testing::kTestContext);
  // Less is known about a model that is not loaded, and asking about it does not load it.
  const Json other = json_of(get("/props?model=a").body);
  EXPECT_EQ(other["model_alias"], "a");
  EXPECT_FALSE(other["default_generation_settings"].contains("n_ctx"));
  EXPECT_EQ(json_of(get("/slots?model=a").body)[0]["n_ctx"], 0);
  EXPECT_EQ(state("a"), "unloaded");
  EXPECT_FALSE(json_of(get("/v1/models/a").body).contains("max_model_len"));
  EXPECT_EQ(json_of(get("/v1/models/b").body)["max_model_len"], testing::kTestContext);
  // Without a name they tell what is the server's.
  const Json server = json_of(get("/props").body);
  EXPECT_GT(server["total_slots"], 0);
  EXPECT_FALSE(server.contains("model_alias") || server.contains("chat_template")) << server;
  EXPECT_EQ(json_of(get("/slots").body)[0]["n_ctx"], 0);
  for (const char* path : {"/props", "/slots"}) {
    expect_api_error(get(path + std::string("?model=%zz")), 400, "model");
    expect_api_error(get(path + std::string("?model=c")), 404, "model", "model_not_found");
  }
}

// Every kind of request waits for its model, and goes on with its whole body.
TEST_F(LoadingModels, AnswerEveryKindOfRequest) {
  start({.max_loaded = 1});
  const std::vector<std::pair<std::string, std::string>> requests = {
      {"/v1/completions", R"({"model": "MODEL", "prompt": "x", "max_tokens": 2, "stream": true})"},
      {"/completion", R"({"model": "MODEL", "prompt": "x", "n_predict": 2})"},
      {"/tokenize", R"({"model": "MODEL", "content": "x"})"},
      {"/detokenize", R"({"model": "MODEL", "tokens": [65]})"},
      {"/models/load", R"({"model": "MODEL"})"}};
  std::string loads;
  for (const auto& [path, body] : requests)
    for (const char* model : {"a", "b"}) {
      std::string asked = body;
      asked.replace(asked.find("MODEL"), 5, model);
      const Answer answer = fetch(port(), post_text(path, asked));
      EXPECT_EQ(answer.status, 200) << path << answer.body;
      EXPECT_TRUE(answer.is_complete);
      loads += model;
    }
  EXPECT_EQ(provider_->loads(), loads);
  EXPECT_LE(provider_->live(), 1);
  // The models here have no chat template and no hidden states, which is found once they are there.
  expect_api_error(fetch(port(), post_text("/v1/embeddings", R"({"model": "a", "input": "x"})")),
                   400, "model");
}

TEST_F(LoadingModels, AreUnloadedOnceTheirStreamsHaveEnded) {
  start();
  gate_.close();
  HttpClient stream(port());
  ASSERT_TRUE(stream.send(completion("a", 5, R"(, "stream": true)")));
  ASSERT_TRUE(gate_.wait_for_waiting(1));
  HttpClient unloading(port());
  ASSERT_TRUE(unloading.send(post_text("/models/unload", R"({"model": "a"})")));
  ASSERT_TRUE(wait_until([&] { return pool_->try_lease(0) == nullptr; }));
  HttpClient later(port());
  ASSERT_TRUE(later.send(completion("a")));
  ASSERT_TRUE(wait_until([&] { return pool_->waiting() == 1; }));
  EXPECT_EQ(provider_->live(), 1);
  gate_.open();
  const Answer answer = stream.receive();
  EXPECT_TRUE(answer.is_complete);
  EXPECT_TRUE(answer.body.ends_with("data: [DONE]\n\n")) << answer.body;
  const Answer unloaded = unloading.receive();
  EXPECT_EQ(unloaded.status, 200);
  EXPECT_EQ(json_of(unloaded.body)["success"], true);
  EXPECT_EQ(later.receive().status, 200);
  EXPECT_EQ(provider_->loads(), "aa");
  EXPECT_EQ(manage("unload", "a").status, 200);
  // Nothing holds it: no parked sequence, no step.
  EXPECT_EQ(provider_->live(), 0);
  EXPECT_EQ(state("a"), "unloaded");
  EXPECT_EQ(manage("unload", "a").status, 200) << "it is";
  expect_api_error(manage("unload", "c"), 404, "model", "model_not_found");
  expect_api_error(manage("load", "c"), 404, "model", "model_not_found");
}

TEST_F(LoadingModels, GoAfterTheirTimeWithoutRequests) {
  start({.keep_alive = 60s});
  EXPECT_EQ(ask("a").status, 200);
  EXPECT_EQ(ask("b").status, 200);
  ASSERT_TRUE(wait_until([&] { return server_->counts().finished == 2; }));
  now_ = now_.load() + ModelPool::Clock::duration(61s);
  pool_->look_again();
  EXPECT_TRUE(wait_until([&] { return provider_->live() == 0; }));
  EXPECT_EQ(ask("a").status, 200);
}

TEST_F(LoadingModels, StayForAsLongAsTheirRequestsSay) {
  start({.keep_alive = 60s});
  const auto ask_for = [&](const std::string& model, const std::string& keep_alive) {
    const std::string more = fmt::format(R"(, "keep_alive": {})", keep_alive);
    EXPECT_EQ(fetch(port(), completion(model, 3, more)).status, 200) << keep_alive;
  };
  const auto is_unloaded = [&] { return state("a") == "unloaded"; };
  ask_for("a", "0");
  EXPECT_TRUE(wait_until(is_unloaded));
  ask_for("b", "-1");
  // A request that waits for its model, and one that has it at once.
  ask_for("a", R"("5m")");
  ask_for("a", R"("0s")");
  EXPECT_TRUE(wait_until(is_unloaded));
  ask_for("a", "90.5");
  ASSERT_TRUE(wait_until([&] { return server_->counts().finished == 5; }));
  const auto pass = [&](std::chrono::milliseconds time) {
    now_ = now_.load() + std::chrono::duration_cast<ModelPool::Clock::duration>(time);
    pool_->look_again();
  };
  pass(90s);
  EXPECT_EQ(state("a"), "loaded");
  // The lease may have been given back after the answer.
  EXPECT_TRUE(wait_until([&] {
    pass(500ms);
    return is_unloaded();
  }));
  pass(1h);
  EXPECT_EQ(state("b"), "loaded");
  EXPECT_EQ(provider_->loads(), "abaa");
}

TEST_F(LoadingModels, ThatCannotBeLoadedAreAnErrorOfTheRequest) {
  start();
  provider_->fail("a", io_error("[/secret/a] cannot open"));
  const Answer answer = ask("a");
  expect_api_error(answer, 500, nullptr, "model_load_failed");
  EXPECT_NE(answer.body.find("cannot open"), std::string::npos);
  EXPECT_EQ(answer.body.find("secret"), std::string::npos) << answer.body;
  EXPECT_FALSE(answer.header("X-Request-Id").empty());
  expect_api_error(manage("load", "a"), 500, nullptr, "model_load_failed");
  EXPECT_EQ(state("a"), "failed");
  EXPECT_EQ(fetch(port(), get_text("/v1/models")).body.find("secret"), std::string::npos);
  provider_->fail("a", out_of_memory("[a] there is not enough memory"));
  expect_api_error(ask("a"), 503, nullptr, "out_of_memory");
  EXPECT_EQ(ask("b").status, 200);
  provider_->fail("a", Status());
  EXPECT_EQ(ask("a").status, 200);
}

TEST_F(LoadingModels, AreNotWaitedForByClientsThatLeft) {
  start({.max_loaded = 1, .queue = 2});
  gate_.close();
  HttpClient running(port());
  ASSERT_TRUE(running.send(completion("a", 5)));
  ASSERT_TRUE(gate_.wait_for_waiting(1));
  HttpClient leaving(port()), staying(port());
  ASSERT_TRUE(leaving.send(completion("b")));
  ASSERT_TRUE(wait_until([&] { return pool_->waiting() == 1; }));
  ASSERT_TRUE(staying.send(completion("a")));
  ASSERT_TRUE(wait_until([&] { return pool_->waiting() == 2; }));
  expect_api_error(ask("b"), 429);
  // With it goes the reason why "a" would have to go.
  leaving.reset();
  EXPECT_TRUE(wait_until([&] { return pool_->waiting() == 0; }));
  gate_.open();
  EXPECT_EQ(running.receive().status, 200);
  EXPECT_EQ(staying.receive().status, 200);
  EXPECT_EQ(provider_->loads(), "a");
}

TEST_F(LoadingModels, TakeTurnsWhereOneFitsInAndManyAsk) {
  start({.max_loaded = 1});
  std::list<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int k = 0; k < 5; ++k) {
        const std::string model = (i + k) % 2 == 0 ? "a" : "b";
        const Answer answer = ask(model);
        if (answer.status == 200 &&
            json_of(answer.body)["choices"][0]["text"] == model + model + model)
          ++good;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 20);
  EXPECT_TRUE(wait_until([&] { return provider_->live() <= 1; }));
  EXPECT_EQ(provider_->most_at_a_time(), 1);
}

TEST_F(LoadingModels, EndWithTheServerInEveryState) {
  for (const bool is_loading : {true, false}) {
    start({.max_loaded = 1});
    if (is_loading)
      provider_->hold();
    else
      gate_.close();
    HttpClient first(port()), second(port()), unloading(port());
    ASSERT_TRUE(first.send(completion("a", 5)));
    ASSERT_TRUE(is_loading ? provider_->wait_for_load("a") : gate_.wait_for_waiting(1));
    if (!is_loading) {
      ASSERT_TRUE(unloading.send(post_text("/models/unload", R"({"model": "a"})")));
      ASSERT_TRUE(wait_until([&] { return pool_->try_lease(0) == nullptr; }));
    }
    ASSERT_TRUE(second.send(completion("b")));
    ASSERT_TRUE(wait_until([&] { return pool_->waiting() == (is_loading ? 2 : 1); }));
    std::thread stopping([&] { server_->stop(60s); });
    expect_api_error(second.receive(), 503, nullptr, "shutting_down");
    gate_.open();
    if (is_loading) {
      expect_api_error(first.receive(), 503, nullptr, "shutting_down");
    } else {
      EXPECT_EQ(first.receive().status, 200) << "it ran";
      expect_api_error(unloading.receive(), 503, nullptr, "shutting_down");
    }
    stopping.join();
    server_.reset();
  }
}

TEST_F(LoadingModels, AreManagedByThoseWhoHaveAKey) {
  OpenAiServerOptions options;
  options.api_keys = {{"secret"}};
  start({}, options);
  for (const char* what : {"load", "unload"}) {
    EXPECT_EQ(manage(what, "a").status, 401);
    EXPECT_EQ(fetch(port(), post_text(std::string("/v1/models/") + what, R"({"model": "a"})",
                                      "X-Api-Key: secret\r\n"))
                  .status,
              200);
  }
  EXPECT_EQ(provider_->loads(), "a");
}

}  // namespace
}  // namespace anemone::serve
