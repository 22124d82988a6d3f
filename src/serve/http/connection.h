// SPDX-License-Identifier: Apache-2.0
// Internal to serve/http: one connection of a client. Everything of it happens on the thread of the
// io_context, besides the Exchange that the handler has.
#pragma once

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "serve/http/asio_types.h"
#include "serve/http/byte_bound.h"
#include "serve/http/connection_limits.h"
#include "serve/http/exchange.h"
#include "serve/http/message.h"
#include "serve/http/request_parser.h"
#include "serve/http/server.h"
#include "serve/http/transport.h"

namespace anemone::serve {

class Connection : public TransportUser, public std::enable_shared_from_this<Connection> {
 public:
  // What a connection needs from the server, which outlives it.
  struct Owner {
    asio::io_context& io;
    const HttpOptions& options;
    HttpHandler& handler;
    ByteBound& bodies;
    ByteBound& answers;
    ConnectionLimits<Connection>& limits;
    // Has the handler called on one of its threads. 0, or the status of the refusal.
    std::function<int(HttpRequest&&, std::shared_ptr<Exchange>)> dispatch;
    // Drops another connection that holds bytes of a body for long. Returns whether there was one.
    std::function<bool(Connection*)> free_body_bytes;
    std::function<void(Connection*)> on_close;
  };

  Connection(std::shared_ptr<Transport> transport, const Peer& peer, const Owner& owner);

  // Takes a place; another connection may be closed for it.
  void start();
  // No request after the one that is being answered; one that is not complete is refused.
  void finish_soon();
  void close() noexcept;

  // How long a body has been read; nullopt when none is.
  std::optional<std::chrono::steady_clock::duration> body_age() const;
  // How long its client has not taken all that is being sent; nullopt when nothing is.
  std::optional<std::chrono::steady_clock::duration> sending_age() const;
  // Closes it in favour of another client; a request whose body is not complete is told so, as far
  // as that takes no time.
  void evict();
  // Whether the handler had dropped the request already at the call before this one. What it sent
  // as its last has arrived in between, so a request that was answered does not count.
  bool is_abandoned();

  // Runs `action`; an exception ends the connection and nothing else.
  template <typename Action>
  void guarded(Action&& action) noexcept {
    try {
      action();
    } catch (...) {
      fail();
    }
  }

  // The answer to the request in progress; `exchange` is its number. The lease is for the bytes
  // until they are sent.
  void respond(std::uint64_t exchange, HttpResponse response, ByteBound::Lease lease);
  // `unsent` counts the bytes of pieces that were written and not sent.
  void begin_stream(std::uint64_t exchange, HttpResponse head,
                    std::shared_ptr<std::atomic<std::size_t>> unsent);
  void write_piece(std::uint64_t exchange, const std::string& piece, ByteBound::Lease lease);
  void end_stream(std::uint64_t exchange, const std::string& piece);
  void abandon(std::uint64_t exchange);

  void handshake_done(const AsioError& error) noexcept override;
  void read_done(const AsioError& error, std::size_t bytes) noexcept override;
  void write_done(const AsioError& error) noexcept override;

 private:
  enum class State {
    kHandshaking,  // before anything else, where the transport needs it
    kReading,      // waiting for a request, or in the middle of one
    kHandling,     // the handler has it
    kFlushing,     // the answer is complete and being sent
    kLingering,    // everything is sent; the rest of what the client says is thrown away
    kClosed,
  };

  void read();
  void on_read(const AsioError& error, std::size_t bytes);
  void parse();
  bool admit();
  bool hold_body();
  void dispatch();
  void answer(const HttpResponse& response, ByteBound::Lease lease = {});
  void fail() noexcept;
  void tell_handler() noexcept;
  void enter(State state);
  void enter_phase(Phase phase);
  void refuse(int status, std::string_view reason);
  std::string head_text(const HttpResponse& response, bool is_stream);
  void send(std::string bytes, ByteBound::Lease lease = {});
  void flush();
  void on_sent(const AsioError& error);
  void on_flushed();
  void finish();
  void linger();
  void close_in_order();
  void arm_timer(std::chrono::milliseconds time, std::function<void()> action);
  bool is_current(std::uint64_t exchange) const;

  const std::shared_ptr<Transport> transport_;
  const Owner& owner_;
  ConnectionLimits<Connection>::Registration registration_;
  asio::steady_timer timer_;
  std::uint64_t timer_round_ = 0;  // a timer that was set again may still fire once
  RequestParser parser_;
  State state_ = State::kReading;
  std::chrono::steady_clock::time_point since_;  // when the state, or the request, began
  ByteBound::Lease body_lease_;

  std::array<char, 16 * 1024> chunk_;
  std::string in_;
  bool is_reading_ = false;
  bool has_peer_ = true;        // the client has not closed its side
  bool is_in_request_ = false;  // some of it has come
  bool is_in_body_ = false;     // its head was accepted

  std::string out_;      // to be sent
  std::string sending_;  // being sent
  ByteBound::Lease out_lease_;
  ByteBound::Lease sending_lease_;
  std::shared_ptr<std::atomic<std::size_t>> unsent_;  // of the stream that was begun last
  std::size_t out_pieces_ = 0;                        // of its pieces, in out_
  std::size_t sending_pieces_ = 0;                    // and in sending_
  std::chrono::steady_clock::time_point sending_since_;
  bool keep_alive_ = true;
  bool is_last_ = false;
  bool was_refused_ = false;  // so that some of the request may not have been read
  bool is_head_ = false;      // the request was HEAD
  int version_ = 11;
  bool is_chunked_ = false;
  bool is_streaming_ = false;
  std::size_t drained_ = 0;
  // The current request's. Weak: only what the handler holds counts.
  std::weak_ptr<Exchange> exchange_;
  std::uint64_t dropped_ = 0;  // the exchange that is_abandoned() found dropped; 0: none
  std::uint64_t requests_ = 0;
  std::uint64_t current_ = 0;  // number of the request in progress; 0: none
};

}  // namespace anemone::serve
