// SPDX-License-Identifier: Apache-2.0
#include "serve/http/request_parser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "serve/openai/api_handler.h"

namespace anemone::serve {
namespace {

using State = RequestParser::State;

// Puts the bytes, and wants the body.
std::size_t put_all(RequestParser& parser, std::string_view bytes) {
  const std::size_t used = parser.put(bytes);
  if (parser.state() != State::kHeader) return used;
  parser.read_body();
  return used + parser.put(bytes.substr(used));
}

const std::string kPost =
    "POST /x?y HTTP/1.1\r\nHost: a\r\nX-Two: 1\r\nx-two: 2\r\nContent-Length: 5\r\n\r\nhello";

TEST(RequestParser, ReadsARequestInAnyPieces) {
  for (std::size_t cut = 0; cut <= kPost.size(); ++cut) {
    RequestParser parser({});
    std::string buffer = kPost.substr(0, cut);
    buffer.erase(0, put_all(parser, buffer));
    buffer += kPost.substr(cut);
    buffer.erase(0, put_all(parser, buffer));
    ASSERT_EQ(parser.state(), State::kDone) << cut;
    EXPECT_EQ(buffer, "");
    const HttpRequest request = parser.take();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.target, "/x?y");
    EXPECT_EQ(request.path(), "/x");
    EXPECT_EQ(request.body, "hello");
    ASSERT_NE(request.header("X-TWO"), nullptr);
    EXPECT_EQ(*request.header("X-TWO"), "1") << "the first";
    EXPECT_EQ(request.header("absent"), nullptr);
    EXPECT_TRUE(request.keep_alive);
  }
}

TEST(RequestParser, LeavesTheNextRequestAlone) {
  RequestParser parser({});
  const std::string two = "\r\n" + kPost + "\r\nGET / HTTP/1.0\r\n\r\n";
  const std::size_t used = put_all(parser, two);
  ASSERT_EQ(parser.state(), State::kDone);
  parser.take();
  EXPECT_FALSE(parser.has_started());
  EXPECT_EQ(used + put_all(parser, std::string_view(two).substr(used)), two.size());
  ASSERT_EQ(parser.state(), State::kDone);
  const HttpRequest second = parser.take();
  EXPECT_EQ(second.version, 10);
  EXPECT_FALSE(second.keep_alive);
}

TEST(RequestParser, PutsChunksTogetherAndDropsTrailers) {
  RequestParser parser({});
  const std::string text =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;ext=\"x\"\r\nabc\r\nA\r\n0123456789\r\n0\r\nAuthorization: Bearer x\r\n\r\n";
  EXPECT_EQ(put_all(parser, text), text.size());
  ASSERT_EQ(parser.state(), State::kDone) << parser.error();
  const HttpRequest request = parser.take();
  EXPECT_EQ(request.body, "abc0123456789");
  EXPECT_EQ(request.header("Authorization"), nullptr);
}

TEST(RequestParser, KnowsWhoWaitsToSendTheBody) {
  RequestParser parser({});
  parser.put("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n");
  ASSERT_EQ(parser.state(), State::kHeader);
  EXPECT_TRUE(parser.wants_continue());
  parser.read_body();
  parser.put("{}");
  EXPECT_EQ(parser.state(), State::kDone);
}

TEST(RequestParser, StopsBeforeTheBody) {
  RequestParser parser({});
  const std::string header = "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n";
  EXPECT_EQ(parser.put(header + "{}"), header.size());
  ASSERT_EQ(parser.state(), State::kHeader);
  EXPECT_EQ(parser.head().path(), "/x");
  EXPECT_TRUE(parser.has_body());
  EXPECT_EQ(parser.put("{}"), 0U) << "not before it is asked to";
  parser.read_body();
  EXPECT_EQ(parser.put("{}"), 2U);
  EXPECT_EQ(parser.body_bytes(), 2U);
  EXPECT_EQ(parser.take().body, "{}");
}

TEST(RequestParser, TakesLengthsAndCodingsInOneWayOnly) {
  const auto is_taken = [](const std::string& version, const std::string& fields) {
    RequestParser parser({});
    parser.put("POST / HTTP/" + version + "\r\nHost: a\r\n" + fields + "\r\n");
    return parser.state() == State::kHeader;
  };
  EXPECT_TRUE(is_taken("1.1", "Content-Length: 29\r\n"));
  EXPECT_TRUE(is_taken("1.0", "Content-Length: 29\r\n"));
  EXPECT_TRUE(is_taken("1.1", "Transfer-Encoding: chunked\r\n"));
  for (const char* length : {"29, 29", "29,29", "29 29", "", "+29", "0x1d", "29;"})
    EXPECT_FALSE(is_taken("1.1", fmt::format("Content-Length: {}\r\n", length))) << length;
  EXPECT_FALSE(is_taken("1.0", "Transfer-Encoding: chunked\r\n"));
  EXPECT_FALSE(is_taken("1.1", "Transfer-Encoding: chunked, chunked\r\n"));
  EXPECT_FALSE(is_taken("1.1", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"));
}

TEST(RequestParser, TakesNoMoreThanTheLimits) {
  const auto status = [](const std::string& text) {
    RequestParser parser({.header_bytes = 200, .header_fields = 5, .body_bytes = 10});
    std::string buffer;
    for (const char byte : text) {
      buffer += byte;
      buffer.erase(0, parser.put(buffer));
      EXPECT_LE(buffer.size(), 250U);
      if (parser.state() == State::kHeader) parser.read_body();
      if (parser.state() != State::kNeedsMore) break;
    }
    return parser.state() == State::kFailed ? parser.error_status() : 0;
  };
  const std::string start = "POST / HTTP/1.1\r\nHost: a\r\n";
  EXPECT_EQ(status(start + "Content-Length: 10\r\n\r\n0123456789"), 0);
  EXPECT_EQ(status(start + "Content-Length: 11\r\n\r\n"), 413);
  EXPECT_EQ(status(start + "Transfer-Encoding: chunked\r\n\r\n8\r\n01234567\r\n8\r\n"), 413);
  EXPECT_EQ(status(start + "X: " + std::string(300, 'x')), 431);
  EXPECT_EQ(status(start + "A:1\r\nB:1\r\nC:1\r\nD:1\r\nE:1\r\n\r\n"), 431);
  EXPECT_EQ(status("GET /" + std::string(300, 'x')), 431);
  EXPECT_EQ(status(start + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(300, 'x')), 400);
}

TEST(ConstantTime, EqualityIsEquality) {
  using openai::equal_in_constant_time;
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  for (const char* other : {"", "ab", "abd", "abcabc", "abca", "bbc"})
    EXPECT_FALSE(equal_in_constant_time(other, "abc")) << other;
  EXPECT_FALSE(equal_in_constant_time("a", ""));
}

}  // namespace
}  // namespace anemone::serve
