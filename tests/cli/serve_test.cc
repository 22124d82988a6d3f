// SPDX-License-Identifier: Apache-2.0
// `anemone serve` as a process: its modes, its signals and its usage errors.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <list>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <unistd.h>
#include <vector>

#include "base/json.h"
#include "tests/cli/process.h"
#include "tests/cli/serve_command.h"
#include "tests/cli/serve_process.h"
#include "tests/serve/http_client.h"
#include "tests/support/sanitized.h"

namespace anemone::cli {
namespace {

using serve::testing::fetch;
using serve::testing::get_text;
using serve::testing::HttpClient;
using serve::testing::post_text;

TEST_F(ServeCommand, AnswersLinesOfStdin) {
  const Outcome outcome =
      serve("--stdin --max-tokens 20",
            "{\"messages\": [{\"role\": \"user\", \"content\": \"What is 17 + 25?\"}]}\n"
            "nonsense\n{\"prompt\": \"x\", \"max_new\": 100, \"ignore_eos\": true}\n");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  std::istringstream lines(outcome.out);
  std::vector<Json> answers;
  for (std::string line; std::getline(lines, line);) answers.push_back(*parse_json(line, "line"));
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(answers[0]["ready"], true);
  EXPECT_EQ(answers[0]["models"], Json::array({"pocket"})) << "the name of the folder";
  EXPECT_EQ(answers[1]["text"], "17 + 25 = 42.");
  EXPECT_EQ(answers[2]["ok"], false);
  EXPECT_EQ(answers[3]["generated_ids"].size(), 20U);
}

TEST_F(ServeCommand, CompilesACheckpointForAContext) {
  const anemone::testing::TemporaryFolder cache;
  const std::string checkpoint = anemone::testing::source_path("models/pocket/checkpoint");
  const Outcome outcome =
      run_in("", "ANEMONE_CACHE='" + cache.path() + "' ",
             "serve '" + checkpoint + "' -c 64 --stdin", "{\"describe\": \"\"}");
  EXPECT_NE(outcome.out.find("\"context\":64"), std::string::npos) << outcome.out << outcome.err;
  const Outcome artifact = serve("--context 4k --stdin");
  EXPECT_EQ(artifact.code, 2) << artifact.err;
  EXPECT_NE(artifact.err.find("[--context] expected at most 512 tokens"), std::string::npos)
      << artifact.err;
}

TEST_F(ServeCommand, TakesAnotherChatTemplate) {
  const anemone::testing::TemporaryFolder folder;
  std::ofstream(folder.file("template")) << "{{ messages[0].content }}";
  const Outcome outcome = serve("--stdin --chat-template-file '" + folder.file("template") + "'",
                                "{\"messages\": [{\"role\": \"user\", \"content\": \"The capital "
                                "of France\"}], \"max_new\": 4}");
  EXPECT_NE(outcome.out.find("\"text\":\" is Paris\""), std::string::npos) << outcome.out;
}

// The line that says where the server is, is JSON too.
TEST_F(ServeCommand, WritesALogOfJsonAlone) {
  const anemone::testing::TemporaryFolder folder;
  const std::string script = "'" ANEMONE_BINARY "' " ANEMONE_FLAGS " serve '" + model() +
                             "' --port 0 --ready-file '" + folder.file("ready") +
                             "' --log-format json 2>'" + folder.file("log") + "' & while [ ! -s '" +
                             folder.file("ready") + "' ]; do sleep 0.02; done; kill $!; wait $!";
  ASSERT_EQ(std::system(script.c_str()), 0);
  std::istringstream lines(contents(folder.file("log")));
  std::vector<Json> events;
  for (std::string line; std::getline(lines, line);) {
    const auto json = parse_json(line, "line");
    ASSERT_TRUE(json.ok()) << line;
    events.push_back(*json);
  }
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back()["event"], "serving");
  EXPECT_TRUE(events.back()["url"].get<std::string>().ends_with("/v1"));
  EXPECT_EQ(events.back()["open_to_all"], false);
}

TEST_F(ServeCommand, WritesNoNotesIntoALogOfJson) {
  const std::string note = "note: [--context] has no effect";
  EXPECT_NE(serve("--context 16 --stdin").err.find(note), std::string::npos);
  EXPECT_EQ(serve("--context 16 --stdin --log-format json").err.find(note), std::string::npos);
}

TEST_F(ServeCommand, ServesUntilItIsTold) {
  for (const int signal : {SIGTERM, SIGINT}) {
    ServeProcess server(model(), ready());
    ASSERT_NE(server.port(), 0);
    const auto models = fetch(server.port(), get_text("/v1/models"));
    EXPECT_NE(models.body.find("\"two\""), std::string::npos) << models.body;
    const auto chat = fetch(
        server.port(),
        post_text(
            "/v1/chat/completions",
            R"({"model": "one", "messages": [{"role": "user", "content": "What is 17 + 25?"}]})"));
    EXPECT_NE(chat.body.find("17 + 25 = 42."), std::string::npos) << chat.body;
    server.signal(signal);
    EXPECT_EQ(server.wait(), 0);
    EXPECT_FALSE(std::filesystem::exists(ready()));
  }
}

TEST_F(ServeCommand, ServesHttpOnAUnixSocket) {
  const anemone::testing::TemporaryFolder folder;
  const std::string path = folder.file("http.sock");
  // The socket of a server that was killed is taken over.
  for (const int signal : {SIGKILL, SIGTERM}) {
    ServeProcess server(model(), ready(), {"--http-socket", path});
    EXPECT_EQ(server.url(), "unix:" + path + "\n");
    HttpClient client(path);
    ASSERT_TRUE(client.send(post_text("/v1/completions", R"({"prompt": "x", "max_tokens": 2})")));
    EXPECT_EQ(client.receive().status, 200);
    server.signal(signal);
    EXPECT_EQ(server.wait(), signal == SIGKILL ? -1 : 0);
    EXPECT_EQ(std::filesystem::exists(path), signal == SIGKILL);
  }
  EXPECT_FALSE(std::filesystem::exists(ready()));
}

TEST_F(ServeCommand, LoadsModelsWhenTheyAreAskedFor) {
  const anemone::testing::TemporaryFolder folder;
  const std::string copy = folder.file("copy");
  std::filesystem::copy(model(), copy, std::filesystem::copy_options::recursive);
  ServeProcess server(copy, ready(), {model(), "--lazy", "--models-max", "1"});
  ASSERT_NE(server.port(), 0);
  const auto ask = [&](const std::string& name) {
    return fetch(server.port(), post_text("/v1/completions",
                                          R"({"prompt": "The capital of France", "max_tokens": 4,
                                              "model": ")" +
                                              name + "\"}"));
  };
  const auto state = [&](const std::string& name) {
    const auto answer = fetch(server.port(), get_text("/v1/models/" + name));
    return (*parse_json(answer.body, "model"))["status"]["value"].get<std::string>();
  };
  EXPECT_EQ(state("one"), "unloaded");
  for (const char* name : {"one", "two", "one"}) {
    EXPECT_NE(ask(name).body.find(" is Paris"), std::string::npos) << name;
    EXPECT_EQ(state(name), "loaded");
    EXPECT_EQ(state(name == std::string("one") ? "two" : "one"), "unloaded");
  }
  // A damaged model is an error of its requests, which names no folder.
  EXPECT_EQ(ask("two").status, 200);
  std::filesystem::resize_file(copy + "/tokenizer.json", 10);
  const auto refused = ask("one");
  EXPECT_EQ(refused.status, 500);
  EXPECT_NE(refused.body.find("tokenizer.json"), std::string::npos) << refused.body;
  EXPECT_EQ(refused.body.find(folder.path()), std::string::npos) << refused.body;
  EXPECT_EQ(state("one"), "failed");
  EXPECT_EQ(ask("two").status, 200);
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
}

TEST_F(ServeCommand, LetsAStreamEndAfterTheFirstSignal) {
  ServeProcess server(model(), ready());
  HttpClient client(server.port());
  ASSERT_TRUE(client.send(
      post_text("/v1/completions",
                R"({"prompt": "x", "max_tokens": 40, "ignore_eos": true, "stream": true})")));
  ASSERT_TRUE(client.wait_for("text_completion"));
  server.signal(SIGTERM);
  const auto answer = client.receive();
  EXPECT_TRUE(answer.is_complete);
  EXPECT_TRUE(answer.body.ends_with("data: [DONE]\n\n")) << answer.body;
  EXPECT_EQ(server.wait(), 0);
}

TEST_F(ServeCommand, EndsAtOnceAtTheSecondSignal) {
  ServeProcess server(model(), ready());
  HttpClient client(server.port());
  ASSERT_TRUE(client.send(long_request()));
  ASSERT_TRUE(client.wait_for("text_completion"));
  server.signal(SIGTERM);
  // The first one has arrived when the door is closed.
  while (HttpClient(server.port()).is_connected()) std::this_thread::yield();
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 128 + SIGTERM);
}

TEST_F(ServeCommand, SaysThatItIsNotWellOnceAFileOfItsModelWasCut) {
  const anemone::testing::TemporaryFolder folder;
  const std::string copy = folder.file("copy");
  std::filesystem::copy(model(), copy, std::filesystem::copy_options::recursive);
  const std::string file = copy + "/head_0.mlpackage/Data/com.apple.CoreML/weights/weight.bin";
  const std::string whole = contents(file);
  ServeProcess server(copy, ready());
  ASSERT_NE(server.port(), 0);
  EXPECT_EQ(fetch(server.port(), get_text("/health")).status, 200);
  std::filesystem::resize_file(file, 0);
  const auto request = post_text("/v1/completions", R"({"prompt": "x", "max_tokens": 1})");
  EXPECT_EQ(fetch(server.port(), request).status, 500);
  // Zeros have taken the place of the weights by now, so a file that is whole again changes
  // nothing.
  for (const bool is_whole : {false, true}) {
    if (is_whole) std::fstream(file, std::ios::binary | std::ios::in | std::ios::out) << whole;
    const auto health = fetch(server.port(), get_text("/health"));
    EXPECT_EQ(health.status, 503);
    EXPECT_NE(health.body.find("cut short"), std::string::npos) << health.body;
    // Whoever has no key may ask.
    EXPECT_EQ(health.body.find(copy), std::string::npos) << health.body;
    EXPECT_EQ(fetch(server.port(), request).status, 500);
  }
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
}

TEST_F(ServeCommand, EndsWithinTenSecondsWhateverRuns) {
  ServeProcess server(model(), ready(), {"--parallel", "32"});
  ASSERT_NE(server.port(), 0);
  // Answers that do not end, a body that does not come, and a header that does not.
  std::list<HttpClient> clients;
  // Sanitizers make each step several times as long, and each answer takes part in it.
  const int answers = testing::kIsSanitized ? 4 : 32;
  for (int i = 1; i <= answers; ++i)
    ASSERT_TRUE(
        clients.emplace_back(server.port()).send(endless_request(/*is_stream=*/i == answers)));
  ASSERT_TRUE(clients.back().wait_for("text_completion"));
  ASSERT_TRUE(clients.emplace_back(server.port()).send(long_request().substr(0, 150)));
  ASSERT_TRUE(clients.emplace_back(server.port()).send("POST"));
  const auto start = std::chrono::steady_clock::now();
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), exit_code(Code::kCancelled)) << "a request was cut off";
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_FALSE(std::filesystem::exists(ready()));
}

TEST_F(ServeCommand, LivesThroughRequestsThatNeedMoreMemoryThanThereIs) {
  if (testing::kIsSanitized) GTEST_SKIP() << "sanitizers need all addresses for themselves";
  ServeProcess server(model(), ready(), {"--threads", "2"}, 400'000'000);
  ASSERT_NE(server.port(), 0);
  std::string lists = R"({"prompt": "x", "more": [0)";
  for (int i = 0; i < 5'000'000; ++i) lists += ",[]";
  std::string messages = R"({"messages": [{"role": "user", "content": ""})";
  for (int i = 0; i < 400'000; ++i) messages += R"(,{"role":"user","content":""})";
  const std::vector<std::string> requests = {post_text("/v1/completions", lists + "]}"),
                                             post_text("/v1/chat/completions", messages + "]}")};
  for (int round = 0; round < 2; ++round) {
    std::list<HttpClient> clients;
    for (int i = 0; i < 2; ++i)
      for (const std::string& request : requests)
        EXPECT_TRUE(clients.emplace_back(server.port()).send(request));
    for (HttpClient& client : clients) EXPECT_GE(client.receive().status, 400);
  }
  const auto answer = fetch(server.port(), post_text("/v1/completions", R"({"prompt": "x"})"));
  EXPECT_EQ(answer.status, 200) << answer.body;
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
}
TEST_F(ServeCommand, RefusesWhatItCannotServe) {
  const auto refused = [](const Outcome& outcome, int code, const std::string& part) {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  };
  refused(run_anemone("serve"), 2, "MODEL");
  refused(run_anemone("serve /nonexistent"), 5, "/nonexistent");
  refused(serve("--stdin --port 1"), 2, "--port");
  refused(serve("--stdin --socket x"), 2, "--stdin");
  refused(serve("--socket x --api-key y"), 2, "--api-key");
  refused(serve("--http-socket x --port 1"), 2, "--port");
  refused(serve("--http-socket x --host y"), 2, "--host");
  refused(serve("--http-socket x --socket y"), 2, "--http-socket");
  refused(serve("--http-socket x --stdin"), 2, "--http-socket");
  refused(serve("--http-socket x --tls-cert y --tls-key z"), 2, "--http-socket");
  refused(serve("--tls-cert x"), 2, "--tls-key");
  refused(serve("--tls-key x"), 2, "--tls-cert");
  refused(serve("--socket x --tls-cert y --tls-key z"), 2, "--socket");
  refused(serve("--tls-cert /nonexistent --tls-key y"), 5, "/nonexistent");
  refused(serve("--tls-cert '" + model() + "/manifest.json' --tls-key y"), 3, "manifest.json");
  refused(serve("--http-socket ''"), 2, "--http-socket");
  refused(serve("--http-socket " + std::string(200, 'x')), 2, "socket");
  refused(serve("--http-socket /nonexistent/s"), 5, "/nonexistent/s");
  refused(serve("--port 70000"), 2, "--port");
  refused(serve("--parallel 0"), 2, "--parallel");
  refused(serve("--temperature 3"), 2, "--temperature");
  refused(serve("--models-max 0"), 2, "--models-max");
  refused(serve("--port 0 --models-memory 1kb"), 2, "[--models-memory] expected at least the");
  refused(serve("--port 0 --models-memory much"), 2, "--models-memory");
  for (const char* time : {"soon", "5x", "-1", "400000h", "m"})
    refused(serve("--port 0 --keep-alive=" + std::string(time)), 2, "--keep-alive");
  refused(serve("/nonexistent --lazy --port 0"), 5, "/nonexistent");
  refused(serve("--alias ''"), 2, "--alias");
  refused(serve("--alias one,one --stdin"), 2, "one");
  refused(serve("'" + model() + "' --stdin"), 2, "--alias");
  refused(serve("'" + model() + "' --alias a --stdin"), 2, "--alias");
  refused(serve("--host 203.0.113.1 --port 0"), 5, "203.0.113.1");
  refused(serve("--socket " + std::string(200, 'x')), 2, "socket");
  refused(serve("--socket /nonexistent/s"), 5, "/nonexistent/s");
  refused(serve("--chat-template-file /nonexistent --stdin"), 5, "/nonexistent");
  // A server that was meant to have a key does not start without.
  refused(serve("--api-key ''"), 2, "--api-key");
  refused(serve("--api-key 'a b'"), 2, "--api-key");
  refused(serve("--api-key a --api-key-file b"), 2, "--api-key");
  refused(serve("--api-key-file /nonexistent"), 5, "/nonexistent");
  refused(serve("--socket x --allowed-host y"), 2, "--allowed-host");
  for (const char* name : {"''", "x:80", "http://x", "'[::1]'", "'*'"})
    refused(serve("--port 0 --allowed-host " + std::string(name)), 2, "--allowed-host");
  refused(serve("--port 0 --host ''"), 2, "--host");
  const anemone::testing::TemporaryFolder folder;
  std::ofstream(folder.file("bad")) << "{% for %}";
  refused(serve("--chat-template-file '" + folder.file("bad") + "' --stdin"), 3, "bad");
}

}  // namespace
}  // namespace anemone::cli
