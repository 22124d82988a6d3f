// SPDX-License-Identifier: Apache-2.0
// Internal to serve/http: one connection of a client. Everything of it happens on the thread of the
// io_context, besides the Exchange that the handler has.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "serve/http/message.h"
#include "serve/http/request_parser.h"
#include "serve/http/server.h"

namespace anemone::serve {

namespace asio = boost::asio;
using asio::ip::tcp;
using AsioError = boost::system::error_code;

class Connection;

// The Responder of one request: hands everything to its connection's thread.
class Exchange : public Responder {
 public:
  // `number` says which request of the connection it is: an address would come again.
  Exchange(asio::io_context& io, std::weak_ptr<Connection> connection, std::uint64_t number)
      : io_(io), connection_(std::move(connection)), number_(number) {}
  ~Exchange() override;

  void respond(HttpResponse response) override;
  void begin_stream(HttpResponse head) override;
  void write(std::string piece) override;
  void end() override;
  void on_disconnect(std::function<void()> callback) override;

  // From the connection, when the client has gone.
  void disconnected();

 private:
  template <typename Action>
  void post(Action action);

  asio::io_context& io_;
  std::weak_ptr<Connection> connection_;
  const std::uint64_t number_;
  std::mutex mutex_;
  std::function<void()> callback_;
  bool is_gone_ = false;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // What a connection needs from the server.
  struct Owner {
    asio::io_context& io;
    const HttpOptions& options;
    HttpHandler& handler;
    // Runs the handler on one of its threads.
    std::function<void(HttpRequest, std::shared_ptr<Responder>)> dispatch;
    std::function<void(Connection*)> on_close;
  };

  Connection(tcp::socket socket, const Owner& owner);

  void start();
  // For a client too many: answers 503 and closes.
  void turn_away();
  // No request after the one that is in progress.
  void finish_soon();
  void close();

  // The answer to the request in progress; `exchange` is its number.
  void respond(std::uint64_t exchange, HttpResponse response);
  void begin_stream(std::uint64_t exchange, HttpResponse head);
  void write_piece(std::uint64_t exchange, const std::string& piece);
  void end_stream(std::uint64_t exchange);
  void abandon(std::uint64_t exchange);

 private:
  enum class State {
    kReading,    // waiting for a request, or in the middle of one
    kHandling,   // the handler has it
    kFlushing,   // the answer is complete and being sent
    kLingering,  // everything is sent; the rest of what the client says is thrown away
    kClosed,
  };

  void read();
  void on_read(const AsioError& error, std::size_t bytes);
  void parse();
  void dispatch();
  void refuse(int status, std::string_view reason);
  std::string head_text(const HttpResponse& response, bool is_stream);
  void send(std::string bytes);
  void flush();
  void on_flushed();
  void finish();
  void linger();
  void arm_timer(std::chrono::milliseconds time, std::function<void()> action);
  bool is_current(std::uint64_t exchange) const;

  tcp::socket socket_;
  Owner owner_;
  asio::steady_timer timer_;
  std::uint64_t timer_round_ = 0;  // a timer that was set again may still fire once
  RequestParser parser_;
  State state_ = State::kReading;

  std::array<char, 16 * 1024> chunk_;
  std::string in_;
  bool is_reading_ = false;
  bool has_peer_ = true;  // the client has not closed its side
  bool has_timer_for_request_ = false;
  bool said_continue_ = false;

  std::string out_;      // to be sent
  std::string sending_;  // being sent
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
  std::uint64_t requests_ = 0;
  std::uint64_t current_ = 0;  // number of the request in progress; 0: none
};

}  // namespace anemone::serve
