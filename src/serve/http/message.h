// SPDX-License-Identifier: Apache-2.0
// HTTP messages as plain values: what the API handler and the codecs see. Sockets and parsing are
// elsewhere (connection.h, request_parser.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/http/byte_bound.h"

namespace anemone::serve {

using HeaderList = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;  // "GET"
  std::string target;  // "/v1/models?x=y", as sent
  int version = 11;    // 10 or 11
  bool keep_alive = true;
  HeaderList headers;
  std::string body;
  ByteBound::Lease body_lease;  // of what all bodies may hold together
  // What HttpHandler::answer_head() took for the request, if anything; given back with it.
  std::shared_ptr<void> admission;

  // The value of the first header of this name, in any case; nullptr when there is none.
  const std::string* header(std::string_view name) const;
  // The target without the query.
  std::string_view path() const;
  // The text after the first "?" of the target, as it was sent; empty if there is none.
  std::string_view query() const;
};

struct HttpResponse {
  int status = 200;
  HeaderList headers;  // all but the length and the connection, which the connection adds
  std::string body;
  // For the log of an error: its code (its kind, if it has none) and the wrong field of the
  // request.
  std::string error_code = {};
  std::string error_param = {};
};

// "Not Found"; "Error" for a status that is not used here.
std::string_view reason_phrase(int status);

bool equal_ignoring_case(std::string_view a, std::string_view b);

// An address of IPv4 or IPv6 in numbers.
bool is_address(std::string_view host);

// A name or an address that means this machine alone.
bool is_loopback(std::string_view host);

// What is known of an answer beside its bytes, for the log.
struct AnswerNotes {
  std::string model;  // empty: no model was asked
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;  // of them, not run again
  std::int64_t completion_tokens = 0;
};

// Where the answer to one request goes: respond() once, or begin_stream(), write()* and end().
// These and hold() may be called from any thread, one at a time; the others are thread-safe. Calls
// after the end, or after the client has gone, do nothing. When the last reference goes before the
// end, the connection is closed.
class Responder {
 public:
  virtual ~Responder() = default;
  // Sets how many bytes the answer holds while it is made; respond() sets it to the size of the
  // body. False, and nothing is changed, when all answers together would hold more than they may.
  // Whoever makes an answer of more than some kilobytes calls it first.
  virtual bool hold(std::size_t bytes) = 0;
  virtual void respond(HttpResponse response) = 0;
  // The head of an answer whose body comes in pieces; the body of `head` is its first piece.
  virtual void begin_stream(HttpResponse head) = 0;
  // False when the piece is dropped, as all unsent answers together would hold more than they may.
  // Then end() tells the client.
  virtual bool write(std::string piece) = 0;
  // Whether the client takes the pieces more slowly than they come: whoever makes them may wait.
  // Thread-safe.
  virtual bool is_backed_up() const = 0;
  // The last piece is a short one, and always taken.
  virtual void end(std::string last_piece) = 0;
  // Called when the client goes away before the end: at once when it has gone already, on any
  // thread, at most once. The last one set counts. Must not block.
  virtual void on_disconnect(std::function<void()> callback) = 0;
  // Set when nobody wants the answer any more: the client has gone away, or the server stops. The
  // code that prepares the answer polls it.
  virtual const std::atomic<bool>& is_cancelled() const = 0;
  // Takes a note of the answer, before its end; the last one counts. Where nobody keeps a log, it
  // does nothing.
  virtual void note(AnswerNotes /*notes*/) {}
};

// What answers requests. May throw std::bad_alloc, which ends one request with 503.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // Called when the header of a request is there, before any of its body is read, on the thread
  // that moves all bytes: must take no time to speak of and not block. The answer, when that needs
  // no body (an error, a path that only tells something); nullopt when handle() is to have the
  // request with its body, and then `head.admission` may be set.
  virtual std::optional<HttpResponse> answer_head(HttpRequest& head) = 0;
  // The whole of a request that answer_head() let through, on any of several threads at a time.
  virtual void handle(HttpRequest request, std::shared_ptr<Responder> responder) = 0;
  // The answer to what is no request, breaks a limit or has failed: `status` is 400, 408, 413, 429,
  // 431, 500 or 503.
  virtual HttpResponse refuse(int status, std::string_view reason) = 0;
};

}  // namespace anemone::serve
