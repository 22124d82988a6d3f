// SPDX-License-Identifier: Apache-2.0
#include "serve/http/connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <utility>

namespace anemone::serve {
namespace {

// Most bytes that a client may send ahead while an answer is under way. Nothing beyond them is
// read, and until the answer is done it does not show whether the client is still there.
constexpr std::size_t kMaxAhead = 64 * 1024;
// Most bytes of a refused request that are read and thrown away, so that the answer is not lost in
// a reset.
constexpr std::size_t kMaxDrained = 4 << 20;
constexpr std::chrono::milliseconds kLingerTime{2'000};
// Most bytes that may wait for a client that reads its stream too slowly.
constexpr std::size_t kMaxUnsent = 16 << 20;
constexpr const char* kTooManyBodies =
    "[server] holds too many bytes of request bodies at a time: try again later";

}  // namespace

Connection::Connection(tcp::socket socket, const Peer& peer, const Owner& owner)
    : socket_(std::move(socket)),
      owner_(owner),
      registration_(peer),
      timer_(owner.io),
      parser_(owner.options.limits) {
  AsioError ignored;
  // A token must not wait for the next one.
  socket_.set_option(tcp::no_delay(true), ignored);
}

void Connection::start() {
  enter(State::kReading);
  parse();
}

void Connection::enter(State state) {
  state_ = state;
  since_ = std::chrono::steady_clock::now();
  switch (state) {
    case State::kReading:
    case State::kLingering:
      return enter_phase(Phase::kWaiting);
    case State::kFlushing:
      return enter_phase(Phase::kSending);
    case State::kHandling:
    case State::kClosed:
      return owner_.limits.leave(registration_);
  }
}

// If too many connections are in the phase then, another one of them is closed.
void Connection::enter_phase(Phase phase) {
  owner_.limits.enter(registration_, this, phase);
  while (Connection* const other = owner_.limits.to_evict(phase)) {
    const auto alive = other->shared_from_this();
    alive->guarded([&] { alive->evict(); });
  }
}

void Connection::finish_soon() {
  is_last_ = true;
  if (state_ != State::kReading) return;
  if (is_in_request_)
    refuse(503, "[server] is stopping");
  else
    close();
}

std::optional<std::chrono::steady_clock::duration> Connection::body_age() const {
  if (state_ != State::kReading || body_lease_.bytes() == 0) return std::nullopt;
  return std::chrono::steady_clock::now() - since_;
}

std::optional<std::chrono::steady_clock::duration> Connection::sending_age() const {
  if (sending_.empty() || state_ == State::kClosed) return std::nullopt;
  return std::chrono::steady_clock::now() - sending_since_;
}

void Connection::evict() {
  if (registration_.is_in(Phase::kBody)) {
    keep_alive_ = is_head_ = false;
    const HttpResponse response =
        owner_.handler.refuse(408, "[request] took too long to arrive while others were waiting");
    const std::string text = head_text(response, /*is_stream=*/false) + response.body;
    AsioError ignored;
    socket_.non_blocking(true, ignored);
    socket_.write_some(asio::buffer(text), ignored);
  }
  close();
}

void Connection::fail() noexcept {
  try {
    // An error may be sent only before any part of an answer: a client must not take it for a text.
    if ((state_ == State::kReading || state_ == State::kHandling) && !is_streaming_ &&
        sending_.empty())
      return refuse(503, "[request] there is not enough memory to answer it");
  } catch (...) {
    // The connection closes without an answer.
  }
  close();
}

void Connection::close() noexcept {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();
  state_ = State::kClosed;
  AsioError ignored;
  timer_.cancel(ignored);
  socket_.shutdown(tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
  has_peer_ = false;
  current_ = 0;
  body_lease_.release();
  owner_.limits.leave(registration_);
  owner_.on_close(this);
  tell_handler();
}

// Tells the handler that nobody waits for the answer any more.
void Connection::tell_handler() noexcept {
  const auto exchange = exchange_.lock();
  if (exchange == nullptr) return;
  try {
    exchange->disconnected();
  } catch (...) {
    exchange->cancel();
  }
}

void Connection::arm_timer(std::chrono::milliseconds time, std::function<void()> action) {
  timer_.expires_after(time);
  timer_.async_wait([self = shared_from_this(), round = ++timer_round_,
                     action = std::move(action)](const AsioError& error) {
    if (!error && round == self->timer_round_ && self->state_ != State::kClosed)
      self->guarded(action);
  });
}

void Connection::read() {
  if (is_reading_ || !has_peer_ || state_ == State::kClosed) return;
  if (state_ != State::kReading && state_ != State::kLingering && in_.size() >= kMaxAhead) return;
  is_reading_ = true;
  socket_.async_read_some(asio::buffer(chunk_),
                          [self = shared_from_this()](const AsioError& error, std::size_t bytes) {
                            self->guarded([&] { self->on_read(error, bytes); });
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
    return tell_handler();
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
  while (true) {
    in_.erase(0, parser_.put(in_));
    const RequestParser::State state = parser_.state();
    if (state == RequestParser::State::kFailed)
      return refuse(parser_.error_status(), parser_.error());
    if (!hold_body()) return refuse(503, kTooManyBodies);
    if (state == RequestParser::State::kDone) return dispatch();
    if (state == RequestParser::State::kNeedsMore) break;
    if (!admit()) return;
  }
  if (!has_peer_) return close();
  if (!parser_.has_started() && in_.empty()) {
    if (is_last_) return close();
    arm_timer(owner_.options.idle_timeout, [this] { close(); });
  } else if (!std::exchange(is_in_request_, true)) {
    since_ = std::chrono::steady_clock::now();
    arm_timer(owner_.options.request_timeout,
              [this] { refuse(408, "[request] took too long to arrive"); });
  }
  if (is_in_body_ && registration_.is_in(Phase::kWaiting)) enter_phase(Phase::kBody);
  read();
}

// The header is there: whether the rest of the request is wanted. If not, it is answered.
bool Connection::admit() {
  const HttpRequest& head = parser_.head();
  keep_alive_ = head.keep_alive && !is_last_;
  is_head_ = head.method == "HEAD";
  version_ = head.version;
  const std::optional<HttpResponse> response = owner_.handler.answer_head(head);
  if (!response) {
    if (parser_.wants_continue() && in_.empty()) send("HTTP/1.1 100 Continue\r\n\r\n");
    parser_.read_body();
    is_in_body_ = true;
    return true;
  }
  timer_.cancel();
  ++timer_round_;
  is_in_request_ = false;
  if (parser_.has_body()) {
    // The connection cannot be reused: the next request begins behind a body that is not read.
    keep_alive_ = false;
    was_refused_ = true;
  } else {
    parser_.take();
  }
  enter(State::kFlushing);
  answer(*response);
  read();
  return false;
}

// Counts what has come of a body. False when there is no room for it.
bool Connection::hold_body() {
  const std::size_t bytes = parser_.body_bytes();
  if (bytes == 0) return true;
  if (body_lease_.bytes() == 0) body_lease_ = ByteBound::Lease(owner_.bodies);
  return body_lease_.resize(bytes) || (owner_.free_body_bytes(this) && body_lease_.resize(bytes));
}

void Connection::dispatch() {
  timer_.cancel();
  ++timer_round_;
  is_in_request_ = is_in_body_ = false;
  HttpRequest request = parser_.take();
  request.body_lease = std::move(body_lease_);
  enter(State::kHandling);
  auto exchange =
      std::make_shared<Exchange>(owner_.io, owner_.answers, weak_from_this(), ++requests_);
  exchange_ = exchange;
  current_ = requests_;
  if (!has_peer_) exchange->disconnected();
  if (const int status = owner_.dispatch(std::move(request), std::move(exchange)); status != 0)
    return respond(
        current_,
        owner_.handler.refuse(
            status, status == 429 ? "[server] has too many requests at a time: try again later"
                                  : "[server] is stopping"),
        {});
  // A read tells from here on whether the client is still there.
  read();
}

void Connection::answer(const HttpResponse& response, ByteBound::Lease lease) {
  std::string text = head_text(response, /*is_stream=*/false);
  if (!is_head_) text += response.body;
  send(std::move(text), std::move(lease));
}

void Connection::refuse(int status, std::string_view reason) {
  timer_.cancel();
  ++timer_round_;
  keep_alive_ = is_head_ = false;
  was_refused_ = true;
  is_in_request_ = is_in_body_ = false;
  current_ = 0;
  tell_handler();
  body_lease_.release();
  const HttpResponse response = owner_.handler.refuse(status, reason);
  enter(State::kFlushing);
  answer(response);
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

void Connection::respond(std::uint64_t exchange, HttpResponse response, ByteBound::Lease lease) {
  if (!is_current(exchange) || is_streaming_) return;
  keep_alive_ = keep_alive_ && !is_last_;
  finish();
  answer(response, std::move(lease));
  read();
}

void Connection::begin_stream(std::uint64_t exchange, HttpResponse head,
                              std::shared_ptr<std::atomic<std::size_t>> unsent) {
  if (!is_current(exchange) || is_streaming_) return;
  is_streaming_ = true;
  unsent_ = std::move(unsent);
  out_pieces_ = sending_pieces_ = 0;
  is_chunked_ = version_ >= 11;
  keep_alive_ = keep_alive_ && is_chunked_ && !is_last_;
  send(head_text(head, /*is_stream=*/true));
  *unsent_ += head.body.size();
  write_piece(exchange, head.body, {});
}

void Connection::write_piece(std::uint64_t exchange, const std::string& piece,
                             ByteBound::Lease lease) {
  if (!is_current(exchange) || !is_streaming_ || piece.empty()) return;
  if (out_.size() > kMaxUnsent) return close();
  out_pieces_ += piece.size();
  send(is_chunked_ ? fmt::format("{:x}\r\n{}\r\n", piece.size(), piece) : piece, std::move(lease));
}

void Connection::end_stream(std::uint64_t exchange, const std::string& piece) {
  write_piece(exchange, piece, {});
  if (!is_current(exchange) || !is_streaming_) return;
  finish();
  send(is_chunked_ ? "0\r\n\r\n" : "");
}

bool Connection::is_abandoned() {
  const std::uint64_t dropped = state_ == State::kHandling && exchange_.expired() ? current_ : 0;
  return std::exchange(dropped_, dropped) == dropped && dropped != 0;
}

// The handler dropped the request: nothing sensible can follow on this connection.
void Connection::abandon(std::uint64_t exchange) {
  if (is_current(exchange)) close();
}

// The answer is complete, as soon as it is sent.
void Connection::finish() {
  enter(State::kFlushing);
  is_streaming_ = false;
  current_ = 0;
  exchange_.reset();
}

void Connection::send(std::string bytes, ByteBound::Lease lease) {
  if (state_ == State::kClosed) return;
  if (out_.empty())
    out_ = std::move(bytes);
  else
    out_ += bytes;
  out_lease_.absorb(std::move(lease));
  if (sending_.empty()) return flush();
  // The answer waits behind a "100 Continue" that the client does not read, which has no timer of
  // its own.
  if (state_ == State::kFlushing) arm_timer(owner_.options.write_timeout, [this] { close(); });
}

void Connection::flush() {
  if (out_.empty()) return on_flushed();
  sending_ = std::exchange(out_, {});
  sending_lease_ = std::exchange(out_lease_, {});
  sending_pieces_ = std::exchange(out_pieces_, std::size_t{0});
  sending_since_ = std::chrono::steady_clock::now();
  if (state_ != State::kReading) arm_timer(owner_.options.write_timeout, [this] { close(); });
  asio::async_write(socket_, asio::buffer(sending_),
                    [self = shared_from_this()](const AsioError& error, std::size_t /*bytes*/) {
                      self->guarded([&] { self->on_sent(error); });
                    });
}

void Connection::on_sent(const AsioError& error) {
  sending_ = {};  // and its memory
  sending_lease_.release();
  if (unsent_ != nullptr) *unsent_ -= std::exchange(sending_pieces_, std::size_t{0});
  if (state_ == State::kClosed) return;
  if (error) return close();
  flush();
}

void Connection::on_flushed() {
  if (state_ == State::kReading) return;  // that was "100 Continue"
  timer_.cancel();
  ++timer_round_;
  if (state_ != State::kFlushing) return;
  if (is_last_ && !was_refused_) return close();  // the server waits for it
  if (!keep_alive_ || is_last_) return linger();
  enter(State::kReading);
  parse();
}

void Connection::linger() {
  if (!has_peer_) return close();
  enter(State::kLingering);
  AsioError ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  arm_timer(kLingerTime, [this] { close(); });
  read();
}

}  // namespace anemone::serve
