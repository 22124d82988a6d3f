// SPDX-License-Identifier: Apache-2.0
// The half of a connection that sends: whole answers, streams, and what follows when all is sent.
#include <fmt/format.h>
#include <utility>

#include "serve/http/connection.h"

namespace anemone::serve {
namespace {

constexpr std::chrono::milliseconds kLingerTime{2'000};
// Most bytes that may wait for a client that reads its stream too slowly.
constexpr std::size_t kMaxUnsent = 16 << 20;

}  // namespace

void Connection::answer(const HttpResponse& response, ByteBound::Lease lease) {
  std::string text = head_text(response, /*is_stream=*/false);
  if (!is_head_) text += response.body;
  send(std::move(text), std::move(lease));
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
  transport_->write(sending_, shared_from_this());
}

void Connection::write_done(const AsioError& error) noexcept {
  guarded([&] { on_sent(error); });
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
  if (is_last_ && !was_refused_) return close_in_order();  // the server waits for it
  if (!keep_alive_ || is_last_) return linger();
  enter(State::kReading);
  parse();
}

void Connection::linger() {
  if (!has_peer_) return close();
  enter(State::kLingering);
  transport_->end_sending();
  arm_timer(kLingerTime, [this] { close(); });
  read();
}

}  // namespace anemone::serve
