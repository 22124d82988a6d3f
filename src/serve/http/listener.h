// SPDX-License-Identifier: Apache-2.0
// Internal to serve/http: the socket that clients connect to.
#pragma once

#include <anemone/status.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <optional>
#include <string>

#include "serve/http/asio_types.h"
#include "serve/http/connection_limits.h"
#include "serve/http/server.h"
#include "serve/socket_file.h"

namespace anemone::serve {

// Listens on an address of TCP or on a Unix socket. Single-thread.
class Listener {
 public:
  explicit Listener(asio::io_context& io) : io_(io), acceptor_(io) {}

  // kInvalidArgument for a host that is no address of this machine, kIo when the address cannot be
  // had, and the errors of SocketFile::listen().
  Status open(const HttpOptions& options);
  bool is_open() const { return acceptor_.is_open(); }
  // The file of a Unix socket goes with it.
  void close() noexcept;

  // Calls `done` with the next connection, once, and not after close() but for the error.
  using Done = std::function<void(const AsioError& error, StreamSocket socket, const Peer& peer)>;
  void accept(Done done);

  std::uint16_t port() const { return port_; }  // 0 on a Unix socket
  // "127.0.0.1:8080", "[::1]:8080"; of a Unix socket its whole path.
  const std::string& address() const { return address_; }

 private:
  Status open_tcp(const HttpOptions& options);
  Status open_unix(const std::string& path);

  asio::io_context& io_;
  asio::basic_socket_acceptor<StreamProtocol> acceptor_;
  std::optional<SocketFile> file_;
  std::uint16_t port_ = 0;
  std::string address_;
  StreamProtocol::endpoint client_;  // of the connection that is being accepted
};

}  // namespace anemone::serve
