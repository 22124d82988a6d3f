// SPDX-License-Identifier: Apache-2.0
#include "serve/http/server.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <condition_variable>
#include <fmt/format.h>
#include <mutex>
#include <new>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "serve/http/connection.h"

namespace anemone::serve {
namespace {

// After an accept that failed, as when the process has no file descriptor left.
constexpr std::chrono::milliseconds kAcceptPause{100};

Result<tcp::endpoint> resolve_endpoint(asio::io_context& io, const HttpOptions& options) {
  AsioError error;
  const auto address = asio::ip::make_address(options.host, error);
  if (!error) return tcp::endpoint(address, options.port);
  tcp::resolver resolver(io);
  const auto found = resolver.resolve(options.host, std::to_string(options.port), error);
  if (error || found.begin() == found.end())
    return invalid_argument("[--host] expected an address of this machine, got \"{}\" ({})",
                            options.host, error.message());
  return found.begin()->endpoint();
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(const HttpOptions& options, HttpHandler& handler)
      : options_(options),
        handler_(handler),
        acceptor_(io_),
        retry_(io_),
        work_(asio::make_work_guard(io_)),
        handlers_(static_cast<std::size_t>(options.handler_threads)) {}

  ~Impl() {
    asio::post(io_, [this] {
      close_acceptor();
      close_all();
    });
    handlers_.join();
    asio::post(io_, [this] {
      close_all();
      io_.stop();
    });
    if (thread_.joinable()) thread_.join();
  }

  Status listen() {
    ANEMONE_ASSIGN_OR_RETURN(const tcp::endpoint endpoint, resolve_endpoint(io_, options_));
    AsioError error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error) local_ = acceptor_.local_endpoint(error);
    if (error)
      return io_error("[{}:{}] cannot listen: {}", options_.host, options_.port, error.message());
    accept();
    thread_ = std::thread([this] { io_.run(); });
    return {};
  }

  std::uint16_t port() const { return local_.port(); }

  std::string url() const {
    const std::string address = local_.address().to_string();
    return local_.address().is_v6() ? fmt::format("http://[{}]:{}", address, port())
                                    : fmt::format("http://{}:{}", address, port());
  }

  std::size_t connections() const {
    const std::lock_guard lock(mutex_);
    return open_;
  }

  void stop_accepting() {
    asio::post(io_, [this] {
      close_acceptor();
      // A copy: closing takes connections out of the table.
      for (const auto& [key, connection] : std::unordered_map(connections_))
        connection->finish_soon();
    });
  }

  bool wait_until_idle(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return idle_.wait_for(lock, time, [&] { return open_ == 0; });
  }

 private:
  void close_acceptor() {
    AsioError ignored;
    acceptor_.close(ignored);
  }
  void close_all() {
    for (const auto& [key, connection] : std::unordered_map(connections_)) connection->close();
  }

  void accept() {
    acceptor_.async_accept([this](const AsioError& error, tcp::socket socket) {
      if (!acceptor_.is_open()) return;
      if (error) {
        retry_.expires_after(kAcceptPause);
        retry_.async_wait([this](const AsioError& stopped) {
          if (!stopped && acceptor_.is_open()) accept();
        });
        return;
      }
      welcome(std::move(socket));
      accept();
    });
  }

  void welcome(tcp::socket socket) {
    // Each one too many is told so; beyond twice the limit there is not even time for that.
    if (connections_.size() >= 2 * options_.max_connections) return;
    const bool is_too_many = connections_.size() >= options_.max_connections;
    const auto connection = std::make_shared<Connection>(std::move(socket), owner());
    connections_.emplace(connection.get(), connection);
    count();
    if (is_too_many)
      connection->turn_away();
    else
      connection->start();
  }

  Connection::Owner owner() {
    return {io_, options_, handler_,
            [this](HttpRequest request, std::shared_ptr<Responder> responder) {
              asio::post(handlers_, [this, request = std::move(request),
                                     responder = std::move(responder)]() mutable {
                handle(std::move(request), std::move(responder));
              });
            },
            [this](Connection* connection) {
              connections_.erase(connection);
              count();
            }};
  }

  void handle(HttpRequest request, std::shared_ptr<Responder> responder) {
    // The one place where a request that asks for too much memory ends.
    try {
      handler_.handle(std::move(request), responder);
    } catch (const std::bad_alloc&) {
      responder->respond(handler_.refuse(503, "[request] expected to need less memory"));
    }
  }

  void count() {
    const std::lock_guard lock(mutex_);
    open_ = connections_.size();
    if (open_ == 0) idle_.notify_all();
  }

  const HttpOptions options_;
  HttpHandler& handler_;
  asio::io_context io_;
  tcp::acceptor acceptor_;
  asio::steady_timer retry_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  asio::thread_pool handlers_;
  std::thread thread_;
  tcp::endpoint local_;
  // Used by the io thread only.
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections_;

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
