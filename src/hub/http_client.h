// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace anemone::hub {

struct HttpRequest {
  std::string url;
  std::string token;         // sent to the host of `url` only, not to where it redirects
  std::uint64_t offset = 0;  // asks for the content from here on
};

struct HttpAnswer {
  int status = 0;                              // 0: there was none
  std::map<std::string, std::string> headers;  // of the last answer, names in lower case
  std::string body;                            // of get(), and the beginning of a refusal's
  std::string error;            // why there is no whole answer: "connection refused", ...
  bool is_unreachable = false;  // there is no such host, or nobody listens there
  bool is_whole() const { return error.empty(); }
  bool is_hopeless = false;  // the error would be the same again: too large, too many redirections
  // Whether another try may succeed: there was no answer, a broken one, too many requests, or a
  // fault of the server.
  bool is_transient() const;
};

struct HttpLimits {
  std::chrono::seconds connect{15};
  std::chrono::seconds silence{30};  // with less than a kilobyte per second
  std::chrono::seconds answer{120};  // of get(), from beginning to end
};

// One connection, kept open between requests (libcurl). Not thread-safe.
class HttpClient {
 public:
  explicit HttpClient(const HttpLimits& limits = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // The whole of a small answer; more than `max_bytes` is a hopeless error.
  HttpAnswer get(const HttpRequest& request, std::uint64_t max_bytes);

  // Streams the content of a 200 or 206 answer. `begin` is called before the first byte with status
  // and headers, `take` for the bytes; the first error ends the transfer and is returned.
  using Begin = std::function<Status(const HttpAnswer&)>;
  using Take = std::function<Status(std::span<const std::byte>)>;
  Result<HttpAnswer> download(const HttpRequest& request, const Begin& begin, const Take& take);

 private:
  Result<HttpAnswer> stream(const HttpRequest& request, std::chrono::seconds most,
                            const Begin& begin, const Take& take);
  struct Transfer;
  void perform(const HttpRequest& request, std::chrono::seconds most, Transfer& transfer);
  struct Handle;
  std::unique_ptr<Handle> handle_;
  HttpLimits limits_;
};

}  // namespace anemone::hub
