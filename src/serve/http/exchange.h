// SPDX-License-Identifier: Apache-2.0
// Internal to serve/http: the Responder of one request, between the threads that answer it and the
// thread of its connection.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "serve/http/byte_bound.h"
#include "serve/http/message.h"

namespace anemone::serve {

class Connection;

// Hands everything to its connection's thread. May throw std::bad_alloc; when it is destroyed
// before the end, the connection is closed at once, or, where memory is missing even for that, as
// soon as the server looks through its connections.
class Exchange : public Responder {
 public:
  // `number` says which request of the connection it is: an address would come again. `answers`
  // bounds what all answers hold.
  Exchange(boost::asio::io_context& io, ByteBound& answers, std::weak_ptr<Connection> connection,
           std::uint64_t number)
      : io_(io),
        answers_(answers),
        connection_(std::move(connection)),
        number_(number),
        lease_(answers) {}
  ~Exchange() override;

  bool hold(std::size_t bytes) override { return lease_.resize(bytes); }
  void respond(HttpResponse response) override;
  void begin_stream(HttpResponse head) override;
  bool write(std::string piece) override;
  bool is_backed_up() const override { return *unsent_ > kBackedUpBytes; }
  void end(std::string last_piece) override;
  void on_disconnect(std::function<void()> callback) override;
  const std::atomic<bool>& is_cancelled() const override { return is_cancelled_; }

  // The answer is not wanted any more, as is_cancelled() says. The client still gets one.
  void cancel() { is_cancelled_ = true; }
  // The connection calls this when the client has gone.
  void disconnected();

 private:
  static constexpr std::size_t kBackedUpBytes = 256 << 10;

  template <typename Action>
  void post(Action action);

  boost::asio::io_context& io_;
  ByteBound& answers_;
  std::weak_ptr<Connection> connection_;
  const std::uint64_t number_;
  ByteBound::Lease lease_;  // of what is being made
  // Bytes of the pieces that the connection has not sent.
  const std::shared_ptr<std::atomic<std::size_t>> unsent_ =
      std::make_shared<std::atomic<std::size_t>>(0);
  std::atomic<bool> is_cancelled_ = false;
  std::mutex mutex_;
  std::function<void()> callback_;
  bool is_gone_ = false;
};

}  // namespace anemone::serve
