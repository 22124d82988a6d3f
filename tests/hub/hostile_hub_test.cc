// SPDX-License-Identifier: Apache-2.0
// A hub that means harm: whatever it sends, pull ends soon, with one error, a bounded number of
// requests and nothing that looks like a model.
#include <chrono>
#include <thread>

#include "hub/http_client.h"
#include "tests/hub/hub_fixture.h"

namespace anemone::hub {
namespace {

namespace fs = std::filesystem;
using testing::FakeHub;
using testing::Fault;
using Kind = testing::Fault::Kind;

const std::string kApi = "/api/models/Owner/Model/";

class HostileHub : public testing::HubTest {
 protected:
  static std::string entry(const std::string& path, const std::string& size = "1") {
    return R"({"type":"file","oid":")" + std::string(40, 'a') + R"(","size":)" + size +
           R"(,"path":")" + path + R"("})";
  }
  // Nothing was written and the hub was asked at most so often.
  void expect_refused(Code code, std::string_view text, std::size_t max_requests) {
    const std::size_t before = hub_.seen().size();
    const auto start = std::chrono::steady_clock::now();
    const auto failed = run();
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.status().code(), code) << failed.status().message();
    EXPECT_NE(failed.status().message().find(text), std::string::npos) << failed.status().message();
    EXPECT_LE(hub_.seen().size() - before, max_requests);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
    EXPECT_FALSE(fs::exists(repo() / "refs" / "main"));
  }
};

TEST_F(HostileHub, AListThatIsTooLongIsAskedForOnce) {
  hub_.set_list("[" + std::string(17 << 20, ' ') + "]");
  expect_refused(Code::kIo, "expected at most 16777216 bytes, got more", 2);
}

TEST_F(HostileHub, AListWithTooManyValuesIsRefused) {
  std::string list = "[";
  while (list.size() < (15 << 20)) list += "[],";
  hub_.set_list(list + "1]");
  expect_refused(Code::kParseError, "bytes of memory", 2);
}

TEST_F(HostileHub, PagesWithoutEndAreRefused) {
  const std::string page = "[" + std::string(10 << 20, ' ') + "]";
  hub_.answer_raw(kApi + "tree/", [&](const FakeHub::Send& send) {
    send("HTTP/1.1 200 OK\r\nLink: <" + hub_.endpoint() + kApi +
         "tree/more>; rel=\"next\"\r\nContent-Length: " + std::to_string(page.size()) +
         "\r\nConnection: close\r\n\r\n");
    send(page);
  });
  expect_refused(Code::kCorrupt, "got a longer one", 10);
}

TEST_F(HostileHub, ShortPagesWithoutEndAreRefused) {
  hub_.answer_raw(kApi + "tree/", [&](const FakeHub::Send& send) {
    send("HTTP/1.1 200 OK\r\nLink: <" + hub_.endpoint() + kApi +
         "tree/more>; rel=\"next\"\r\nContent-Length: 2\r\nConnection: close\r\n\r\n[]");
  });
  expect_refused(Code::kParseError, "expected pages of files", 202);
}

TEST_F(HostileHub, PagesOfAnotherHostAreNotAskedFor) {
  hub_.answer_raw(kApi + "tree/", [&](const FakeHub::Send& send) {
    send(
        "HTTP/1.1 200 OK\r\nLink: <http://localhost:1/x>; rel=\"next\"\r\nContent-Length: "
        "2\r\n\r\n[]");
  });
  expect_refused(Code::kParseError, "expected pages of files from", 2);
}

TEST_F(HostileHub, NamesThatCannotLieSideBySideAreRefused) {
  const auto list = [&](const std::string& a, const std::string& b) {
    hub_.set_list("[" + entry(a) + "," + entry(b) + "," + entry("model.safetensors") + "]");
  };
  list("config.json", "config.json");
  expect_refused(Code::kParseError, "got \"config.json\" twice", 2);
  list("config.json", "Config.json");
  expect_refused(Code::kUnsupported, "differ in more than case", 2);
  PullOptions all;
  all.patterns.include = {"*"};
  for (const auto& [a, b] : {std::pair("a", "a/b"), {"A", "a/b.json"}, {"x/y", "x/y/z/w"}}) {
    list(a, b);
    EXPECT_EQ(run(all).status().code(), Code::kUnsupported) << a << " " << b;
  }
  hub_.set_list("[" + entry("a\\u007fb.json") + "]");
  expect_refused(Code::kParseError, "relative paths", 2);
}

TEST_F(HostileHub, SizesThatDoNotAddUpAreRefused) {
  const std::string most = "9223372036854775807";
  hub_.set_list("[" + entry("config.json", most) + "," + entry("model.safetensors", most) + "]");
  expect_refused(Code::kParseError, "the sizes of all files together are too large", 2);
  // One alone is more than any disk has.
  hub_.set_list("[" + entry("model.safetensors", most) + "]");
  expect_refused(Code::kIo, "no space left on device (needs ", 2);
}

TEST_F(HostileHub, ARefusalWithoutEndIsNotReadToItsEnd) {
  hub_.answer_raw(kApi, [](const FakeHub::Send& send) {
    send("HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n");
    while (send(std::string(4096, 'x'))) continue;
  });
  expect_refused(Code::kNotFound, "has no model of this name", 1);
}

TEST_F(HostileHub, HeadersWithoutEndAreRefusedOnce) {
  hub_.answer_raw(kApi, [](const FakeHub::Send& send) {
    send("HTTP/1.1 200 OK\r\n");
    for (int i = 0; send("X-Header-" + std::to_string(i) + ": " + std::string(1000, 'x') + "\r\n");
         ++i)
      continue;
  });
  expect_refused(Code::kIo, "bytes of headers, got more", 1);
}

TEST_F(HostileHub, RedirectionsInACircleAreFollowedOnce) {
  hub_.answer_raw(kApi, [&](const FakeHub::Send& send) {
    send("HTTP/1.1 302 Found\r\nLocation: " + hub_.endpoint() + kApi +
         "x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  });
  expect_refused(Code::kIo, "redirects", 12);
}

TEST_F(HostileHub, ARedirectionToAFileIsNotFollowed) {
  hub_.answer_raw(kApi, [&](const FakeHub::Send& send) {
    send("HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n");
  });
  expect_refused(Code::kIo, "cannot get", 1);
}

TEST_F(HostileHub, AContentThatIsShorterThanItsSizeEnds) {
  // Four bytes less than was said; beyond them there is nothing: 416.
  const std::string content = weights_.substr(4);
  hub_.answer_raw("/cdn/model.safetensors", [&, calls = 0](const FakeHub::Send& send) mutable {
    if (++calls % 2 == 0) {
      send("HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
      return;
    }
    send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(content.size()) +
         "\r\nConnection: close\r\n\r\n");
    send(content);
  });
  // Twice the requests: large files are redirected.
  expect_refused(Code::kIo, "model.safetensors", 40);
}

TEST_F(HostileHub, ContentsThatBeginAgainAndAgainEnd) {
  std::size_t bytes = 100'000;
  hub_.answer_raw("/cdn/model.safetensors", [&](const FakeHub::Send& send) {
    bytes = bytes == 100'000 ? 150'000 : 100'000;
    send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(weights_.size()) +
         "\r\nConnection: close\r\n\r\n");
    send(std::string_view(weights_).substr(0, bytes));
  });
  expect_refused(Code::kIo, "model.safetensors", 40);
}

TEST_F(HostileHub, ABodyWithoutEndIsNotWrittenBeyondItsSize) {
  hub_.answer_raw("/cdn/model.safetensors", [&](const FakeHub::Send& send) {
    send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    send(weights_);
    while (send(std::string(65536, 'x'))) continue;
  });
  expect_refused(Code::kCorrupt, "got more", 40);
  for (const auto& file : fs::recursive_directory_iterator(repo())) {
    if (!file.is_regular_file()) continue;
    EXPECT_LE(file.file_size(), weights_.size()) << file.path();
  }
}

// The answer comes byte by byte: fast enough not to count as silent, and never done.
TEST_F(HostileHub, AnAnswerByTheByteEndsInTime) {
  hub_.answer_raw(kApi, [](const FakeHub::Send& send) {
    send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    while (send(std::string(200, ' '))) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  });
  HttpLimits limits;
  limits.answer = std::chrono::seconds(2);
  HttpClient client(limits);
  const auto start = std::chrono::steady_clock::now();
  const HttpAnswer answer = client.get({hub_.endpoint() + kApi, "", 0}, 1 << 20);
  EXPECT_FALSE(answer.is_whole());
  EXPECT_FALSE(answer.is_transient());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace anemone::hub
