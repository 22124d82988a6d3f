// SPDX-License-Identifier: Apache-2.0
#include "serve/http/connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <utility>

namespace anemone::serve {
namespace {

// Requests that a client sends ahead, while an answer is under way. Beyond it nothing is read, and
// whether the client is still there is not noticed either until the answer is done.
constexpr std::size_t kMaxAhead = 64 * 1024;
// What is thrown away of a request that was refused, so that the answer is not lost in a reset.
constexpr std::size_t kMaxDrained = 4 << 20;
constexpr std::chrono::milliseconds kLingerTime{2'000};

}  // namespace

// --- Exchange ---

template <typename Action>
void Exchange::post(Action action) {
  asio::post(io_, [connection = connection_, action = std::move(action)]() mutable {
    if (const auto alive = connection.lock()) action(*alive);
  });
}

Exchange::~Exchange() {
  post([number = number_](Connection& connection) { connection.abandon(number); });
}
void Exchange::respond(HttpResponse response) {
  post([number = number_, response = std::move(response)](Connection& connection) mutable {
    connection.respond(number, std::move(response));
  });
}
void Exchange::begin_stream(HttpResponse head) {
  post([number = number_, head = std::move(head)](Connection& connection) mutable {
    connection.begin_stream(number, std::move(head));
  });
}
void Exchange::write(std::string piece) {
  post([number = number_, piece = std::move(piece)](Connection& connection) {
    connection.write_piece(number, piece);
  });
}
void Exchange::end() {
  post([number = number_](Connection& connection) { connection.end_stream(number); });
}

void Exchange::on_disconnect(std::function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_gone_) {
      callback_ = std::move(callback);
      return;
    }
  }
  callback();
}

void Exchange::disconnected() {
  std::function<void()> callback;
  {
    const std::lock_guard lock(mutex_);
    is_gone_ = true;
    callback = std::exchange(callback_, nullptr);
  }
  if (callback) callback();
}

// --- Connection ---

Connection::Connection(tcp::socket socket, const Owner& owner)
    : socket_(std::move(socket)), owner_(owner), timer_(owner.io), parser_(owner.options.limits) {
  AsioError ignored;
  // A token must not wait for the next one.
  socket_.set_option(tcp::no_delay(true), ignored);
}

void Connection::start() {
  parse();
}

void Connection::turn_away() {
  refuse(503, "[server] expected fewer connections, got too many");
}

void Connection::finish_soon() {
  is_last_ = true;
  if (state_ == State::kReading && !parser_.has_started() && in_.empty()) close();
}

void Connection::close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  timer_.cancel();
  AsioError ignored;
  socket_.shutdown(tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
  has_peer_ = false;
  current_ = 0;
  if (const auto exchange = exchange_.lock()) exchange->disconnected();
  owner_.on_close(this);
}

void Connection::arm_timer(std::chrono::milliseconds time, std::function<void()> action) {
  timer_.expires_after(time);
  timer_.async_wait([self = shared_from_this(), round = ++timer_round_,
                     action = std::move(action)](const AsioError& error) {
    if (!error && round == self->timer_round_ && self->state_ != State::kClosed) action();
  });
}

void Connection::read() {
  if (is_reading_ || !has_peer_ || state_ == State::kClosed) return;
  if (state_ != State::kReading && state_ != State::kLingering && in_.size() >= kMaxAhead) return;
  is_reading_ = true;
  socket_.async_read_some(asio::buffer(chunk_),
                          [self = shared_from_this()](const AsioError& error, std::size_t bytes) {
                            self->on_read(error, bytes);
                          });
}

void Connection::on_read(const AsioError& error, std::size_t bytes) {
  is_reading_ = false;
  if (state_ == State::kClosed) return;
  if (error) {
    // The client may have closed only its own side and still wait for an answer that is under way;
    // there is no telling, and generating for nobody costs more.
    has_peer_ = false;
    if (state_ == State::kReading || state_ == State::kLingering) return close();
    if (const auto exchange = exchange_.lock()) exchange->disconnected();
    return;
  }
  if (state_ == State::kLingering) {
    drained_ += bytes;
    return drained_ > kMaxDrained ? close() : read();
  }
  in_.append(chunk_.data(), bytes);
  if (state_ == State::kReading) parse();
  read();
}

// Takes a request from what was read, or arranges for more.
void Connection::parse() {
  const std::size_t used = parser_.put(in_);
  in_.erase(0, used);
  switch (parser_.state()) {
    case RequestParser::State::kDone:
      return dispatch();
    case RequestParser::State::kFailed:
      return refuse(parser_.error_status(), parser_.error());
    case RequestParser::State::kNeedsMore:
      break;
  }
  if (!has_peer_) return close();
  if (!parser_.has_started() && in_.empty()) {
    if (is_last_) return close();
    arm_timer(owner_.options.idle_timeout, [this] { close(); });
  } else if (!std::exchange(has_timer_for_request_, true)) {
    arm_timer(owner_.options.request_timeout,
              [this] { refuse(408, "[request] expected to be complete sooner"); });
  }
  if (parser_.wants_continue() && !std::exchange(said_continue_, true))
    send("HTTP/1.1 100 Continue\r\n\r\n");
  read();
}

void Connection::dispatch() {
  timer_.cancel();
  ++timer_round_;
  has_timer_for_request_ = said_continue_ = false;
  HttpRequest request = parser_.take();
  state_ = State::kHandling;
  keep_alive_ = request.keep_alive && !is_last_;
  is_head_ = request.method == "HEAD";
  version_ = request.version;
  auto exchange = std::make_shared<Exchange>(owner_.io, weak_from_this(), ++requests_);
  exchange_ = exchange;
  current_ = requests_;
  if (!has_peer_) exchange->disconnected();
  owner_.dispatch(std::move(request), std::move(exchange));
  // From here on a read tells whether the client is still there.
  read();
}

void Connection::refuse(int status, std::string_view reason) {
  timer_.cancel();
  ++timer_round_;
  keep_alive_ = is_head_ = false;
  was_refused_ = true;
  HttpResponse response = owner_.handler.refuse(status, reason);
  state_ = State::kFlushing;
  send(head_text(response, /*is_stream=*/false) + response.body);
  read();
}

bool Connection::is_current(std::uint64_t exchange) const {
  return state_ == State::kHandling && current_ == exchange;
}

std::string Connection::head_text(const HttpResponse& response, bool is_stream) {
  std::string text =
      fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_phrase(response.status));
  for (const auto& [name, value] : response.headers) text += fmt::format("{}: {}\r\n", name, value);
  if (is_stream && is_chunked_)
    text += "Transfer-Encoding: chunked\r\n";
  else if (!is_stream && response.status != 204)
    text += fmt::format("Content-Length: {}\r\n", response.body.size());
  return text + (keep_alive_ ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n");
}

void Connection::respond(std::uint64_t exchange, HttpResponse response) {
  if (!is_current(exchange) || is_streaming_) return;
  keep_alive_ = keep_alive_ && !is_last_;
  std::string text = head_text(response, /*is_stream=*/false);
  if (!is_head_) text += response.body;
  finish();
  send(std::move(text));
}

void Connection::begin_stream(std::uint64_t exchange, HttpResponse head) {
  if (!is_current(exchange) || is_streaming_) return;
  is_streaming_ = true;
  is_chunked_ = version_ >= 11;
  keep_alive_ = keep_alive_ && is_chunked_ && !is_last_;
  send(head_text(head, /*is_stream=*/true));
  write_piece(exchange, head.body);
}

void Connection::write_piece(std::uint64_t exchange, const std::string& piece) {
  if (!is_current(exchange) || !is_streaming_ || piece.empty()) return;
  send(is_chunked_ ? fmt::format("{:x}\r\n{}\r\n", piece.size(), piece) : piece);
}

void Connection::end_stream(std::uint64_t exchange) {
  if (!is_current(exchange) || !is_streaming_) return;
  finish();
  send(is_chunked_ ? "0\r\n\r\n" : "");
}

// The handler dropped the request: nothing sensible can follow on this connection.
void Connection::abandon(std::uint64_t exchange) {
  if (is_current(exchange)) close();
}

// The answer is complete, as soon as it is sent.
void Connection::finish() {
  state_ = State::kFlushing;
  is_streaming_ = false;
  current_ = 0;
  exchange_.reset();
}

void Connection::send(std::string bytes) {
  if (state_ == State::kClosed) return;
  out_ += bytes;
  if (sending_.empty()) flush();
}

void Connection::flush() {
  if (out_.empty()) return on_flushed();
  sending_ = std::exchange(out_, {});
  if (state_ != State::kReading) arm_timer(owner_.options.write_timeout, [this] { close(); });
  asio::async_write(socket_, asio::buffer(sending_),
                    [self = shared_from_this()](const AsioError& error, std::size_t /*bytes*/) {
                      self->sending_.clear();
                      if (self->state_ == State::kClosed) return;
                      if (error) return self->close();
                      self->flush();
                    });
}

void Connection::on_flushed() {
  if (state_ == State::kReading) return;  // that was "100 Continue"
  timer_.cancel();
  ++timer_round_;
  if (state_ != State::kFlushing) return;
  if (is_last_ && !was_refused_) return close();  // the server waits for it
  if (!keep_alive_ || is_last_) return linger();
  state_ = State::kReading;
  parse();
}

void Connection::linger() {
  if (!has_peer_) return close();
  state_ = State::kLingering;
  AsioError ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  arm_timer(kLingerTime, [this] { close(); });
  read();
}

}  // namespace anemone::serve
