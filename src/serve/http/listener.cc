// SPDX-License-Identifier: Apache-2.0
#include "serve/http/listener.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <sys/socket.h>
#include <utility>

#include "base/error.h"

namespace anemone::serve {
namespace {

Result<tcp::endpoint> resolve_endpoint(asio::io_context& io, const HttpOptions& options) {
  if (options.host.empty()) return invalid_argument("[--host] expected an address, got none");
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

bool is_tcp(const StreamProtocol::endpoint& endpoint) {
  const int family = endpoint.protocol().family();
  return family == AF_INET || family == AF_INET6;
}

tcp::endpoint tcp_endpoint(const StreamProtocol::endpoint& endpoint) {
  tcp::endpoint out;
  std::memcpy(out.data(), endpoint.data(), std::min(endpoint.size(), out.capacity()));
  out.resize(std::min(endpoint.size(), out.capacity()));
  return out;
}

// All clients of a Unix socket are the user of this machine whose it is, and count as one.
Peer peer_of(const StreamProtocol::endpoint& client) {
  Peer peer = {};
  if (!is_tcp(client)) return peer;
  const asio::ip::address address = tcp_endpoint(client).address();
  const auto all = address.is_v6()
                       ? address.to_v6().to_bytes()
                       : asio::ip::make_address_v6(asio::ip::v4_mapped, address.to_v4()).to_bytes();
  // The first half of an address of IPv6 names the network, the second is free for its user.
  const bool is_whole = address.is_v4() || address.to_v6().is_v4_mapped();
  std::copy_n(all.begin(), is_whole ? all.size() : all.size() / 2, peer.begin());
  return peer;
}

}  // namespace

Status Listener::open(const HttpOptions& options) {
  return options.socket_path.empty() ? open_tcp(options) : open_unix(options.socket_path);
}

Status Listener::open_tcp(const HttpOptions& options) {
  ANEMONE_ASSIGN_OR_RETURN(const tcp::endpoint wanted, resolve_endpoint(io_, options));
  const StreamProtocol::endpoint endpoint(wanted);
  StreamProtocol::endpoint local;
  AsioError error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (!error) local = acceptor_.local_endpoint(error);
  if (error)
    return io_error("[{}:{}] cannot listen: {}", options.host, options.port, error.message());
  const tcp::endpoint own = tcp_endpoint(local);
  port_ = own.port();
  const std::string address = own.address().to_string();
  address_ = own.address().is_v6() ? fmt::format("[{}]:{}", address, port_)
                                   : fmt::format("{}:{}", address, port_);
  return {};
}

Status Listener::open_unix(const std::string& path) {
  ANEMONE_ASSIGN_OR_RETURN(SocketFile file, SocketFile::listen(path, SOMAXCONN));
  AsioError error;
  const int descriptor = file.take_listener().release();
  acceptor_.assign(StreamProtocol(AF_UNIX, 0), descriptor, error);
  if (error) return io_error("[{}] cannot listen: {}", path, error.message());
  file_.emplace(std::move(file));
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::absolute(path, ignored);
  address_ = whole.empty() ? path : whole.string();
  return {};
}

void Listener::close() noexcept {
  if (file_) file_->remove();
  AsioError ignored;
  acceptor_.close(ignored);
}

void Listener::accept(Done done) {
  acceptor_.async_accept(
      client_, [this, done = std::move(done)](const AsioError& error, StreamSocket socket) {
        // A token must not wait for the next one.
        AsioError ignored;
        if (!error && is_tcp(client_)) socket.set_option(tcp::no_delay(true), ignored);
        done(error, std::move(socket), error ? Peer() : peer_of(client_));
      });
}

}  // namespace anemone::serve
