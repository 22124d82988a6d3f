// SPDX-License-Identifier: Apache-2.0
// The half of a connection that reads, and its states; connection_answers.cc has the half that
// sends.
#include "serve/http/connection.h"

#include <utility>

namespace anemone::serve {
namespace {

// Most bytes that a client may send ahead while an answer is under way. Nothing beyond them is
// read, and until the answer is done it does not show whether the client is still there.
constexpr std::size_t kMaxAhead = 64 * 1024;
// Most bytes of a refused request that are read and thrown away, so that the answer is not lost in
// a reset.
constexpr std::size_t kMaxDrained = 4 << 20;
constexpr const char* kTooManyBodies =
    "[server] holds too many bytes of request bodies at a time: try again later";

}  // namespace

Connection::Connection(std::shared_ptr<Transport> transport, const Peer& peer, const Owner& owner)
    : transport_(std::move(transport)),
      owner_(owner),
      registration_(peer),
      timer_(owner.io),
      parser_(owner.options.limits) {}

void Connection::start() {
  if (transport_->needs_handshake()) {
    enter(State::kHandshaking);
    arm_timer(owner_.options.handshake_timeout, [this] { close(); });
    return transport_->handshake(shared_from_this());
  }
  enter(State::kReading);
  parse();
}

void Connection::handshake_done(const AsioError& error) noexcept {
  guarded([&] {
    if (state_ == State::kClosed) return;
    if (error) return close();
    enter(State::kReading);
    parse();
  });
}

void Connection::enter(State state) {
  state_ = state;
  since_ = std::chrono::steady_clock::now();
  switch (state) {
    case State::kHandshaking:
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
  if (state_ == State::kHandshaking) return close();
  if (state_ != State::kReading) return;
  if (is_in_request_)
    refuse(503, "[server] is stopping");
  else
    close_in_order();
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
    transport_->write_at_once(head_text(response, /*is_stream=*/false) + response.body);
  }
  close();
}

// So that the client sees an end and no cut.
void Connection::close_in_order() {
  if (sending_.empty()) transport_->end_sending();
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
  transport_->close();
  has_peer_ = false;
  current_ = 0;
  body_lease_.release();
  parser_.head().admission.reset();
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
  transport_->read_some(chunk_, shared_from_this());
}

void Connection::read_done(const AsioError& error, std::size_t bytes) noexcept {
  guarded([&] { on_read(error, bytes); });
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
    if (is_last_) return close_in_order();
    arm_timer(owner_.options.idle_timeout, [this] { close_in_order(); });
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
  HttpRequest& head = parser_.head();
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
    // The connection cannot be reused: the next request begins after a body that is not read.
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

void Connection::refuse(int status, std::string_view reason) {
  timer_.cancel();
  ++timer_round_;
  keep_alive_ = is_head_ = false;
  was_refused_ = true;
  is_in_request_ = is_in_body_ = false;
  current_ = 0;
  tell_handler();
  body_lease_.release();
  parser_.head().admission.reset();
  const HttpResponse response = owner_.handler.refuse(status, reason);
  enter(State::kFlushing);
  answer(response);
  read();
}

}  // namespace anemone::serve
