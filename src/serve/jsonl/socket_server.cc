// SPDX-License-Identifier: Apache-2.0
#include "serve/jsonl/socket_server.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <list>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/error.h"
#include "serve/jsonl/dialog.h"

namespace anemone::serve::jsonl {
namespace {

constexpr int kBacklog = 16;
// After an accept that failed, as when the process has no descriptor left.
constexpr int kAcceptPauseMs = 100;

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path))
    return invalid_argument("[{}] expected a path of 1 to {} bytes for a socket, got {}", path,
                            sizeof(address.sun_path) - 1, path.size());
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// Makes room for a new socket file: removes one that nobody answers on.
Status remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode))
    return io_error("[{}] expected no file or an unused socket, got something else", path);
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM, 0));
  if (!probe.is_open()) return errno_error(path, "make a socket");
  if (::connect(probe.get(), generic(address), sizeof(address)) == 0)
    return io_error("[{}] expected an unused socket, got one that a server answers on", path);
  if (errno != ECONNREFUSED) return errno_error(path, "look at the socket");
  if (::unlink(path.c_str()) != 0) return errno_error(path, "remove the unused socket");
  return {};
}

// One client and the thread that serves it.
struct Client {
  std::thread thread;
  std::atomic<bool> is_done = false;
};

}  // namespace

Result<std::unique_ptr<SocketServer>> SocketServer::listen(const ModelSet& models,
                                                           const SocketOptions& options) {
  ANEMONE_ASSIGN_OR_RETURN(const sockaddr_un address, address_of(options.path));
  ANEMONE_RETURN_IF_ERROR(remove_stale(options.path, address));
  Descriptor listener(::socket(AF_UNIX, SOCK_STREAM, 0));
  if (!listener.is_open()) return errno_error(options.path, "make a socket");
  ::fcntl(listener.get(), F_SETFD, FD_CLOEXEC);
  // From the start: between bind and chmod others could connect.
  const mode_t mask = ::umask(0177);
  const int bound = ::bind(listener.get(), generic(address), sizeof(address));
  const int error = errno;
  ::umask(mask);
  errno = error;
  if (bound != 0) return errno_error(options.path, "make the socket");
  std::unique_ptr<SocketServer> server(new SocketServer(models, options, std::move(listener)));
  if (::listen(server->listener_.get(), kBacklog) != 0)
    return errno_error(options.path, "listen on the socket");
  return server;
}

SocketServer::~SocketServer() {
  ::unlink(options_.path.c_str());
}

Status SocketServer::run(int stop) {
  Gate gate(options_.parallel);
  std::list<Client> clients;
  const auto remove_done = [&] {
    clients.remove_if([](Client& client) {
      if (!client.is_done) return false;
      client.thread.join();
      return true;
    });
  };
  while (true) {
    std::array<pollfd, 2> waits = {pollfd{listener_.get(), POLLIN, 0}, pollfd{stop, POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) break;
    if (waits[1].revents != 0) break;
    if (waits[0].revents == 0) continue;
    Descriptor peer(::accept(listener_.get(), nullptr, nullptr));
    if (!peer.is_open()) {
      ::poll(&waits[1], 1, kAcceptPauseMs);
      continue;
    }
    ::fcntl(peer.get(), F_SETFD, FD_CLOEXEC);
    ::fcntl(peer.get(), F_SETFL, O_NONBLOCK);
    remove_done();
    if (clients.size() >= static_cast<std::size_t>(options_.max_connections)) {
      LineChannel channel(peer.get(), peer.get(), stop, 0);
      const Status ignored = channel.write_line(dump_json(error_answer(
          busy("[server] expected at most {} connections", options_.max_connections))));
      continue;
    }
    Client& client = clients.emplace_back();
    client.thread = std::thread([this, peer = std::move(peer), stop, &gate, &client] {
      LineChannel channel(peer.get(), peer.get(), stop, options_.lines.max_line_bytes);
      // A connection that breaks ends alone.
      const Status ignored = answer_channel(channel, models_, options_.lines, gate);
      client.is_done = true;
    });
  }
  for (Client& client : clients) client.thread.join();
  return {};
}

}  // namespace anemone::serve::jsonl
