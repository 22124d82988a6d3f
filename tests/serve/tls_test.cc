// SPDX-License-Identifier: Apache-2.0
// HTTP over TLS: the answers are those of plain HTTP, and a handshake that fails or takes too long
// harms nobody else.
#include <atomic>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <list>
#include <optional>
#include <thread>

#include "serve/http/tls_context.h"
#include "tests/serve/test_server.h"
#include "tests/serve/tls_client.h"
#include "tests/support/shared_data.h"

namespace anemone::serve {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::CertifiedKey;
using testing::get_text;
using testing::HttpClient;
using testing::letters;
using testing::post_text;
using testing::TestServer;
using testing::TlsClient;

const CertifiedKey& certified_key() {
  static const CertifiedKey key = testing::make_certified_key();
  return key;
}

class TlsTest : public ::testing::Test {
 protected:
  TlsTest() {
    write("certificate", certified_key().certificate);
    write("key", certified_key().key);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.file(name)) << text;
  }
  Result<std::shared_ptr<const TlsContext>> load(const std::string& certificate,
                                                 const std::string& key) const {
    return TlsContext::load(folder_.file(certificate), folder_.file(key));
  }
  OpenAiServerOptions options() const {
    OpenAiServerOptions out;
    auto tls = load("certificate", "key");
    EXPECT_TRUE(tls.ok()) << tls.status().message();
    out.http.tls = *std::move(tls);
    return out;
  }
  // The status of /health over a connection of its own; 0 without one.
  static int health(const TestServer& server, int max_version = 0) {
    TlsClient client(server.port(), certified_key().certificate, max_version);
    client.send(get_text("/health"));
    return client.receive().status;
  }

  const anemone::testing::TemporaryFolder folder_;
};

TEST_F(TlsTest, MayHaveAnotherCertificateLater) {
  const CertifiedKey renewed = testing::make_certified_key();
  write("renewed", renewed.certificate);
  write("renewed_key", renewed.key);
  const auto next = load("renewed", "renewed_key");
  ASSERT_TRUE(next.ok()) << next.status().message();
  std::atomic<bool> has_changed = false;
  OpenAiServerOptions with_next = options();
  with_next.http.reread_tls = [&]() -> std::optional<std::shared_ptr<const TlsContext>> {
    if (!has_changed.exchange(false)) return std::nullopt;
    return *next;
  };
  TestServer server(with_next);
  TlsClient before(server.port(), certified_key().certificate);
  ASSERT_TRUE(before.has_tls());
  EXPECT_FALSE(TlsClient(server.port(), renewed.certificate).has_tls());
  has_changed = true;
  EXPECT_TRUE(TlsClient(server.port(), renewed.certificate).has_tls());
  EXPECT_FALSE(TlsClient(server.port(), certified_key().certificate).has_tls());
  // A connection that is there goes on.
  ASSERT_TRUE(before.send(get_text("/health")));
  EXPECT_EQ(before.receive().status, 200);
}

TEST_F(TlsTest, AnswersAsPlainHttpDoes) {
  TestServer server(options());
  EXPECT_TRUE(server.server().url().starts_with("https://127.0.0.1:")) << server.server().url();
  TlsClient client(server.port(), certified_key().certificate);
  ASSERT_TRUE(client.has_tls());
  EXPECT_EQ(client.version(), "TLSv1.3");
  EXPECT_EQ(client.protocol(), "http/1.1") << "of h2 and http/1.1";
  ASSERT_TRUE(client.send(get_text("/v1/models")));
  EXPECT_EQ(testing::json_of(client.receive().body)["data"][0]["id"], "tiny");
  ASSERT_TRUE(client.send(post_text("/v1/completions", R"({"prompt": "x", "max_tokens": 3})")));
  const Answer answer = client.receive();
  EXPECT_EQ(testing::json_of(answer.body)["choices"][0]["text"], letters(1, 3));
  // Its own pages.
  const std::string origin = "Origin: https://localhost\r\n";
  ASSERT_TRUE(
      client.send(post_text("/v1/completions", R"({"prompt": "x", "max_tokens": 1})", origin)));
  EXPECT_EQ(client.receive().status, 200);
}

TEST_F(TlsTest, StreamsEventsAsTheyAreMade) {
  TestServer server(options());
  TlsClient client(server.port(), certified_key().certificate);
  server.gate().close();
  ASSERT_TRUE(client.send(
      post_text("/v1/completions", R"({"prompt": "x", "max_tokens": 4, "stream": true})")));
  ASSERT_TRUE(server.gate().wait_for_waiting(1));
  server.gate().permit(2);
  EXPECT_TRUE(client.wait_for("data: {")) << "before the others are made";
  server.gate().open();
  const Answer answer = client.receive();
  EXPECT_TRUE(answer.is_complete);
  EXPECT_EQ(testing::events_of(answer.body).back(), "[DONE]");
}

// Requests and answers of many records, one after the other on a connection and in one write.
TEST_F(TlsTest, MovesWhatIsLargerThanARecord) {
  TestServer server(options());
  TlsClient client(server.port(), certified_key().certificate);
  const std::string content(200'000, 'x');
  const std::string big = post_text("/tokenize", fmt::format(R"({{"content": "{}"}})", content));
  ASSERT_TRUE(client.send(big + get_text("/health")));
  const Answer tokens = client.receive();
  EXPECT_EQ(tokens.status, 200) << tokens.body.substr(0, 200);
  EXPECT_EQ(testing::json_of(tokens.body)["tokens"].size(), content.size());
  EXPECT_EQ(client.receive().status, 200);
}

TEST_F(TlsTest, SaysThatAnAnswerEndsWhereTheConnectionDoes) {
  TestServer server(options());
  TlsClient client(server.port(), certified_key().certificate);
  ASSERT_TRUE(
      client.send("POST /v1/completions HTTP/1.0\r\nContent-Type: "
                  "application/json\r\nContent-Length: 48\r\n\r\n"
                  R"({"prompt": "x", "max_tokens": 4, "stream": true})"));
  const Answer answer = client.receive();
  EXPECT_EQ(testing::events_of(answer.body).back(), "[DONE]");
  EXPECT_TRUE(client.was_told_the_end());
}

TEST_F(TlsTest, CancelsTheRequestOfAClientThatLeaves) {
  TestServer server(options());
  server.gate().close();
  {
    TlsClient client(server.port(), certified_key().certificate);
    ASSERT_TRUE(client.send(post_text("/v1/completions", R"({"prompt": "x", "max_tokens": 300})")));
    ASSERT_TRUE(server.gate().wait_for_waiting(1));
  }
  EXPECT_TRUE(server.wait_for_counts([](const auto& counts) { return counts.cancelling == 1; }));
}

TEST_F(TlsTest, SpeaksNoVersionBefore12) {
  TestServer server(options());
  TlsClient client(server.port(), certified_key().certificate, TLS1_2_VERSION);
  EXPECT_EQ(client.version(), "TLSv1.2");
  ASSERT_TRUE(client.send(get_text("/health")));
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_FALSE(TlsClient(server.port(), certified_key().certificate, TLS1_1_VERSION).has_tls());
  // A client that asks for new keys again and again keeps the server signing.
  EXPECT_FALSE(client.renegotiate());
  EXPECT_EQ(health(server), 200);
}

TEST_F(TlsTest, ClosesWhatIsNoHandshake) {
  TestServer server(options());
  std::string noise;
  for (int i = 0; i < 5000; ++i) noise += static_cast<char>(i * 37 % 251);
  const std::string half_record = {0x16, 0x03, 0x01, 0x00, 0x05, 0x01, 0x00, 0x00, 0x7f, 0x00};
  for (const std::string& bytes : {get_text("/health"), noise, half_record}) {
    HttpClient client(server.port());
    client.send(bytes);
    client.end_sending();
    const Answer answer = client.receive();
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(health(server), 200);
  }
}

TEST_F(TlsTest, GivesUpOnHandshakesThatTakeTooLongAndLetsOthersIn) {
  OpenAiServerOptions limited = options();
  limited.http.handshake_timeout = 300ms;
  limited.http.max_connections = 8;
  TestServer server(limited);
  std::list<HttpClient> silent;
  for (int i = 0; i < 20; ++i) silent.emplace_back(server.port()).send("\x16\x03\x01");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(health(server), 200) << "beside those that wait: " << i;
  for (HttpClient& client : silent) EXPECT_TRUE(client.is_closed_by_server());
}

TEST_F(TlsTest, StopsInTheMiddleOfHandshakes) {
  TestServer server(options());
  HttpClient half(server.port());
  ASSERT_TRUE(half.send("\x16\x03\x01"));
  EXPECT_EQ(health(server), 200) << "so the half one has arrived";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(server.server().stop(1s));
  EXPECT_TRUE(half.is_closed_by_server());
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s);
}

TEST_F(TlsTest, WarnsOfACertificateThatEndsSoon) {
  for (const auto& [days, expected] : std::initializer_list<std::pair<int, const char*>>{
           {15, ""}, {13, "the certificate ends on "}, {-2, "the certificate ended on "}}) {
    const testing::CertifiedKey made = testing::make_certified_key(days);
    write("soon", made.certificate);
    write("soon_key", made.key);
    const auto context = load("soon", "soon_key");
    ASSERT_TRUE(context.ok()) << context.status().message();
    EXPECT_TRUE((*context)->warning().starts_with(expected)) << (*context)->warning();
    EXPECT_EQ((*context)->warning().empty(), *expected == 0) << days;
  }
}

TEST_F(TlsTest, SaysWhatIsWrongWithItsFiles) {
  write("empty", "");
  write("text", "dear diary\n");
  write("other_key", testing::make_certified_key().key);
  write("locked_key", certified_key().locked_key);
  std::string cut = certified_key().certificate;
  write("cut", cut.substr(0, cut.size() / 2));
  write("broken", cut.replace(cut.size() / 2, 20, "AAAAAAAAAAAAAAAAAAAA"));
  write("chain", certified_key().certificate + certified_key().certificate);
  write("bad_chain", certified_key().certificate + cut);
  struct Case {
    const char* certificate;
    const char* key;
    Code code;
    const char* named;  // in the message
  };
  for (const Case& c : std::initializer_list<Case>{
           {"none", "key", Code::kIo, "none"},
           {"certificate", "none", Code::kIo, "none"},
           {"empty", "key", Code::kParseError, "empty"},
           {"text", "key", Code::kParseError, "text"},
           {"key", "key", Code::kParseError, "expected certificates"},
           {"cut", "key", Code::kParseError, "cut"},
           {"broken", "key", Code::kParseError, "broken"},
           {"bad_chain", "key", Code::kParseError, "bad_chain"},
           {"certificate", "text", Code::kParseError, "text"},
           {"certificate", "certificate", Code::kParseError, "private key"},
           {"certificate", "locked_key", Code::kParseError, "passphrase"},
           {"certificate", "other_key", Code::kInvalidArgument, "got another"},
       }) {
    SCOPED_TRACE(std::string(c.certificate) + " " + c.key);
    const auto tls = load(c.certificate, c.key);
    EXPECT_EQ(tls.status().code(), c.code) << tls.status().message();
    EXPECT_NE(tls.status().message().find(c.named), std::string::npos) << tls.status().message();
  }
  EXPECT_TRUE(load("chain", "key").ok());
}

}  // namespace
}  // namespace anemone::serve
