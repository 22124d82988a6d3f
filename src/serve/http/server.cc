// SPDX-License-Identifier: Apache-2.0
#include "serve/http/server.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "serve/http/byte_bound.h"
#include "serve/http/connection.h"
#include "serve/http/connection_limits.h"
#include "serve/http/handler_pool.h"
#include "serve/http/listener.h"
#include "serve/http/tls_transport.h"
#include "serve/http/transport.h"

namespace anemone::serve {
namespace {

// Pause after an accept that failed, for example because the process has no file descriptor left.
constexpr std::chrono::milliseconds kAcceptPause{100};
// How often connections are looked through for those whose request was dropped.
// A body that takes longer may be dropped when the bodies of others find no room.
constexpr std::chrono::milliseconds kSlowBody{2'000};

}  // namespace

class HttpServer::Impl {
 public:
  Impl(const HttpOptions& options, HttpHandler& handler)
      : options_(options),
        handler_(handler),
        bodies_(options.bodies_bytes),
        answers_(options.answers_bytes),
        limits_(std::max<std::size_t>(1, options.max_connections)),
        owner_{io_,
               options_,
               handler_,
               bodies_,
               answers_,
               limits_,
               [this](HttpRequest&& request, std::shared_ptr<Exchange> exchange) {
                 return handlers_->post(std::move(request), std::move(exchange));
               },
               [this](Connection* asker) { return free_body_bytes(asker); },
               [this](Connection* connection) {
                 connections_.erase(connection);
                 count();
               }},
        listener_(io_),
        retry_(io_),
        sweep_(io_),
        work_(asio::make_work_guard(io_)),
        handlers_(std::in_place, handler, options.handler_threads, options.handler_queue) {}

  ~Impl() {
    asio::post(io_, [this] {
      listener_.close();
      close_all();
    });
    handlers_.reset();
    asio::post(io_, [this] {
      close_all();
      io_.stop();
    });
    if (thread_.joinable()) thread_.join();
  }

  Status listen() {
    ANEMONE_RETURN_IF_ERROR(listener_.open(options_));
    accept();
    sweep();
    thread_ = std::thread([this] { run(); });
    return {};
  }

  std::uint16_t port() const { return listener_.port(); }

  std::string url() const {
    if (!options_.socket_path.empty()) return "unix:" + listener_.address();
    return (options_.tls == nullptr ? "http://" : "https://") + listener_.address();
  }

  std::size_t connections() const {
    const std::lock_guard lock(mutex_);
    return open_;
  }

  void stop_accepting() {
    handlers_->stop();
    asio::post(io_, [this] {
      listener_.close();
      // A copy: closing takes connections out of the table.
      for (const auto& entry : std::unordered_map(connections_)) {
        Connection& connection = *entry.second;
        connection.guarded([&] { connection.finish_soon(); });
      }
    });
  }

  bool wait_until_idle(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return idle_.wait_for(lock, time, [&] { return open_ == 0; });
  }

 private:
  // Connections keep their own exceptions; what remains is memory that is missing for the acceptor
  // and the sweep. Both go on as soon as there is some.
  void run() noexcept {
    while (!io_.stopped()) {
      try {
        if (!is_accepting_ && listener_.is_open()) accept();
        if (!is_sweeping_) sweep();
        io_.run();
      } catch (...) {
        std::this_thread::sleep_for(kAcceptPause);
      }
    }
  }

  void close_all() {
    for (const auto& [key, connection] : std::unordered_map(connections_)) connection->close();
  }

  void accept() {
    listener_.accept([this](const AsioError& error, StreamSocket socket, const Peer& peer) {
      is_accepting_ = false;
      if (!listener_.is_open()) return;
      if (!error) {
        welcome(std::move(socket), peer);
        return accept();
      }
      // Accept fails, for example, when there is no descriptor left.
      if (Connection* const other = limits_.first_to_evict(Phase::kWaiting)) other->close();
      retry_.expires_after(kAcceptPause);
      retry_.async_wait([this](const AsioError& stopped) {
        is_accepting_ = false;
        if (!stopped && listener_.is_open()) accept();
      });
      is_accepting_ = true;
    });
    is_accepting_ = true;
  }

  // Closes connections whose handler dropped the request and had no memory to say so, and those
  // that keep answers for too long when these become many.
  void sweep() {
    sweep_.expires_after(options_.sweep_pause);
    sweep_.async_wait([this](const AsioError& stopped) {
      is_sweeping_ = false;
      if (stopped) return;
      for (const auto& [key, connection] : std::unordered_map(connections_))
        if (connection->is_abandoned() || is_too_slow(*connection)) connection->close();
      sweep();
    });
    is_sweeping_ = true;
  }

  void welcome(StreamSocket socket, const Peer& peer) {
    if (tls_ != nullptr && options_.reread_tls != nullptr)
      if (auto tls = options_.reread_tls()) tls_ = *std::move(tls);
    auto transport = tls_ == nullptr ? make_plain_transport(std::move(socket))
                                     : make_tls_transport(std::move(socket), *tls_);
    if (transport == nullptr) return;  // no memory
    const auto connection = std::make_shared<Connection>(std::move(transport), peer, owner_);
    connections_.emplace(connection.get(), connection);
    connection->guarded([&] { connection->start(); });
    count();
  }

  bool is_too_slow(const Connection& connection) const {
    return answers_.held() > answers_.max_bytes() / 2 &&
           connection.sending_age() > options_.slow_answer;
  }

  // Drops the body that has been read for longest, but not that of `asker`.
  bool free_body_bytes(Connection* asker) {
    std::shared_ptr<Connection> slowest;
    std::chrono::steady_clock::duration most = kSlowBody;
    for (const auto& [key, connection] : connections_) {
      const auto age = connection->body_age();
      if (key == asker || !age || *age < most) continue;
      most = *age;
      slowest = connection;
    }
    if (slowest == nullptr) return false;
    slowest->guarded([&] { slowest->evict(); });
    return true;
  }

  void count() {
    const std::lock_guard lock(mutex_);
    open_ = connections_.size();
    if (open_ == 0) idle_.notify_all();
  }

  const HttpOptions options_;
  HttpHandler& handler_;
  ByteBound bodies_;
  ByteBound answers_;
  ConnectionLimits<Connection> limits_;
  const Connection::Owner owner_;
  asio::io_context io_;
  Listener listener_;
  asio::steady_timer retry_;
  asio::steady_timer sweep_;
  bool is_accepting_ = false;
  bool is_sweeping_ = false;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::optional<HandlerPool> handlers_;
  std::thread thread_;
  // Used by the io thread only.
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections_;
  std::shared_ptr<const TlsContext> tls_ = options_.tls;  // of the next connection

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::size_t open_ = 0;  // connections_.size(), for other threads
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpOptions& options,
                                                      HttpHandler& handler) {
  auto impl = std::make_unique<Impl>(options, handler);
  ANEMONE_RETURN_IF_ERROR(impl->listen());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const {
  return impl_->port();
}
std::string HttpServer::url() const {
  return impl_->url();
}
std::size_t HttpServer::connections() const {
  return impl_->connections();
}
void HttpServer::stop_accepting() {
  impl_->stop_accepting();
}
bool HttpServer::wait_until_idle(std::chrono::milliseconds time) {
  return impl_->wait_until_idle(time);
}

}  // namespace anemone::serve
