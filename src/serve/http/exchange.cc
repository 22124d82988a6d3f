// SPDX-License-Identifier: Apache-2.0
#include "serve/http/exchange.h"

#include <boost/asio/post.hpp>
#include <utility>

#include "serve/http/connection.h"

namespace anemone::serve {

template <typename Action>
void Exchange::post(Action action) {
  asio::post(io_, [connection = connection_, action = std::move(action)]() mutable {
    if (const auto alive = connection.lock()) alive->guarded([&] { action(*alive); });
  });
}

Exchange::~Exchange() {
  try {
    post([number = number_](Connection& connection) { connection.abandon(number); });
  } catch (const std::exception&) {
    // The server finds the connection by its exchange, which is no more.
  }
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
    is_cancelled_ = is_gone_ = true;
    callback = std::exchange(callback_, nullptr);
  }
  if (callback) callback();
}

}  // namespace anemone::serve
