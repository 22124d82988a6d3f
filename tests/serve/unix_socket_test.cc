// SPDX-License-Identifier: Apache-2.0
// HTTP over a Unix socket: the answers are those over TCP, and the file of the socket belongs to
// its server.
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>

#include "serve/socket_file.h"
#include "tests/serve/test_server.h"
#include "tests/support/shared_data.h"

namespace anemone::serve {
namespace {

using testing::Answer;
using testing::get_text;
using testing::HttpClient;
using testing::letters;
using testing::post_text;
using testing::TestServer;

class UnixSocket : public ::testing::Test {
 protected:
  OpenAiServerOptions options() const {
    OpenAiServerOptions out;
    out.http.socket_path = path_;
    return out;
  }
  Answer ask(const std::string& request) const {
    HttpClient client(path_);
    client.send(request);
    return client.receive();
  }

  const anemone::testing::TemporaryFolder folder_;
  const std::string path_ = folder_.file("http.sock");
};

TEST_F(UnixSocket, AnswersAsAPortDoes) {
  TestServer server(options());
  EXPECT_EQ(server.port(), 0);
  EXPECT_EQ(server.server().url(), "unix:" + path_);
  EXPECT_EQ(ask(get_text("/health")).status, 200);
  EXPECT_EQ(testing::json_of(ask(get_text("/v1/models")).body)["data"][0]["id"], "tiny");
  HttpClient client(path_);
  for (const char* stream : {"false", "true"}) {
    const std::string body =
        fmt::format(R"({{"prompt": "x", "max_tokens": 3, "stream": {}}})", stream);
    ASSERT_TRUE(client.send(post_text("/v1/completions", body)));
    const Answer answer = client.receive();
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.is_complete);
    EXPECT_NE(answer.body.find(stream == std::string("true") ? "[DONE]" : letters(1, 3)),
              std::string::npos)
        << answer.body;
  }
  testing::expect_api_error(ask(get_text("/nowhere")), 404);
}

TEST_F(UnixSocket, BelongsToItsOwnerWhileTheServerRuns) {
  {
    TestServer server(options());
    struct stat info = {};
    ASSERT_EQ(::lstat(path_.c_str(), &info), 0);
    EXPECT_TRUE(S_ISSOCK(info.st_mode));
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    server.server().stop(std::chrono::seconds(1));
    while (std::filesystem::exists(path_)) std::this_thread::yield();
    EXPECT_FALSE(HttpClient(path_).is_connected());
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "the file goes";
  }
  { TestServer server(options()); }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path())) << "and without a stop in order";
}

TEST_F(UnixSocket, IsTakenFromNobody) {
  TestServer server(options());
  const auto second = OpenAiServer::listen(options());
  EXPECT_EQ(second.status().code(), Code::kIo);
  EXPECT_EQ(ask(get_text("/health")).status, 200) << "the first one goes on";
  OpenAiServerOptions other = options();
  other.http.socket_path = folder_.file("diary");
  std::ofstream(other.http.socket_path) << "text";
  EXPECT_EQ(OpenAiServer::listen(other).status().code(), Code::kIo);
  EXPECT_EQ(std::ifstream(other.http.socket_path).get(), 't');
  other.http.socket_path = folder_.file(std::string(200, 'x'));
  EXPECT_EQ(OpenAiServer::listen(other).status().code(), Code::kInvalidArgument);
}

TEST_F(UnixSocket, ReplacesThatOfAServerThatIsGone) {
  {
    auto dead = SocketFile::listen(path_);
    ASSERT_TRUE(dead.ok());
    // Its file stays, as of a process that was killed.
    std::filesystem::create_hard_link(path_, folder_.file("kept"));
  }
  std::filesystem::rename(folder_.file("kept"), path_);
  TestServer server(options());
  EXPECT_EQ(ask(get_text("/health")).status, 200);
}

TEST_F(UnixSocket, CancelsTheRequestOfAClientThatLeaves) {
  TestServer server(options());
  server.gate().close();
  {
    HttpClient client(path_);
    ASSERT_TRUE(client.send(post_text("/v1/completions", R"({"prompt": "x", "max_tokens": 300})")));
    ASSERT_TRUE(server.gate().wait_for_waiting(1));
  }
  EXPECT_TRUE(server.wait_for_counts([](const auto& counts) { return counts.cancelling == 1; }));
}

// A browser comes to no Unix socket, but a proxy before it hands on what a browser asked it.
TEST_F(UnixSocket, ChecksTheHostAsOnThisMachine) {
  TestServer server(options());
  EXPECT_EQ(ask("GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 200);
  EXPECT_EQ(ask("GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n").status, 403);
}

}  // namespace
}  // namespace anemone::serve
