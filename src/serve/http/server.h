// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <anemone/status.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "serve/http/message.h"
#include "serve/http/request_parser.h"
#include "serve/http/tls_context.h"
#include "serve/reread.h"

namespace anemone::serve {

struct HttpOptions {
  std::string host = "127.0.0.1";  // an address or a name
  std::uint16_t port = 8080;       // 0: any free one
  // Not empty: a Unix socket at this path in place of host and port (serve/socket_file.h).
  std::string socket_path;
  // Not null: the server speaks TLS, and nothing else.
  std::shared_ptr<const TlsContext> tls;
  // That of connections from now on, if there is one; null: it stays.
  Reread<std::shared_ptr<const TlsContext>> reread_tls;
  RequestLimits limits;
  // Connections that wait for a request, as many whose body comes, and as many whose answer is
  // being sent. A new one always finds a place: of the client who has most, the one that has been
  // there for longest goes. Those with a request that is being answered are bounded by the queues.
  std::size_t max_connections = 256;
  // What all bodies hold together, from their first byte to the end of HttpHandler::handle().
  std::size_t bodies_bytes = 256 * 1000 * 1000;
  // What all answers hold together while they are made and sent. When it is half of that, the
  // clients that take too long to accept theirs lose it.
  std::size_t answers_bytes = 256 * 1000 * 1000;
  std::chrono::milliseconds slow_answer{5'000};
  // Threads that call HttpHandler::handle(), and requests that wait for them.
  int handler_threads = 2;
  std::size_t handler_queue = 64;
  // A connection with TLS must be set up this long after it was accepted.
  std::chrono::milliseconds handshake_timeout{10'000};
  // Each request must be complete this long after its first byte.
  std::chrono::milliseconds request_timeout{60'000};
  // How long a connection may stay without a request, and how long the client may take to accept
  // a piece of an answer.
  std::chrono::milliseconds idle_timeout{75'000};
  std::chrono::milliseconds write_timeout{60'000};
  // How often connections are looked at whose request came to nothing.
  std::chrono::milliseconds sweep_pause{1'000};
};

// An HTTP/1.1 server over one handler: keep-alive, requests of one connection one after the other,
// limits and time-outs. One thread moves bytes and asks the handler about headers, a few others
// give it whole requests, so neither a request that is slow to prepare nor a slow client holds up
// the others: what answer_head() answers is answered at once. Thread-safe.
class HttpServer {
 public:
  // Listens from here on; the handler outlives the server. kIo when the address cannot be had, and
  // the errors of SocketFile::listen().
  static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options,
                                                   HttpHandler& handler);
  // Closes all connections; handler calls in progress are told and waited for.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::uint16_t port() const;  // 0 on a Unix socket
  // "http://127.0.0.1:8080", "https://..." with TLS; "unix:/run/models.sock", with the whole path.
  std::string url() const;
  std::size_t connections() const;

  // No new connections, and no file of a Unix socket any more; connections without a request close,
  // the others after their answer. Requests that are not complete or wait to be prepared are
  // refused, those that are being prepared are told.
  void stop_accepting();
  // Whether all connections ended in this time.
  bool wait_until_idle(std::chrono::milliseconds time);

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace anemone::serve
