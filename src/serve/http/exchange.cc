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
  // Less than was held while it was made, but for errors and the like, which are short.
  lease_.resize(response.body.size());
  post([number = number_, response = std::move(response),
        lease = std::move(lease_)](Connection& connection) mutable {
    connection.respond(number, std::move(response), std::move(lease));
  });
}
void Exchange::begin_stream(HttpResponse head) {
  post(
      [number = number_, unsent = unsent_, head = std::move(head)](Connection& connection) mutable {
        connection.begin_stream(number, std::move(head), std::move(unsent));
      });
}
bool Exchange::write(std::string piece) {
  ByteBound::Lease lease(answers_);
  if (!lease.resize(piece.size())) return false;
  *unsent_ += piece.size();
  post([number = number_, piece = std::move(piece),
        lease = std::move(lease)](Connection& connection) mutable {
    connection.write_piece(number, piece, std::move(lease));
  });
  return true;
}
void Exchange::end(std::string last_piece) {
  lease_.release();
  *unsent_ += last_piece.size();
  post([number = number_, piece = std::move(last_piece)](Connection& connection) {
    connection.end_stream(number, piece);
  });
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
