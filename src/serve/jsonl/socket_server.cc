// SPDX-License-Identifier: Apache-2.0
#include "serve/jsonl/socket_server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <fcntl.h>
#include <iterator>
#include <list>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/log.h"
#include "serve/jsonl/connection.h"

namespace anemone::serve::jsonl {
namespace {

// Pause after an accept that failed, for example because the process has no descriptor left.
constexpr int kAcceptPauseMs = 100;

// One client and the thread that serves it.
class Client {
 public:
  Client(Descriptor peer, int stop, const SocketOptions& options)
      : peer_(std::move(peer)),
        channel_(peer_.get(), peer_.get(), stop, options.lines.max_line_bytes, options.timeouts) {}
  ~Client() {
    if (thread_.joinable()) thread_.join();
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void start(ModelPool& models, engine::Engine& engine, const LineOptions& options) {
    thread_ = std::thread([this, &models, &engine, &options] {
      // A connection that breaks ends alone, whatever it is.
      try {
        const Status ignored = answer_channel(channel_, models, engine, options, cancel_);
      } catch (const std::exception&) {
        // Memory may have run out, for example.
      }
      // The client learns it now; the descriptor is closed when the next one comes.
      ::shutdown(peer_.get(), SHUT_RDWR);
      is_done_ = true;
    });
  }
  // Has the thread come to its end soon.
  void end() {
    is_ending_ = cancel_ = true;
    ::shutdown(peer_.get(), SHUT_RDWR);
  }
  void cancel() { cancel_ = true; }

  LineChannel& channel() { return channel_; }
  bool is_done() const { return is_done_; }
  bool is_ending() const { return is_ending_; }

 private:
  const Descriptor peer_;
  LineChannel channel_;
  std::atomic<bool> cancel_ = false;
  std::atomic<bool> is_ending_ = false;
  std::atomic<bool> is_done_ = false;
  std::thread thread_;
};

// The clients of a server. Single-thread.
class Clients {
 public:
  Clients(ModelPool& models, engine::Engine& engine, const SocketOptions& options, int stop)
      : models_(models), engine_(engine), options_(options), stop_(stop) {}
  ~Clients() {
    for (Client& client : clients_) client.cancel();
  }
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  void welcome(Descriptor peer) {
    clients_.remove_if([](const Client& client) { return client.is_done(); });
    Client& client = clients_.emplace_back(std::move(peer), stop_, options_);
    // Those that end still have a thread, for a moment.
    const bool has_threads = std::ssize(clients_) <= 4 * options_.max_connections;
    if (count() <= options_.max_connections || (has_threads && evict(client))) {
      try {
        return client.start(models_, engine_, options_.lines);
      } catch (...) {
        clients_.pop_back();
        throw;
      }
    }
    // There is room for this line, or nobody reads it.
    const Status ignored = client.channel().write_line(dump_json(
        error_answer(busy("[server] expected at most {} connections", options_.max_connections))));
    clients_.pop_back();
  }

 private:
  // Those that will not go by themselves.
  int count() const {
    return static_cast<int>(std::ranges::count_if(
        clients_, [](const Client& client) { return !client.is_done() && !client.is_ending(); }));
  }
  // Ends the one that has been without a line for longest, in favour of another. Whether there was
  // one.
  bool evict(const Client& newest) {
    Client* oldest = nullptr;
    auto since = LineChannel::Clock::now();
    for (Client& client : clients_) {
      const auto waiting = client.channel().waiting_since();
      if (&client == &newest || client.is_ending() || !waiting || *waiting > since) continue;
      since = *waiting;
      oldest = &client;
    }
    if (oldest != nullptr) oldest->end();
    return oldest != nullptr;
  }

  ModelPool& models_;
  engine::Engine& engine_;
  const SocketOptions& options_;
  const int stop_;
  std::list<Client> clients_;
};

}  // namespace

Result<std::unique_ptr<SocketServer>> SocketServer::listen(ModelPool& models,
                                                           engine::Engine& engine,
                                                           const SocketOptions& options) {
  ANEMONE_ASSIGN_OR_RETURN(SocketFile file, SocketFile::listen(options.path));
  return std::unique_ptr<SocketServer>(new SocketServer(models, engine, options, std::move(file)));
}

Status SocketServer::run(int stop) {
  Clients clients(models_, engine_, options_, stop);
  while (true) {
    std::array<pollfd, 2> waits = {pollfd{file_.get(), POLLIN, 0}, pollfd{stop, POLLIN, 0}};
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;
    if (waits[1].revents != 0) return {};
    if (waits[0].revents == 0) continue;
    Descriptor peer(::accept(file_.get(), nullptr, nullptr));
    if (!peer.is_open()) {
      ::poll(&waits[1], 1, kAcceptPauseMs);
      continue;
    }
    ::fcntl(peer.get(), F_SETFD, FD_CLOEXEC);
    ::fcntl(peer.get(), F_SETFL, O_NONBLOCK);
    // If memory or threads do not suffice for this client, the others go on.
    try {
      clients.welcome(std::move(peer));
    } catch (const std::exception& error) {
      ANEMONE_WARN("cannot serve a connection: {}", error.what());
    }
  }
}

}  // namespace anemone::serve::jsonl
