// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "serve/http/message.h"

namespace anemone::serve {

struct RequestLimits {
  std::uint32_t header_bytes = 32 * 1024;  // request line and all headers
  std::size_t header_fields = 100;         // many short ones are as bad as a long one
  std::uint64_t body_bytes = 16 * 1000 * 1000;
};

// Bytes to one HTTP/1 request, within limits. The grammar is Boost.Beast's, made narrower where
// proxies and servers have read one request in two ways: one Content-Length at most, a plain
// number, one Host (and none missing), no transfer coding but chunked and none in HTTP/1.0, and
// fields after a chunked body are dropped. It stops after the header: whether the body is read is
// for others to say. Single-thread.
class RequestParser {
 public:
  explicit RequestParser(const RequestLimits& limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  enum class State {
    kNeedsMore,
    kHeader,  // head() is there; read_body() goes on
    kDone,    // take() gives the request
    kFailed,  // error() says why
  };

  // Takes from the front of `bytes` what belongs to the request and returns how much that was. What
  // is left comes again at the front of the next call, with more after it.
  std::size_t put(std::string_view bytes);
  State state() const;
  // Whether any byte of the request has come.
  bool has_started() const;

  // kHeader: the request without its body, whether it has one, and whether the client waits for
  // "100 Continue" before it sends that.
  HttpRequest& head();
  bool has_body() const;
  bool wants_continue() const;
  // kHeader to kNeedsMore, or to kDone when there is no body.
  void read_body();
  // How much of the body has come.
  std::size_t body_bytes() const;

  // The request, in state kDone, or in kHeader when there is no body; afterwards the parser is
  // ready for the next one.
  HttpRequest take();
  // kFailed: 400, 413 or 431, and why.
  int error_status() const;
  const std::string& error() const;

 private:
  class Impl;
  RequestLimits limits_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace anemone::serve
